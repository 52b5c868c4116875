"""Costs in US dollars, some of which may not be known."""

from __future__ import annotations

from collections.abc import Iterable


def total(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None where one of them is not known, since any number would then be too small.

    Example:
        >>> total([0.25, 0.5]), total([0.25, None]), total([])
        (0.75, None, 0)
    """
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
