"""Arrays of a knowledge base for scoring, checked once, and its variants: fewer species or encoders, other anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.contracts import Encoder, Encoders, KnowledgeStore, TrainedOnSpecies, VectorTable
from data.errors import StoreError
from data.records import taxon_id

_SHORTEST: Final = 1e-9  # length of a mean anchor that is zero but for rounding: opposite anchors
_SAMPLE: Final = 256  # rows; the standard deviation is accurate to 5 %
_FEW: Final = 8  # rows; the deviation of fewer says little


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """Vectors of n photos: `(n, dim)` for each text-image encoder and for the visual encoder."""

    text_image: tuple[FloatArray, ...]
    visual: FloatArray

    def __len__(self) -> int:
        return len(self.visual)

    def __getitem__(self, photos: slice | IntArray) -> Queries:
        if isinstance(photos, slice) and photos == slice(0, len(self)):
            return self
        return Queries(text_image=tuple(query[photos] for query in self.text_image), visual=self.visual[photos])


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Text and anchor vectors of all species, not copied from the tables."""

    n_species: int
    names: tuple[str, ...]
    """Names of the text-image encoders."""
    chunks: tuple[VectorTable, ...]
    """Text vectors for each text-image encoder; row i is the same chunk in all tables."""
    anchors: VectorTable
    """Anchors in the visual space."""
    images: tuple[VectorTable, ...] = ()
    """Anchors in each text-image space, for vr-rag-v2."""
    trained: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Species that the visual encoder was trained on, ascending."""
    prototypes: FloatArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    """Learned class vectors of the species in `trained`, unit rows in the visual space, for `default`."""
    background: FloatArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    """Prototypes of other species, which the knowledge base does not hold: evidence that a photo shows one of them."""
    background_names: tuple[str, ...] = ()
    """Their scientific names."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.chunks):
            raise StoreError(f"Expected text vectors of {len(self.names)} encoders, got {len(self.chunks)}")
        for table in (*self.chunks, self.anchors, *self.images):
            if table.vectors.ndim != 2 or not len(table.ids) == len(table.owners) == len(table.vectors):
                raise StoreError(
                    f"A table has {len(table.ids)} ids, {len(table.owners)} owners and vectors {table.vectors.shape}"
                )
            if len(table.owners) and not (table.owners[0] >= 0 and table.owners[-1] < self.n_species):
                raise StoreError(f"A table has owners outside 0..{self.n_species - 1}")
            if np.any(np.diff(table.owners) < 0):
                raise StoreError("The owners of a table are not ascending")
        if len(self.trained) != len(self.prototypes) or np.any(np.diff(self.trained) <= 0):
            raise StoreError(f"{len(self.prototypes)} prototypes do not fit {len(self.trained)} species in order")
        if len(self.background) != len(self.background_names):
            raise StoreError(f"{len(self.background)} prototypes do not fit {len(self.background_names)} names")
        if any(table.ids != self.chunks[0].ids for table in self.chunks[1:]):
            raise StoreError("The text vectors of the encoders belong to different chunks")

    @property
    def chunk_owners(self) -> IntArray:
        """Species of each chunk, ascending."""
        return self.chunks[0].owners if self.chunks else np.empty(0, dtype=np.intp)

    @cached_property
    def chunk_starts(self) -> IntArray:
        """Species i has the chunks `chunk_starts[i]:chunk_starts[i + 1]`."""
        return _starts(self.chunk_owners, self.n_species)

    @cached_property
    def anchor_starts(self) -> IntArray:
        """Species i has the anchors `anchor_starts[i]:anchor_starts[i + 1]`."""
        return _starts(self.anchors.owners, self.n_species)

    @cached_property
    def chunk_counts(self) -> IntArray:
        """Number of chunks of each species."""
        return np.diff(self.chunk_starts)

    @cached_property
    def anchor_counts(self) -> IntArray:
        """Number of anchors of each species."""
        return np.diff(self.anchor_starts)

    @cached_property
    def chunk_sample(self) -> FloatArray:
        """Vectors of evenly spaced chunks, with the columns of all encoders."""
        return np.concatenate([_sample(table.vectors) for table in self.chunks], axis=1)

    @cached_property
    def anchor_sample(self) -> FloatArray:
        """Vectors of evenly spaced anchors; where these are few, also prototypes of any species.

        Photos are about as similar to prototypes as to anchors, so that a mean and a deviation come from enough rows.
        """
        return _sample(self.anchors.vectors, self.prototypes, self.background)

    @cached_property
    def prototype_sample(self) -> FloatArray:
        """Evenly spaced prototypes; where these are few, also those of the background."""
        return _sample(self.prototypes, self.background)

    @cached_property
    def prototype_rows(self) -> IntArray:
        """Row of each species in `prototypes`, -1 for none."""
        rows = np.full(self.n_species, -1, dtype=np.intp)
        rows[self.trained] = np.arange(len(self.trained))
        return rows

    @cached_property
    def blends(self) -> tuple[FloatArray, ...]:
        """(text + image) / 2 of the `blended` species for each encoder, from means per species."""
        text, images = ([_species_means(table, self.n_species) for table in of] for of in (self.chunks, self.images))
        return tuple(((one + other) / np.float32(2))[self.blended] for one, other in zip(text, images, strict=True))

    @cached_property
    def blended(self) -> IntArray:
        """Species with text or anchors, ascending."""
        return np.flatnonzero((self.chunk_counts > 0) | (self.anchor_counts > 0))

    def mean_anchors(self, limit: int | None = None) -> FloatArray:
        """Return the mean of each species' first `limit` anchors, `(n_species, dim)`, zero without anchors."""
        if limit is None or self._most_anchors <= limit:
            limit = None
        means = self._means.get(limit)
        if means is None:  # threads may compute it at once, with the same result
            means = self._means[limit] = _species_means(self.anchors, self.n_species, limit)
        return means

    @cached_property
    def anchor_lengths(self) -> NDArray[np.float64]:
        """Length of each species' mean anchor, `(n_species,)`; 1 for equal anchors."""
        lengths: NDArray[np.float64] = np.linalg.norm(self.mean_anchors().astype(np.float64), axis=1)
        return lengths

    @cached_property
    def with_anchors(self) -> IntArray:
        """Species with anchors, ascending."""
        return np.flatnonzero(self.anchor_counts)

    @cached_property
    def centroids(self) -> FloatArray:
        """Mean direction of each species' anchors, `(n_species, dim)` unit rows, zero without anchors."""
        lengths = np.where(self.anchor_lengths > _SHORTEST, self.anchor_lengths, 1.0)
        centroids: FloatArray = (self.mean_anchors() / lengths[:, None]).astype(np.float32)
        return centroids

    @cached_property
    def _most_anchors(self) -> int:
        return int(self.anchor_counts.max(initial=0))

    @cached_property
    def _means(self) -> dict[int | None, FloatArray]:
        return {}


def read_knowledge(store: KnowledgeStore, encoders: Encoders) -> Knowledge:
    """Return the arrays of a store in the spaces of its encoders.

    Raises:
        SpaceMismatch: if the store was built with other encoders.
        StoreError: if its tables contradict each other.
    """
    store.check_space(encoders.spaces)
    species, prototypes = _read_prototypes(encoders)
    position = {id: i for i, id in enumerate(store.taxon_ids)}
    held = sorted((position[id], row) for row, id in enumerate(map(taxon_id, species)) if id in position)
    others = np.setdiff1d(np.arange(len(species)), [row for _, row in held])
    return Knowledge(
        n_species=len(store.taxon_ids),
        names=tuple(encoder.name for encoder in encoders.text_image),
        chunks=tuple(_of_width(store.chunk_vectors(encoder.space), encoder) for encoder in encoders.text_image),
        anchors=_of_width(store.anchor_vectors(encoders.visual.space), encoders.visual),
        images=tuple(_of_width(store.anchor_vectors(encoder.space), encoder) for encoder in encoders.text_image),
        trained=np.array([i for i, _ in held], dtype=np.intp),
        prototypes=prototypes[np.array([row for _, row in held], dtype=np.intp)],
        background=prototypes[others],
        background_names=tuple(species[row] for row in others),
    )


def _of_width(table: VectorTable, encoder: Encoder) -> VectorTable:
    """Return a table with vectors as long as the encoder's; a store does not know the length of no vectors."""
    if len(table.vectors):
        return table
    return replace(table, vectors=np.empty((0, encoder.dim), dtype=np.float32))


def _read_prototypes(encoders: Encoders) -> tuple[tuple[str, ...], FloatArray]:
    """Return the species that the visual encoder was trained on, and their prototypes."""
    if not isinstance(encoders.visual, TrainedOnSpecies):
        return (), np.empty((0, encoders.visual.dim), dtype=np.float32)
    return encoders.visual.prototypes()


def _sample(vectors: FloatArray, *others: FloatArray) -> FloatArray:
    """Return up to `_SAMPLE` evenly spaced rows; others complete fewer than `_FEW`, too few for a deviation."""
    found = _evenly(vectors, _SAMPLE)
    if len(found) < _FEW and (filled := [matrix for matrix in others if len(matrix)]):
        found = np.concatenate([found, _evenly(np.concatenate(filled), _SAMPLE - len(found))])
    return found


def _evenly(vectors: FloatArray, n: int) -> FloatArray:
    return vectors if len(vectors) <= n else vectors[np.arange(n) * len(vectors) // n]


def _starts(owners: IntArray, n_species: int) -> IntArray:
    return np.searchsorted(owners, np.arange(n_species + 1), side="left")


def _species_means(table: VectorTable, n_species: int, limit: int | None = None) -> FloatArray:
    sums = np.zeros((n_species, table.vectors.shape[1]), dtype=np.float32)
    starts = _starts(table.owners, n_species)
    counts = np.diff(starts)
    for step in range(int(counts.max(initial=0)) if limit is None else limit):
        has = counts > step
        sums[has] += table.vectors[starts[:-1][has] + step]
    sums /= np.clip(counts, 1, limit)[:, None].astype(np.float32)
    return sums


def check_queries(queries: Sequence[FloatArray], tables: Sequence[VectorTable]) -> None:
    """Raise `ValueError` unless each table has a query matrix `(n, dim)`, all with the same n."""
    expected = [table.vectors.shape[1] for table in tables]
    given = [query.shape for query in queries]
    n = given[0][0] if given else 0
    if given != [(n, dim) for dim in expected]:
        raise ValueError(f"expected query vectors of dims {expected} for the same photos, got shapes {given}")


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
