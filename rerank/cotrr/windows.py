"""Lists that are longer than a model can rank at once: overlapping windows, from the end of the list to its front."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence


def windows(n: int, size: int, step: int) -> list[tuple[int, int]]:
    """Return the half-open ranges to rank in turn, the last of the list first, so that good items move to the front.

    Each range overlaps the next by `size - step`: that many items can move from one into the other. The first
    `size - step` places of the result are right if all items that belong there win each of their rankings.

    Source:
        Sun et al., EMNLP 2023, section 3.2 (sliding windows).

    Raises:
        ValueError: if not 1 <= step < size; a step of the whole size would let nothing pass.

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


async def rank_in_windows(
    items: Sequence[int], *, size: int, step: int, rank: Callable[[Sequence[int]], Awaitable[Sequence[int]]]
) -> list[int]:
    """Return the items ranked by `rank` in overlapping windows.

    Args:
        items: in the order in which they are shown.
        size: how many items one ranking may see.
        step: how far the next window lies before the one before it.
        rank: returns items that it was given, best first; those that it leaves out keep their order behind them.
    """
    order = list(items)
    for start, end in windows(len(order), size, step):
        shown = order[start:end]
        ranked = list(await rank(shown))
        order[start:end] = [*ranked, *(item for item in shown if item not in set(ranked))]
    return order
