"""Cells of the tables of `kb eval`: figures in percent, p-values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.metrics.ranked import Measured


def figure_cell(measures: Iterable[Measured], name: str, mean: str, *, wide: bool, sign: str = "") -> str:
    """Return a figure in percent, `wide` with its 95 % interval; empty where there is no such measure.

    `mean` is `micro` or `macro`.
    """
    found = next((measured for measured in measures if measured.name == name), None)
    if found is None:
        return ""
    value, (low, high) = getattr(found, mean), getattr(found, f"{mean}_interval")
    return number(value, sign=sign) + (f" ({number(low, sign=sign)} to {number(high, sign=sign)})" if wide else "")


def difference_cells(
    difference: float, interval: tuple[float, float], n_better: int, n_worse: int, *, scale: float = 100.0
) -> list[str]:
    """Return a paired difference, its 95 % interval, and how many groups are better and worse."""
    low, high = (number(bound, scale, sign="+") for bound in interval)
    return [number(difference, scale, sign="+"), f"{low} to {high}", f"{n_better}/{n_worse}"]


def number(value: float, scale: float = 100.0, *, sign: str = "") -> str:
    """Return a figure in percent, or with a scale of 1 unchanged."""
    return f"{value * scale:{sign}.{1 if scale == 100 else 3}f}"


def p_text(value: float) -> str:
    """Return a p-value."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
