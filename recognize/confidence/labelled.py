"""Labelled photos for a calibration, from the anchors of a knowledge base or files, and their evidence.

Each is identified with its species in the knowledge base and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray
from data.contracts import Encoders, KnowledgeStore
from data.records import Taxon
from recognize.answers import RANKS, JudgedRank, Lineage, lineage_with_self
from recognize.confidence.evidence import FEATURES, N_JUDGED, find_evidence
from recognize.encoded_photos import (
    HASH_BITS,
    NEAR_COSINE,
    Flags,
    Hashes,
    encode_photos,
    iter_hashes,
    near_duplicates,
    training_hashes,
)
from recognize.scoring.knowledge import Knowledge, Queries, without_anchors, without_species
from recognize.scoring.presets import Settings, score
from recognize.scoring.ranking import Ranking, Scores

OnProgress = Callable[[str, int, int], None]
"""Gets (noun, done, total)."""

_DIGITS: Final = 6  # of the temperature


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Evidence of n photos with their species in the knowledge base and without it."""

    species: IntArray
    """`(n,)`."""
    held: Scores
    """`(n, n_features)`, with the species."""
    not_held: Scores
    """`(n, n_features)`, without it."""
    is_right: Mapping[JudgedRank, Truths]
    """Whether the first species, its genus, family and order are right, `(n,)`."""

    def __len__(self) -> int:
        return len(self.species)

    def only(self, rows: IntArray) -> Cases:
        """Return some of the photos."""
        return Cases(
            species=self.species[rows],
            held=self.held[rows],
            not_held=self.not_held[rows],
            is_right={rank: found[rows] for rank, found in self.is_right.items()},
        )


class Identifier:
    """Identifies labelled photos with their species in the knowledge base and without it."""

    def __init__(
        self, preset: str, settings: Settings, knowledge: Knowledge, photos: LabelledVectors,
        taxa: Sequence[Taxon], *, on_progress: OnProgress = lambda *_: None,
    ) -> None:  # fmt: skip
        """Keep what is to be identified.

        `settings` have the weights of the whole knowledge base, and `taxa` are all its species.
        """
        self._preset = preset
        self._settings = settings
        self._knowledge = knowledge
        self._photos = photos
        self._names = [taxon.scientific_name for taxon in taxa]
        self._lineages = [lineage_with_self(taxon) for taxon in taxa]
        self._on_progress = on_progress

    def _ranked(self, rounds: Iterator[Round], noun: str) -> Iterator[tuple[Round, list[Ranking]]]:
        done = 0
        for photos, knowledge in rounds:
            queries = self._photos.queries[photos]
            yield (photos, knowledge), score(self._preset, knowledge, queries, self._settings)
            done += len(photos)
            self._on_progress(noun, done, len(self._photos))

    def fit_temperature(self) -> float:
        """Return the temperature at which the softmax of the scores fits best."""
        cases = []
        for (photos, _), rankings in self._ranked(known_rounds(self._knowledge, self._photos), "scale"):
            for truth, ranking in zip(self._photos.species[photos], rankings, strict=True):
                at = np.flatnonzero(ranking.species[:N_JUDGED] == truth)
                cases.append((ranking.scores[:N_JUDGED], int(at[0]) if len(at) else None, 1.0))
        return round(fit_temperature(cases), _DIGITS)

    def cases(self, temperature: float) -> Cases:
        """Return the evidence of all photos at a temperature."""
        rounds = known_rounds(self._knowledge, self._photos), unknown_rounds(self._knowledge, self._photos, self._names)
        held, is_right = self._evidence(rounds[0], temperature, "with species")
        not_held, _ = self._evidence(rounds[1], temperature, "without")
        return Cases(species=self._photos.species, held=held, not_held=not_held, is_right=is_right)

    def _evidence(
        self, rounds: Iterator[Round], temperature: float, noun: str
    ) -> tuple[Scores, dict[JudgedRank, Truths]]:
        n = len(self._photos)
        rows = np.zeros((n, len(FEATURES)))
        is_right: dict[JudgedRank, Truths] = {rank: np.zeros(n, dtype=np.bool_) for rank in RANKS}
        for (photos, knowledge), rankings in self._ranked(rounds, noun):
            queries = self._photos.queries[photos]
            found = find_evidence(rankings, queries, knowledge, self._lineages_of, temperature=temperature)
            rows[photos] = found.rows
            for photo, ranking in zip(photos.tolist(), rankings, strict=True):
                if len(ranking.species):
                    for rank in RANKS:
                        is_right[rank][photo] = self._is_right(rank, photo, int(ranking.species[0]))
        return rows, is_right

    def _lineages_of(self, species: IntArray) -> list[Lineage]:
        return [self._lineages[i] for i in species.tolist()]

    def _is_right(self, rank: JudgedRank, photo: int, first: int) -> bool:
        truth = int(self._photos.species[photo])
        if rank == "species" or first == truth:
            return first == truth
        name = self._lineages[truth].get(rank)
        return name is not None and self._lineages[first].get(rank) == name


N_GROUPS: Final = 50
"""Groups of species that are left out together. Each lacks at most a fiftieth of the other species, or of their
anchors, which costs far less than a variant of the knowledge base per photo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledVectors:
    """Vectors of photos with species of the knowledge base."""

    queries: Queries
    species: IntArray
    """Position of each photo's species in `KnowledgeStore.taxon_ids`."""
    same: tuple[IntArray, ...]
    """Rows of the anchors that show the same picture, for each photo."""

    def __len__(self) -> int:
        return len(self.species)

    def only(self, rows: IntArray) -> LabelledVectors:
        """Return some of the photos."""
        return LabelledVectors(
            queries=self.queries[rows],
            species=self.species[rows],
            same=tuple(self.same[row] for row in rows),
        )


Round = tuple[IntArray, Knowledge]
"""Some of the photos, and the knowledge base that identifies them."""


def known_rounds(knowledge: Knowledge, photos: LabelledVectors) -> Iterator[Round]:
    """Yield rounds in which each photo is identified once, without the anchors that show the same picture."""
    if not any(map(len, photos.same)):
        yield np.arange(len(photos)), knowledge
        return
    for group in _groups(photos.species):
        # At most one photo of a species in a round, so that it misses only the photo itself.
        turns = _turn_of(photos.species[group])
        for turn in range(int(turns.max()) + 1):
            round_ = group[turns == turn]
            yield round_, without_anchors(knowledge, np.concatenate([photos.same[photo] for photo in round_]))


def unknown_rounds(knowledge: Knowledge, photos: LabelledVectors, names: Sequence[str]) -> Iterator[Round]:
    """Yield rounds in which each photo is identified once, without its species.

    `names` are the scientific names of all species of the knowledge base.
    """
    for group in _groups(photos.species):
        yield group, without_species(knowledge, np.unique(photos.species[group]), names)


def _groups(species: IntArray) -> list[IntArray]:
    """Return the photos of each group of species; relatives, which are neighbours by name, go to different groups."""
    _, place = np.unique(species, return_inverse=True)
    return [found for group in range(N_GROUPS) if len(found := np.flatnonzero(place % N_GROUPS == group))]


def _turn_of(species: IntArray) -> IntArray:
    """Return for each photo the number of earlier photos of its species."""
    order = np.argsort(species, kind="stable")
    starts = np.searchsorted(species[order], species[order])
    turns = np.empty(len(species), dtype=np.intp)
    turns[order] = np.arange(len(species)) - starts
    return turns


def spread(species: IntArray, limit: int) -> IntArray:
    """Return at most `limit` photos, ascending: the first of each species, then the second of each, and so on."""
    order: Sequence[int] = np.lexsort((np.arange(len(species)), _turn_of(species))).tolist()
    return np.sort(np.array(order[:limit], dtype=np.intp))


Truths = NDArray[np.bool_]


def fit_temperature(cases: Iterable[tuple[Scores, int | None, float]]) -> float:
    """Return the temperature with the highest likelihood from 0.002 to 20, by golden section: one for cosines too.

    Args:
        cases: for each photo the scores of its candidates, the position of the right one, and its weight; photos
            without the right one are ignored.
    """
    ranked: Sequence[tuple[Scores, int, float]] = [(scores, at, share) for scores, at, share in cases if at is not None]

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return float(sum(w * (np.logaddexp.reduce(s * scale) - s[at] * scale) for s, at, w in ranked))

    ratio = (np.sqrt(5) - 1) / 2
    low, high = -6.0, 3.0
    for _ in range(32):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return float(np.exp((low + high) / 2))


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
    anchor_path: AnchorPath, on_progress: OnProgress = lambda *_: None, groups: Sequence[int] | None = None,
) -> LabelledSource:  # fmt: skip
    """Return photo files of species in the store; one that is an anchor is identified without that.

    With `groups`, such as the numbers of bursts, it is identified without all anchors that show a photo of its group.
    Skipped: unreadable photos, training photos of the encoders, and photos that are an anchor of another species.
    """
    found = encode_photos(encoders, paths, on_progress=lambda n: on_progress("photos", n, len(paths)))
    position = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
    species = np.array([position[taxon_ids[at]] for at in found.positions], dtype=np.intp)
    pictures = _read_pictures(store, knowledge, anchor_path, on_progress)
    same = pictures.same_as(found.queries.visual, found.hashes, np.ones(len(found), dtype=np.bool_))
    owners = knowledge.anchors.owners
    is_other = np.array([(owners[rows] != species[at]).any() for at, rows in enumerate(same)], dtype=np.bool_)
    if groups is not None:
        group_of = [groups[at] for at in found.positions]
        members: dict[int, list[IntArray]] = {}
        for group, rows in zip(group_of, same, strict=True):
            members.setdefault(group, []).append(rows)
        same = [np.unique(np.concatenate(members[group])) for group in group_of]
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
