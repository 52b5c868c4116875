"""Ways of ranking species side by side, on photos that are encoded once: the tables of VR-RAG for one's own data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore
from data.errors import UsageError
from data.metrics.ranked import Measured, measure_all
from data.metrics.significance import PairedTest, holm, paired_test
from recognize.encoded import EncodedPhotos
from recognize.evaluation.report import values_of
from recognize.recognizer import PhotoRanking
from recognize.scoring.knowledge import Knowledge, read_knowledge
from recognize.scoring.presets import STARTS_FROM_TEXTS, Settings, find_preset
from recognize.scoring.stages import Ranking
from recognize.scoring.subset import queries_of_encoders, with_anchors, with_encoders, with_names, with_species

Vocabulary = Literal["open", "bounded"]
Texts = Literal["descriptions", "names"]

DEFINITIONS: Final[Mapping[str, str]] = {
    "top-k": "share of photos whose species is among the first k species; top-1 is the accuracy, and equals MRR@1",
    "hit@30": "top-k with k = 30: what a re-ranker of 30 could reach. VR-RAG's 'MRR@30' is larger than its MRR@10 by "
    "more than ranks 11 to 30 can add, so it cannot be an MRR; compare it with this. It looks at 30 chunks, and so do "
    "rows with a pool of 30 (vr-rag-v1, direct-rag, --ablation); 30 species of a larger pool reach further",
    "MRR@k": "mean of 1 / rank of the photo's species among the ranked species, 0 beyond the first k",
    "chunk MRR@k": "the same among ranked chunks, where a species stands once for each chunk: the paper's MRR",
    "genus": "share of photos whose first species is of the right genus",
    "micro": "mean over photos",
    "macro": "mean over species of the mean over a species' photos",
    "interval": "95 %, bootstrap over species: whole species are drawn, since photos of one species are alike",
    "difference": "of two rows, species by species, with its interval; p by flipping signs of species at random, "
    "corrected for the number of tests (Holm)",
    "anchors": "kb: those of the knowledge base, which come from its wiki where it was built of one; train: up to "
    "three training photos a species of the dataset, in place of what the knowledge base has of these; wiki: the lead "
    "image of the species' article alone, where the dataset tells it",
    "open": "all species of the knowledge base can be the answer",
    "bounded": "only species of the photos measured can be the answer: as in a knowledge base of these alone",
}
"""What each word of the tables means, as reports print it."""

KB_ANCHORS: Final = "kb"
TESTED: Final = ("top-1", "MRR@10")
_ABLATION_POOL: Final = 30  # of the paper; equal with and without re-ranker, so that it permutes the same chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    texts: Texts = "descriptions"
    anchors: str = KB_ANCHORS
    """Whose anchors: those of the knowledge base, or a set of photos by its name."""
    encoders: tuple[int, ...] | None = None
    """Positions of the text-image encoders that take part; None for all."""
    m: int | None = None
    """The size of the pool, if not the preset's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Photos that take the place of a knowledge base's anchors: training photos of a dataset, or those of its wiki."""

    covered: tuple[str, ...]
    """The species (taxon ids) whose anchors of the knowledge base go, whether a photo takes their place or not."""
    photos: EncodedPhotos
    labels: tuple[str, ...]
    """The taxon id of each photo that could be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFigures:
    """The figures of one way of ranking."""

    setup: Setup
    encoder_names: tuple[str, ...]
    n_searched: int
    """Species that could be the answer."""
    n_without_anchors: float
    """Species without anchors in the pool of a photo, on average."""
    measures: tuple[Measured, ...]

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupTest:
    """A paired test over species: this way of ranking less the first one with the same vocabulary."""

    setup: Setup
    baseline: Setup
    measure: str
    test: PairedTest
    p_corrected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesEvaluation:
    """All figures on the same photos, in the order in which the ways were given."""

    n: int
    n_species: int
    figures: tuple[SetupFigures, ...]
    tests: tuple[SetupTest, ...]


def ablation(n_encoders: int, *, vocabulary: Vocabulary = "open", texts: Texts = "descriptions") -> list[Setup]:
    """Return each text-image encoder alone, each pair, and all, each without and with the visual re-ranker.

    Source: VR-RAG, table 4, which has the re-ranker for all encoders only. Chunks are ranked, 30 in the pool.
    """
    everything = range(n_encoders)
    sizes = [size for size in (1, 2) if size <= n_encoders] + ([n_encoders] if n_encoders > 2 else [])
    return [
        Setup(preset=preset, vocabulary=vocabulary, texts=texts, encoders=kept, m=_ABLATION_POOL)
        for size in sizes
        for kept in combinations(everything, size)
        for preset in ("text-only", "vr-rag-v1")
    ]


def compare_setups(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    labels: Sequence[str],
    setups: Sequence[Setup],
    *,
    anchor_sets: Mapping[str, AnchorSet] | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> SpeciesEvaluation:
    """Return the figures of each way of ranking on the same photos, and tests against the first of its vocabulary.

    Args:
        store: the knowledge base.
        encoders: those that it was built with and the photos were encoded with.
        photos: at least one.
        labels: the taxon id of each photo; one that is not in the store counts as not found.
        setups: the ways, each once.
        anchor_sets: the sets that setups name beside the anchors of the knowledge base.
        n_resamples: of bootstrap and randomisation.
        seed: of both.

    Raises:
        UsageError: if there are no photos, or a preset starts from what the knowledge base does not hold.
    """
    if not len(photos) or len(labels) != len(photos):
        raise UsageError(f"expected a label for each of at least one photo, got {len(labels)} for {len(photos)}")
    genus_of = genera(store)
    knowledge = Variants(store, encoders, labels, anchor_sets)
    figures: list[SetupFigures] = []
    values: list[dict[str, list[float]]] = []
    for setup in setups:
        known = knowledge.of(setup)
        rankings = _named(store.taxon_ids, known, photos, rank_setup(known, photos, setup, encoders.profile))
        of_photos = values_of(rankings, labels)
        of_photos["genus"] = [
            float(bool(ranking.taxon_ids) and genus_of[ranking.taxon_ids[0]] == genus_of.get(label, label))
            for ranking, label in zip(rankings, labels, strict=True)
        ]
        values.append(of_photos)
        figures.append(
            SetupFigures(
                setup=setup,
                encoder_names=known.names,
                n_searched=len(knowledge.asked) if setup.vocabulary == "bounded" else known.n_species,
                n_without_anchors=sum(ranking.n_without_anchors for ranking in rankings) / len(rankings),
                measures=measure_all(of_photos, labels, n_resamples=n_resamples, seed=seed),
            )
        )
    return SpeciesEvaluation(
        n=len(labels),
        n_species=len(set(labels)),
        figures=tuple(figures),
        tests=tuple(_tests(setups, values, labels, n_resamples=n_resamples, seed=seed)),
    )


class Variants:
    """The knowledge of a store as each setup sees it; names are encoded once."""

    def __init__(
        self,
        store: KnowledgeStore,
        encoders: Encoders,
        labels: Sequence[str],
        anchor_sets: Mapping[str, AnchorSet] | None = None,
    ) -> None:
        """Read the store; `labels` are the taxon ids of the photos, which bound the bounded vocabulary."""
        self._store, self._encoders = store, encoders
        self._at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
        self.asked: IntArray = self._positions(labels)
        self._anchor_sets = anchor_sets or {}
        self._stored = read_knowledge(store, encoders)
        self._whole: dict[tuple[Texts, str], Knowledge] = {("descriptions", KB_ANCHORS): self._stored}
        self._bounded: dict[tuple[Texts, str], Knowledge] = {}

    def of(self, setup: Setup) -> Knowledge:
        """Return what a setup scores photos against.

        Raises:
            UsageError: if its preset starts from what the knowledge base does not hold, or it names no anchor set.
        """
        key = setup.texts, setup.anchors
        known = self._texts(setup.texts) if setup.anchors == KB_ANCHORS else self._with_set(setup)
        if setup.preset in STARTS_FROM_TEXTS and not len(known.chunk_owners):
            raise UsageError(f"the preset {setup.preset} starts from texts, and {self._store.path} holds none")
        if setup.preset == "anchors-only" and not len(known.anchors.owners):
            raise UsageError(f"the preset anchors-only needs anchors, and {self._store.path} holds none")
        if setup.vocabulary == "bounded":
            if key not in self._bounded:
                self._bounded[key] = with_species(known, self.asked)
            known = self._bounded[key]
        return known if setup.encoders is None else with_encoders(known, setup.encoders)

    def _texts(self, texts: Texts) -> Knowledge:
        key = texts, KB_ANCHORS
        if key not in self._whole:
            names = [entry.taxon.common_name for entry in self._store.species(self._store.taxon_ids)]
            self._whole[key] = with_names(self._stored, names, self._encoders)
        return self._whole[key]

    def _with_set(self, setup: Setup) -> Knowledge:
        key = setup.texts, setup.anchors
        if key not in self._whole:
            given = self._anchor_sets.get(setup.anchors)
            if given is None:
                raise UsageError(f"expected an anchor set ({', '.join(self._anchor_sets)}), got {setup.anchors!r}")
            owners = np.array([self._at.get(label, -1) for label in given.labels], dtype=np.intp)
            photos = given.photos.only(owners >= 0).queries
            self._whole[key] = with_anchors(
                self._texts(setup.texts), self._positions(given.covered), owners[owners >= 0], photos
            )
        return self._whole[key]

    def _positions(self, taxon_ids: Iterable[str]) -> IntArray:
        """Return the positions of those of the species that the store holds, ascending, each once."""
        return np.array(sorted({self._at[each] for each in taxon_ids if each in self._at}), dtype=np.intp)


def rank_setup(known: Knowledge, photos: EncodedPhotos, setup: Setup, profile: str) -> list[Ranking]:
    """Return the ranking of each photo against what `Variants.of` gave for the setup."""
    settings = Settings(m=setup.m, profile=profile)
    queries = photos.queries if setup.encoders is None else queries_of_encoders(photos.queries, setup.encoders)
    return find_preset(setup.preset, settings)(known, queries, settings)


def _named(
    ids: Sequence[str], known: Knowledge, photos: EncodedPhotos, rankings: Sequence[Ranking]
) -> list[PhotoRanking]:
    owners = known.chunk_owners
    return [
        PhotoRanking(
            image=str(position),
            taxon_ids=tuple(ids[i] for i in ranking.species),
            chunk_taxon_ids=tuple(ids[i] for i in owners[ranking.chunks]),
            n_without_anchors=ranking.n_without_anchors,
        )
        for position, ranking in zip(photos.positions, rankings, strict=True)
    ]


def genera(store: KnowledgeStore) -> dict[str, str]:
    """Return the genus of each species of the store."""
    taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    return {taxon.taxon_id: taxon.lineage.get("genus") or taxon.scientific_name.split()[0] for taxon in taxa}


def _tests(
    setups: Sequence[Setup],
    values: Sequence[Mapping[str, Sequence[float]]],
    labels: Sequence[str],
    *,
    n_resamples: int,
    seed: int,
) -> Iterator[SetupTest]:
    """Yield the tests; those of one measure and vocabulary are corrected together."""
    for vocabulary in dict.fromkeys(setup.vocabulary for setup in setups):
        first, *others = [i for i, setup in enumerate(setups) if setup.vocabulary == vocabulary]
        for measure in TESTED:
            tests = [
                paired_test(
                    by_species(np.subtract(values[i][measure], values[first][measure]).tolist(), labels),
                    n_resamples=n_resamples,
                    seed=seed,
                )
                for i in others
            ]
            for i, test, p in zip(others, tests, holm([test.p_value for test in tests]), strict=True):
                yield SetupTest(setup=setups[i], baseline=setups[first], measure=measure, test=test, p_corrected=p)


def by_species(values: Iterable[float], labels: Sequence[str]) -> list[float]:
    """Return the mean of the values of each species' photos, in the order in which the species come."""
    groups: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    return [sum(group) / len(group) for group in groups.values()]
