"""The order of a tree of taxa in which all taxa below a taxon are neighbours."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """Position of each node in the tree, depth first; 4 bytes a node and field. Node 0 stands above the roots."""

    parent: array[int]
    position: array[int]
    """Node -> its position from 1; 0 for a node that is not in the tree."""
    last: array[int]
    """Node -> the last position below it."""

    def nodes(self) -> Iterator[int]:
        """Yield the nodes by position."""
        by_position = array("i", bytes(4 * (len(self.position) + 1)))
        for node, position in enumerate(self.position):
            by_position[position] = node
        yield from (node for node in by_position[1:] if node)


def in_order(parent: array[int], is_taxon: bytearray, cut: Callable[[int], None]) -> Order:
    """Return the order of the nodes; children follow their parent in the order of their numbers.

    Args:
        parent: node -> node above, 0 for a root. Changed where a circle is cut.
        is_taxon: node -> 1 if it is in the tree.
        cut: called with each node at which a circle of parents was cut; it becomes a root.
    """
    n = len(parent)
    first, sibling, position, last = (array("i", bytes(4 * n)) for _ in range(4))
    for node in range(n - 1, 0, -1):
        if is_taxon[node]:
            above = parent[node] if is_taxon[parent[node]] else 0
            parent[node] = above
            sibling[node], first[above] = first[above], node
    count = 0

    def visit(root: int) -> None:
        nonlocal count
        node = root
        while True:
            count += 1
            position[node] = last[node] = count
            if first[node]:
                node = first[node]
                continue
            while node != root and not sibling[node]:
                node = parent[node]
                last[node] = count
            if node == root:
                return
            node = sibling[node]

    root = first[0]
    while root:
        visit(root)
        root = sibling[root]
    for start in range(1, n):
        if is_taxon[start] and not position[start]:
            node, seen = start, set()
            while node not in seen:
                seen.add(node)
                node = parent[node]
            above = parent[node]
            _unlink(first, sibling, above, node)
            parent[node] = 0
            cut(node)
            visit(node)
    return Order(parent, position, last)


def _unlink(first: array[int], sibling: array[int], above: int, node: int) -> None:
    if first[above] == node:
        first[above] = sibling[node]
        return
    child = first[above]
    while sibling[child] != node:
        child = sibling[child]
    sibling[child] = sibling[node]
