"""Ways of ranking species side by side, on photos that are encoded once: the tables of VR-RAG for one's own data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import UsageError
from data.metrics import Measured, measure_all
from data.significance import PairedTest, holm, paired_test
from recognize.encoded import EncodedPhotos
from recognize.evaluation import values_of
from recognize.knowledge import Knowledge, read_knowledge
from recognize.narrowed import queries_of_encoders, with_encoders, with_names, with_species
from recognize.predict import PhotoRanking
from recognize.presets import Settings, find_preset

Vocabulary = Literal["open", "bounded"]
Texts = Literal["descriptions", "names"]

DEFINITIONS: Final[Mapping[str, str]] = {
    "top-k": "share of photos whose species is among the first k species; top-1 is the accuracy, and equals MRR@1",
    "hit@30": "top-k with k = 30: what a re-ranker of 30 could reach. VR-RAG's 'MRR@30' is larger than its MRR@10 by "
    "more than ranks 11 to 30 can add, so it cannot be an MRR; compare it with this",
    "MRR@k": "mean of 1 / rank of the photo's species among the ranked species, 0 beyond the first k",
    "chunk MRR@k": "the same among ranked chunks, where a species stands once for each chunk: the paper's MRR",
    "genus": "share of photos whose first species is of the right genus",
    "micro": "mean over photos",
    "macro": "mean over species of the mean over a species' photos",
    "interval": "95 %, bootstrap over species: whole species are drawn, since photos of one species are alike",
    "difference": "of two rows, species by species, with its interval; p by flipping signs of species at random, "
    "corrected for the number of tests (Holm)",
    "open": "all species of the knowledge base can be the answer",
    "bounded": "only species of the photos measured can be the answer: as in a knowledge base of these alone",
}
"""What each word of the tables means, as reports print it."""

TESTED: Final = ("top-1", "MRR@10")
_ABLATION_POOL: Final = 30  # of the paper; equal with and without re-ranker, so that it permutes the same chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One way of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    texts: Texts = "descriptions"
    encoders: tuple[int, ...] | None = None
    """Positions of the text-image encoders that take part; None for all."""
    m: int | None = None
    """The size of the pool, if not the preset's own."""


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
        n_resamples: of bootstrap and randomisation.
        seed: of both.

    Raises:
        UsageError: if there are no photos, or a preset starts from what the knowledge base does not hold.
    """
    if not len(photos) or len(labels) != len(photos):
        raise UsageError(f"expected a label for each of at least one photo, got {len(labels)} for {len(photos)}")
    genus_of = _genera(store)
    at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
    asked = np.array(sorted({at[label] for label in labels if label in at}), dtype=np.intp)
    knowledge = _Variants(store, encoders)
    figures: list[SetupFigures] = []
    values: list[dict[str, list[float]]] = []
    for setup in setups:
        known = knowledge.of(setup, asked)
        rankings = _rank(store.taxon_ids, known, photos, setup, encoders.profile)
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
                n_searched=len(asked) if setup.vocabulary == "bounded" else known.n_species,
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


class _Variants:
    """The knowledge of a store as each setup sees it; names are encoded once."""

    def __init__(self, store: KnowledgeStore, encoders: Encoders) -> None:
        self._store, self._encoders = store, encoders
        self._whole: dict[Texts, Knowledge] = {"descriptions": read_knowledge(store, encoders)}
        self._bounded: dict[Texts, Knowledge] = {}

    def of(self, setup: Setup, asked: np.ndarray) -> Knowledge:
        if setup.texts not in self._whole:
            names = [entry.taxon.common_name for entry in self._store.species(self._store.taxon_ids)]
            self._whole[setup.texts] = with_names(self._whole["descriptions"], names, self._encoders)
        known = self._whole[setup.texts]
        if setup.preset in {"text-only", "vr-rag-v1"} and not len(known.chunk_owners):
            raise UsageError(f"the preset {setup.preset} starts from texts, and {self._store.path} holds none")
        if setup.preset == "anchors-only" and not len(known.anchors.owners):
            raise UsageError(f"the preset anchors-only needs anchors, and {self._store.path} holds none")
        if setup.vocabulary == "bounded":
            if setup.texts not in self._bounded:
                self._bounded[setup.texts] = with_species(known, asked)
            known = self._bounded[setup.texts]
        return known if setup.encoders is None else with_encoders(known, setup.encoders)


def _rank(
    ids: Sequence[str], known: Knowledge, photos: EncodedPhotos, setup: Setup, profile: str
) -> list[PhotoRanking]:
    settings = Settings(m=setup.m, profile=profile)
    queries = photos.queries if setup.encoders is None else queries_of_encoders(photos.queries, setup.encoders)
    owners = known.chunk_owners
    return [
        PhotoRanking(
            image=str(position),
            taxon_ids=tuple(ids[i] for i in ranking.species),
            chunk_taxon_ids=tuple(ids[i] for i in owners[ranking.chunks]),
            n_without_anchors=ranking.n_without_anchors,
        )
        for position, ranking in zip(
            photos.positions, find_preset(setup.preset, settings)(known, queries, settings), strict=True
        )
    ]


def _genera(store: KnowledgeStore) -> dict[str, str]:
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
                    _by_species(np.subtract(values[i][measure], values[first][measure]).tolist(), labels),
                    n_resamples=n_resamples,
                    seed=seed,
                )
                for i in others
            ]
            for i, test, p in zip(others, tests, holm([test.p_value for test in tests]), strict=True):
                yield SetupTest(setup=setups[i], baseline=setups[first], measure=measure, test=test, p_corrected=p)


def _by_species(values: Iterable[float], labels: Sequence[str]) -> list[float]:
    groups: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    return [sum(group) / len(group) for group in groups.values()]
