"""Overlapping windows over lists that are too long for one ranking, from the end of the list to its front."""

from __future__ import annotations


def windows(n: int, size: int, step: int) -> list[tuple[int, int]]:
    """Return the half-open ranges to rank in turn, last range first, so that good items move to the front.

    Neighbouring ranges overlap by `size - step`: so many items can move from one to the other. The first `size - step`
    places of the result are right if the items that belong there win each of their rankings.

    Source:
        Sun et al., EMNLP 2023, section 3.2 (sliding windows).

    Raises:
        ValueError: if not 1 <= step < size; a step equal to the size would let nothing move up.

    Example:
        >>> windows(10, 4, 2)
        [(6, 10), (4, 8), (2, 6), (0, 4)]
        >>> windows(3, 4, 2), windows(7, 4, 2)
        ([(0, 3)], [(3, 7), (1, 5), (0, 4)])
    """
    if not 1 <= step < size:
        raise ValueError(f"expected 1 <= step < size, got a step of {step} and a size of {size}")
    ranges = []
    end = n
    while end > size:
        ranges.append((end - size, end))
        end -= step
    if n:
        ranges.append((0, min(n, size)))
    return ranges
