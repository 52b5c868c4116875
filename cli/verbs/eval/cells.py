"""Cells of tables of evaluations: figures in percent, p-values."""

from __future__ import annotations


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
