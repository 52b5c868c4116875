"""Variants of a knowledge base: fewer species or encoders, other anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import VectorTable
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Queries


def with_species(knowledge: Knowledge, species: IntArray) -> Knowledge:
    """Return the knowledge of some species; positions of species do not change."""
    is_kept = np.zeros(knowledge.n_species, dtype=np.bool_)
    is_kept[species] = True

    def narrow(table: VectorTable) -> VectorTable:
        return _taken(table, np.flatnonzero(is_kept[table.owners]))

    rows = np.flatnonzero(is_kept[knowledge.trained])
    return replace(
        knowledge,
        chunks=tuple(map(narrow, knowledge.chunks)),
        anchors=narrow(knowledge.anchors),
        images=tuple(map(narrow, knowledge.images)),
        trained=knowledge.trained[rows],
        prototypes=knowledge.prototypes[rows],
    )


def without_species(knowledge: Knowledge, species: IntArray, names: Sequence[str]) -> Knowledge:
    """Return the knowledge without some species, whose prototypes move to the background."""
    moved = np.flatnonzero(np.isin(knowledge.trained, species))
    kept = with_species(knowledge, np.setdiff1d(np.arange(knowledge.n_species), species))
    if not len(moved):
        return kept
    return replace(
        kept,
        background=np.concatenate(
            [kept.background.reshape(-1, knowledge.prototypes.shape[1]), knowledge.prototypes[moved]]
        ),
        background_names=(*kept.background_names, *(names[i] for i in knowledge.trained[moved])),
    )


def without_anchors(knowledge: Knowledge, rows: IntArray) -> Knowledge:
    """Return the knowledge without some of the anchors."""
    kept = np.setdiff1d(np.arange(len(knowledge.anchors.owners)), rows)
    images = tuple(_taken(table, kept) for table in knowledge.images)
    return replace(knowledge, anchors=_taken(knowledge.anchors, kept), images=images)


def _taken(table: VectorTable, rows: IntArray) -> VectorTable:
    ids = tuple(table.ids[row] for row in rows)
    return VectorTable(ids=ids, owners=table.owners[rows], vectors=table.vectors[rows])


def with_encoders(knowledge: Knowledge, kept: Sequence[int]) -> Knowledge:
    """Return the knowledge in the spaces of some of the text-image encoders."""
    return replace(
        knowledge,
        names=tuple(knowledge.names[i] for i in kept),
        chunks=tuple(knowledge.chunks[i] for i in kept),
        images=tuple(knowledge.images[i] for i in kept),
    )


def queries_of_encoders(queries: Queries, kept: Sequence[int]) -> Queries:
    """Return the vectors of photos in the spaces of some of the text-image encoders."""
    return Queries(text_image=tuple(queries.text_image[i] for i in kept), visual=queries.visual)


def with_anchors(knowledge: Knowledge, replaced: IntArray, owners: IntArray, photos: Queries) -> Knowledge:
    """Return the knowledge with photos as the anchors of some species.

    The `replaced` species lose their anchors, with or without a photo in their place; `owners` are the species of the
    photos, in any order.
    """
    is_replaced = np.zeros(knowledge.n_species, dtype=np.bool_)
    is_replaced[replaced] = True
    new_ids = tuple(f"photo {number}" for number in range(len(owners)))

    def merged(table: VectorTable, vectors: FloatArray) -> VectorTable:
        kept = _taken(table, np.flatnonzero(~is_replaced[table.owners]))
        joined = VectorTable(
            ids=(*kept.ids, *new_ids),
            owners=np.concatenate([kept.owners, owners]),
            vectors=np.concatenate([kept.vectors, vectors]),
        )
        return _taken(joined, np.argsort(joined.owners, kind="stable"))

    return replace(
        knowledge,
        anchors=merged(knowledge.anchors, photos.visual),
        images=tuple(
            merged(table, vectors) for table, vectors in zip(knowledge.images, photos.text_image, strict=True)
        ),
    )
