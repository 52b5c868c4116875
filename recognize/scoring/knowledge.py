"""The arrays of a knowledge base that scoring reads, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.contracts import Encoders, KnowledgeStore, TrainedOnSpecies, VectorTable
from data.errors import StoreError
from data.records import taxon_id

_SAMPLE: Final = 256  # rows: a deviation good to 5 %, which changes no more than the weight of a stage by as much


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Text and anchor vectors of all species; nothing is copied from the tables.

    Example:
        >>> table = VectorTable(ids=("c0",), owners=np.array([0]), vectors=np.ones((1, 1), dtype=np.float32))
        >>> Knowledge(n_species=1, names=("clip",), chunks=(table,), anchors=table, images=(table,)).n_species
        1
    """

    n_species: int
    names: tuple[str, ...]
    """The names of the text-image encoders."""
    chunks: tuple[VectorTable, ...]
    """The text vectors, a table for each text-image encoder; row i is the same chunk in all of them."""
    anchors: VectorTable
    """The anchors in the visual space."""
    images: tuple[VectorTable, ...] = ()
    """The anchors in each text-image space; only vr-rag-v2 reads them."""
    trained: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """The species that the visual encoder was trained on, ascending."""
    prototypes: FloatArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    """The learned class vector of each species in `trained`, unit rows of the visual space; read by `default` only."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.chunks):
            raise StoreError(f"expected text vectors of {len(self.names)} encoders, got {len(self.chunks)}")
        for table in (*self.chunks, self.anchors, *self.images):
            if table.vectors.ndim != 2 or not len(table.ids) == len(table.owners) == len(table.vectors):
                raise StoreError(
                    f"a table has {len(table.ids)} ids, {len(table.owners)} owners and vectors {table.vectors.shape}"
                )
            if len(table.owners) and not (table.owners[0] >= 0 and table.owners[-1] < self.n_species):
                raise StoreError(f"a table has owners outside 0..{self.n_species - 1}")
            if np.any(np.diff(table.owners) < 0):
                raise StoreError("the owners of a table are not ascending")
        if len(self.trained) != len(self.prototypes) or np.any(np.diff(self.trained) <= 0):
            raise StoreError(f"{len(self.prototypes)} prototypes do not fit {len(self.trained)} species in order")
        if any(table.ids != self.chunks[0].ids for table in self.chunks[1:]):
            raise StoreError("the encoders' text vectors are not of the same chunks")

    @property
    def chunk_owners(self) -> IntArray:
        """The species of each chunk, ascending."""
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
        """How many chunks each species has."""
        return np.diff(self.chunk_starts)

    @cached_property
    def anchor_counts(self) -> IntArray:
        """How many anchors each species has."""
        return np.diff(self.anchor_starts)

    @cached_property
    def chunk_sample(self) -> NDArray[np.float64]:
        """Vectors of evenly spread chunks, the encoders' side by side: what a photo's scores are measured against."""
        return np.concatenate([_sample(table) for table in self.chunks], axis=1)

    @cached_property
    def anchor_sample(self) -> NDArray[np.float64]:
        """Evenly spread anchors, for the same."""
        return _sample(self.anchors)

    @cached_property
    def prototype_sample(self) -> NDArray[np.float64]:
        """Evenly spread prototypes, for the same."""
        return _sample_rows(self.prototypes)

    @cached_property
    def prototype_rows(self) -> IntArray:
        """The row of `prototypes` of each species, -1 where there is none."""
        rows = np.full(self.n_species, -1, dtype=np.intp)
        rows[self.trained] = np.arange(len(self.trained))
        return rows

    @cached_property
    def blends(self) -> FloatArray:
        """Of `blended` species: (text + image) / 2, each a species' mean, else zero, the encoders' side by side."""
        joined = np.empty((len(self.blended), sum(table.vectors.shape[1] for table in self.chunks)), dtype=np.float32)
        for columns, text, image in zip(self.blend_columns, self.chunks, self.images, strict=True):
            means = _species_means(text, self.n_species) + _species_means(image, self.n_species)
            np.multiply(means[self.blended], np.float32(0.5), out=joined[:, columns])
        return joined

    @cached_property
    def blend_columns(self) -> tuple[slice, ...]:
        """Which columns of `blends` are each encoder's."""
        ends = np.cumsum([0, *(table.vectors.shape[1] for table in self.chunks)]).tolist()
        return tuple(slice(*pair) for pair in pairwise(ends))

    @cached_property
    def blended(self) -> IntArray:
        """The species that have text or anchors, ascending."""
        return np.flatnonzero((self.chunk_counts > 0) | (self.anchor_counts > 0))

    def mean_anchors(self, limit: int | None = None) -> FloatArray:
        """Return one visual vector a species: the mean of its first `limit` anchors, `(n_species, dim)`, else zero."""
        if limit is None or self._most_anchors <= limit:
            limit = None
        means = self._means.get(limit)
        if means is None:  # several threads may come here at once: each then makes the same
            means = self._means[limit] = _species_means(self.anchors, self.n_species, limit)
        return means

    @cached_property
    def anchor_lengths(self) -> NDArray[np.float64]:
        """The length of each species' mean anchor, `(n_species,)`: the nearer to 1, the more alike its anchors are."""
        lengths: NDArray[np.float64] = np.linalg.norm(self.mean_anchors().astype(np.float64), axis=1)
        return lengths

    @cached_property
    def _most_anchors(self) -> int:
        return int(self.anchor_counts.max(initial=0))

    @cached_property
    def _means(self) -> dict[int | None, FloatArray]:
        return {}


def read_knowledge(store: KnowledgeStore, encoders: Encoders) -> Knowledge:
    """Return the arrays of a store in the spaces of these encoders.

    Raises:
        SpaceMismatch: if the store was not built with them.
        StoreError: if its tables do not fit each other.
    """
    store.check_space(encoders.spaces)
    trained, prototypes = _read_prototypes(store, encoders)
    return Knowledge(
        n_species=len(store.taxon_ids),
        names=tuple(encoder.name for encoder in encoders.text_image),
        chunks=tuple(store.chunk_vectors(encoder.space) for encoder in encoders.text_image),
        anchors=store.anchor_vectors(encoders.visual.space),
        images=tuple(store.anchor_vectors(encoder.space) for encoder in encoders.text_image),
        trained=trained,
        prototypes=prototypes,
    )


def _read_prototypes(store: KnowledgeStore, encoders: Encoders) -> tuple[IntArray, FloatArray]:
    """Return which species of the store the visual encoder was trained on, ascending, and their prototypes."""
    if not isinstance(encoders.visual, TrainedOnSpecies):
        return np.empty(0, dtype=np.intp), np.empty((0, 0), dtype=np.float32)
    names, vectors = encoders.visual.prototypes()
    row_of = {taxon_id(name): row for row, name in enumerate(names)}
    trained = [i for i, id in enumerate(store.taxon_ids) if id in row_of]
    rows = [row_of[store.taxon_ids[i]] for i in trained]
    return np.array(trained, dtype=np.intp), np.ascontiguousarray(vectors[np.array(rows, dtype=np.intp)])


def _sample(table: VectorTable) -> NDArray[np.float64]:
    return _sample_rows(table.vectors)


def _sample_rows(vectors: FloatArray) -> NDArray[np.float64]:
    n = len(vectors)
    rows = np.arange(n) if n <= _SAMPLE else np.arange(_SAMPLE) * n // _SAMPLE
    return vectors[rows].astype(np.float64)


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
    """Raise `ValueError` unless there is one `(n, dim)` query matrix for each table, all of the same n."""
    expected = [table.vectors.shape[1] for table in tables]
    given = [query.shape for query in queries]
    n = given[0][0] if given else 0
    if [shape for shape in given] != [(n, dim) for dim in expected]:
        raise ValueError(f"expected query vectors of dims {expected} for the same photos, got shapes {given}")
