"""The order of a tree of taxa in which all taxa below a taxon are neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]


class Order(NamedTuple):
    """Place of each node in the tree, depth first. Node 0 stands above the roots."""

    parent: Numbers
    position: Numbers
    """Node -> its position from 1; 0 for a node that is not in the tree."""
    last: Numbers
    """Node -> the last position below it."""
    nodes: Numbers
    """The nodes by position."""


def in_order(parent: Numbers, is_taxon: NDArray[np.bool_], cut: Callable[[int], None]) -> Order:
    """Return the order of the nodes; children follow their parent in the order of their numbers.

    Args:
        parent: node -> node above, 0 for a root; one that is in no tree counts as none.
        is_taxon: node -> whether it is in the tree.
        cut: called with each node at which a circle of parents was cut; it becomes a root.
    """
    parent = np.where(is_taxon & is_taxon[parent], parent, 0).astype(np.int32)
    taxa = np.flatnonzero(is_taxon).astype(np.int32)
    levels = _levels(parent, taxa)
    for start in np.setdiff1d(taxa, np.concatenate([*levels, taxa[:0]])):
        node, seen = int(start), set[int]()
        while node and node not in seen:
            seen.add(node)
            node = int(parent[node])
        if node:
            parent[node] = 0
            cut(node)
    levels = _levels(parent, taxa)
    size = is_taxon.astype(np.int32)
    for level in levels[:0:-1]:
        np.add.at(size, parent[level], size[level])
    position, following = np.zeros_like(size), np.ones_like(size)  # of a node, and of its next child
    for level in levels:
        above = parent[level]
        before = np.cumsum(size[level]) - size[level]
        is_first = np.append(True, above[1:] != above[:-1])
        starts = before[is_first][np.cumsum(is_first) - 1]
        position[level] = following[above] + before - starts
        following[level] = position[level] + 1
    last = position + size - 1
    return Order(parent, position, last, taxa[np.argsort(position[taxa])])


def _levels(parent: Numbers, taxa: Numbers) -> list[Numbers]:
    """Return the roots, their children and so on, each level by parent and number."""
    by_parent = taxa[np.argsort(parent[taxa], kind="stable")]
    first = np.searchsorted(parent[by_parent], np.arange(len(parent) + 1))
    levels = [by_parent[: first[1]]]
    while len(level := levels[-1]):
        counts = first[level + 1] - first[level]
        at = np.repeat(first[level] - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
        levels.append(by_parent[at])
    return levels[:-1]
