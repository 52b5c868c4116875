"""Labelled photos for a calibration: the anchors of a knowledge base, or files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray
from data.contracts import Encoders, KnowledgeStore
from recognize.calibration.cases import LabelledVectors
from recognize.evaluation.encoded_photos import (
    HASH_BITS,
    NEAR_COSINE,
    Flags,
    Hashes,
    encode_photos,
    iter_hashes,
    near_duplicates,
    training_hashes,
)
from recognize.scoring.knowledge import Knowledge, Queries

OnProgress = Callable[[str, int, int], None]
"""Gets (noun, done, total)."""
AnchorPath = Callable[[str], Path]
"""SHA-256 of an anchor -> its file."""

_BLOCK: Final = 512  # photos in one product


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSource:
    """Labelled photos that can be used, and the others."""

    kind: str
    """Noun for one of the photos."""
    photos: LabelledVectors
    skipped: Mapping[str, int]
    """Reason -> photos."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """Path of an unreadable photo -> reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pictures:
    """Pictures of the anchors, row by row."""

    vectors: FloatArray
    has_hash: Flags
    hashes: Hashes

    def same_as(self, vectors: FloatArray, hashes: Hashes, has_hash: Flags) -> list[IntArray]:
        """Return for each photo the rows of the anchors with the same picture."""
        found: list[IntArray] = []
        for first in range(0, len(vectors), _BLOCK):
            block = slice(first, first + _BLOCK)
            is_same = vectors[block] @ self.vectors.T >= NEAR_COSINE
            is_near = np.bitwise_count(hashes[block, None] ^ self.hashes[None, :]) <= HASH_BITS
            is_same |= is_near & has_hash[block, None] & self.has_hash[None, :]
            found += [np.flatnonzero(row) for row in is_same]
        return found


def photos_of_anchors(
    store: KnowledgeStore, encoders: Encoders, knowledge: Knowledge, *, anchor_path: AnchorPath,
    on_progress: OnProgress = lambda *_: None,
) -> LabelledSource:  # fmt: skip
    """Return the anchors of species with at least two different pictures, each to be identified without itself.

    Skipped: anchors without a file, such as shipped vectors, since the encoders may have been trained on
    them; training photos of the encoders; the only picture of a species; and pictures of two species.
    """
    pictures = _read_pictures(store, knowledge, anchor_path, on_progress)
    owners = knowledge.anchors.owners
    same = pictures.same_as(pictures.vectors, pictures.hashes, pictures.has_hash)
    same = [np.union1d(found, [row]) for row, found in enumerate(same)]
    is_trained = near_duplicates(pictures.hashes, training_hashes(encoders)) & pictures.has_hash
    is_shared = np.array([(owners[found] != owners[row]).any() for row, found in enumerate(same)], dtype=np.bool_)
    is_only = np.array(
        [knowledge.anchor_counts[owners[row]] <= len(found) for row, found in enumerate(same)], dtype=np.bool_
    )
    kept, skipped = _sieve(
        len(owners),
        {
            "reference photos without a file": ~pictures.has_hash,
            "training photos of the encoders": is_trained,
            "reference photos of two species": is_shared,
            "the only reference photo of a species": is_only,
        },
    )
    queries = Queries(
        text_image=tuple(table.vectors for table in knowledge.images), visual=np.asarray(knowledge.anchors.vectors)
    )
    return LabelledSource(
        kind="reference photo",
        photos=LabelledVectors(queries=queries[kept], species=owners[kept], same=tuple(same[row] for row in kept)),
        skipped=skipped,
    )


def photos_of_files(
    store: KnowledgeStore, encoders: Encoders, knowledge: Knowledge, paths: Sequence[Path], taxon_ids: Sequence[str], *,
    anchor_path: AnchorPath, on_progress: OnProgress = lambda *_: None,
) -> LabelledSource:  # fmt: skip
    """Return photo files of species in the store; one that is an anchor is identified without that.

    Skipped: unreadable photos, training photos of the encoders, and photos that are an anchor of another species.
    """
    found = encode_photos(encoders, paths, on_progress=lambda n: on_progress("photos", n, len(paths)))
    position = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
    species = np.array([position[taxon_ids[at]] for at in found.positions], dtype=np.intp)
    pictures = _read_pictures(store, knowledge, anchor_path, on_progress)
    same = pictures.same_as(found.queries.visual, found.hashes, np.ones(len(found), dtype=np.bool_))
    owners = knowledge.anchors.owners
    is_other = np.array([(owners[rows] != species[at]).any() for at, rows in enumerate(same)], dtype=np.bool_)
    kept, skipped = _sieve(
        len(found),
        {
            "training photos of the encoders": near_duplicates(found.hashes, training_hashes(encoders)),
            "reference photos of another species": is_other,
        },
    )
    return LabelledSource(
        kind="labelled photo",
        photos=LabelledVectors(queries=found.queries[kept], species=species[kept], same=tuple(same[at] for at in kept)),
        skipped=skipped,
        errors={str(paths[at]): why for at, why in found.errors.items()},
    )


def _sieve(n: int, reasons: Mapping[str, Flags]) -> tuple[IntArray, dict[str, int]]:
    """Return the photos without any reason to skip them, and the number skipped for each; the first reason counts."""
    is_left = np.ones(n, dtype=np.bool_)
    skipped = {}
    for reason, flags in reasons.items():
        if count := int((flags & is_left).sum()):
            skipped[reason] = count
        is_left &= ~flags
    return np.flatnonzero(is_left), skipped


def _read_pictures(
    store: KnowledgeStore, knowledge: Knowledge, anchor_path: AnchorPath, on_progress: OnProgress
) -> _Pictures:
    entries = store.species(store.taxon_ids)
    digest_of = {(i, anchor.anchor_id): anchor.sha256 for i, entry in enumerate(entries) for anchor in entry.anchors}
    table = knowledge.anchors
    digests = [digest_of.get((owner, id_)) for owner, id_ in zip(table.owners.tolist(), table.ids, strict=True)]
    rows = [row for row, digest in enumerate(digests) if digest is not None]
    hashes, has_hash = np.zeros(len(digests), dtype=np.uint64), np.zeros(len(digests), dtype=np.bool_)
    found = iter_hashes(anchor_path(digest) for digest in digests if digest is not None)
    for done, (row, value) in enumerate(zip(rows, found, strict=True), 1):
        has_hash[row] = value is not None
        hashes[row] = 0 if value is None else value
        on_progress("reference photos", done, len(rows))
    return _Pictures(vectors=np.asarray(table.vectors), has_hash=has_hash, hashes=hashes)
