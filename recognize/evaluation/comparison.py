"""Accuracy on labelled photos: of a recognizer, and of setups (preset, vocabulary, anchors) on the same photos."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from data.arrays import IntArray
from data.contracts import Encoders, KnowledgeStore
from data.errors import MissingContents, UsageError
from data.frames import Columns, frame_of
from data.metrics import N_RESAMPLES
from data.metrics.ranked import (
    Measured,
    PairedTest,
    hit,
    holm,
    measure_all,
    paired_test,
    rank_of,
    reciprocal_rank,
)
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.photos import ImageSource
from recognize.recognizer import PhotoRanking, Recognizer, name_species
from recognize.scoring.knowledge import Knowledge, read_knowledge, with_anchors, with_species
from recognize.scoring.presets import Settings, check_contents, check_preset, score
from recognize.settings import Vocabulary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesReport:
    """The figures of one run. `data.metrics.ranked.DEFINITIONS` defines the measures."""

    n: int
    """Readable photos, which were measured."""
    n_species: int
    """Species among their labels; micro figures are means over photos, macro figures over these species."""
    n_unreadable: int
    """Skipped photos that were unreadable."""
    n_without_anchors: float
    """Mean number of species without anchors in the pool of a photo: their visual score counts as 0."""
    measures: tuple[Measured, ...]
    """top-1, top-5, hit@30, MRR@1, MRR@5, MRR@10; for presets that rank chunks also `chunk MRR@1`, `@5`, `@10`."""

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


def evaluate(
    recognizer: Recognizer, photos: Iterable[tuple[ImageSource, str]], *, n_resamples: int = N_RESAMPLES
) -> SpeciesReport:
    """Return the figures of a recognizer over labelled photos.

    A species beyond the preset's pool, or absent from the knowledge base, counts as not found.

    Args:
        recognizer: the recognizer to measure; its `k` does not matter.
        photos: `(photo, taxon id)`.
        n_resamples: number of bootstrap resamples over species.

    Raises:
        ValueError: if no photo could be read.
    """
    labels: list[str] = []

    def images() -> Iterator[ImageSource]:
        for image, label in photos:
            labels.append(label)
            yield image

    rankings = list(recognizer.rank(images()))
    read = [(ranking, label) for ranking, label in zip(rankings, labels, strict=True) if ranking.error is None]
    if not read:
        raise ValueError(f"expected at least one photo that can be read, got {len(rankings)} that cannot")
    labels = [label for _, label in read]
    values = values_of([ranking for ranking, _ in read], labels)
    return SpeciesReport(
        n=len(read),
        n_species=len(set(labels)),
        n_unreadable=len(rankings) - len(read),
        n_without_anchors=sum(ranking.n_without_anchors for ranking, _ in read) / len(read),
        measures=measure_all(values, labels, n_resamples=n_resamples),
    )


def values_of(rankings: Sequence[PhotoRanking], labels: Sequence[str]) -> dict[str, list[float]]:
    """Return measure -> value of each photo; the measures on chunks only if a ranking has chunks."""
    ranks = [rank_of(ranking.taxon_ids, label) for ranking, label in zip(rankings, labels, strict=True)]
    values = {
        "top-1": [hit(rank, 1) for rank in ranks],
        "top-5": [hit(rank, 5) for rank in ranks],
        "hit@30": [hit(rank, 30) for rank in ranks],
        **{f"MRR@{k}": [reciprocal_rank(rank, k) for rank in ranks] for k in (1, 5, 10)},
    }
    if any(ranking.chunk_taxon_ids for ranking in rankings):
        chunk_ranks = [rank_of(ranking.chunk_taxon_ids, label) for ranking, label in zip(rankings, labels, strict=True)]
        values |= {f"chunk MRR@{k}": [reciprocal_rank(rank, k) for rank in chunk_ranks] for k in (1, 5, 10)}
    return values


KB_ANCHORS: Final = "kb"
WITHOUT_ANCHORS: Final = ("text-only", "direct-rag")
"""Presets that use no reference photos."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One setup of ranking the species of a knowledge base."""

    preset: str
    vocabulary: Vocabulary = "open"
    anchors: str = KB_ANCHORS
    """`kb` for the anchors of the knowledge base, or the name of an anchor set."""

    @property
    def name(self) -> str:
        """The preset, with the anchors where they are not those of the knowledge base."""
        has_own = self.anchors == KB_ANCHORS or self.preset in WITHOUT_ANCHORS
        return self.preset if has_own else f"{self.preset}, anchors {self.anchors}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSet:
    """Photos that replace the anchors of a knowledge base."""

    covered: tuple[str, ...]
    """Taxon ids of species that lose their anchors, with or without a photo in their place."""
    photos: EncodedPhotos
    labels: tuple[str, ...]
    """The taxon id of each readable photo."""


class Variants:
    """The knowledge of a store under each setup; each is computed once."""

    def __init__(
        self,
        store: KnowledgeStore,
        knowledge: Knowledge,
        labels: Sequence[str],
        anchor_sets: Mapping[str, AnchorSet] | None = None,
    ) -> None:
        """Set up; `labels` are the taxon ids of the photos, which define the bounded vocabulary."""
        self._path, self._anchor_sets = store.path, anchor_sets or {}
        self._at = {taxon_id: i for i, taxon_id in enumerate(store.taxon_ids)}
        self.photo_species: IntArray = self._positions(labels)
        self._cache: dict[tuple[str, Vocabulary], Knowledge] = {(KB_ANCHORS, "open"): knowledge}

    def of(self, setup: Setup) -> Knowledge:
        """Return the knowledge that a setup compares photos with.

        Raises:
            UsageError: if the knowledge base lacks what the preset needs.
        """
        known = self._knowledge(setup.anchors, setup.vocabulary)
        check_contents(setup.preset, known, self._path)
        return known

    def _knowledge(self, anchors: str, vocabulary: Vocabulary) -> Knowledge:
        key = anchors, vocabulary
        if key not in self._cache:
            self._cache[key] = (
                with_species(self._knowledge(anchors, "open"), self.photo_species)
                if vocabulary == "bounded"
                else self._with_anchors(self._anchor_sets[anchors])
            )
        return self._cache[key]

    def _with_anchors(self, given: AnchorSet) -> Knowledge:
        owners = np.array([self._at.get(label, -1) for label in given.labels], dtype=np.intp)
        photos = given.photos.only(owners >= 0).queries
        known = self._knowledge(KB_ANCHORS, "open")
        return with_anchors(known, self._positions(given.covered), owners[owners >= 0], photos)

    def _positions(self, taxon_ids: Iterable[str]) -> IntArray:
        """Return the positions of the species in the store, ascending, each once."""
        return np.array(sorted({self._at[each] for each in taxon_ids if each in self._at}), dtype=np.intp)


_log = logging.getLogger(__name__)

DEFINITIONS: Final[Mapping[str, str]] = {
    "top-k": "share of photos with the right species among the first k; top-1 is the accuracy and equals MRR@1",
    "hit@30": "top-k with k = 30, the upper bound of a re-ranker of 30",
    "MRR@k": "mean of 1 / rank of the right species, 0 beyond rank k",
    "chunk MRR@k": "MRR over ranked chunks, several per species: the paper's MRR",
    "genus": "share of photos with the right genus in first place",
    "micro": "mean over photos",
    "macro": "mean over species of the mean over a species' photos",
    "interval": "95 %, bootstrap over species, because photos of one species are alike",
    "difference": "between two rows, species by species; p from random sign flips over species, corrected for the "
    "number of tests (Holm)",
    "anchors": "reference photos. kb: of the knowledge base; train: up to three training photos per species of the "
    "dataset instead; wiki: only the lead image of the species' article, for datasets that include it",
    "open": "any species of the knowledge base can be the answer",
    "bounded": "only species of the measured photos can be the answer",
}
"""Definitions of the terms in reports."""

TESTED: Final = ("top-1", "MRR@10")
COLUMNS: Final[Columns] = {
    **dict.fromkeys(("vocabulary", "preset", "encoders", "measure"), "text"),
    **dict.fromkeys(("n_photos", "n_species", "n_searched"), "integer"),
    **dict.fromkeys(("micro", "micro_low", "micro_high", "macro", "macro_low", "macro_high"), "number"),
    "baseline": "text",
    **dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"), "number"),
    "anchors": "text",
}
"""Columns of `SpeciesEvaluation.to_frame`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFigures:
    """The figures of one setup."""

    setup: Setup
    encoder_names: tuple[str, ...]
    n_searched: int
    """Species among the possible answers."""
    n_without_anchors: float
    """Mean number of species without anchors in the pool of a photo."""
    measures: tuple[Measured, ...]

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupTest:
    """A paired test over species: this setup minus the first one with the same vocabulary."""

    setup: Setup
    baseline: Setup
    measure: str
    test: PairedTest
    p_corrected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeciesEvaluation:
    """Figures on the same photos, in the order of the setups."""

    n: int
    n_species: int
    figures: tuple[SetupFigures, ...]
    tests: tuple[SetupTest, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a row with the `COLUMNS` for each setup and measure; figures are from 0 to 1."""
        tests = {(test.setup, test.measure): test for test in self.tests}
        rows = []
        for of in self.figures:
            for found in of.measures:
                row = {
                    **asdict(of.setup), "encoders": "+".join(of.encoder_names), "measure": found.name,
                    "n_photos": self.n, "n_species": self.n_species, "n_searched": of.n_searched,
                    **_bounded("micro", found.micro, found.micro_interval),
                    **_bounded("macro", found.macro, found.macro_interval),
                }  # fmt: skip
                if (test := tests.get((of.setup, found.name))) is not None:
                    row |= _bounded("difference", test.test.difference, test.test.interval)
                    row |= {"baseline": test.baseline.name, "p": test.test.p_value, "p_holm": test.p_corrected}
                rows.append(row)
        return frame_of(rows, COLUMNS)


def _bounded(name: str, value: float, interval: tuple[float, float]) -> dict[str, float]:
    return {name: value, f"{name}_low": interval[0], f"{name}_high": interval[1]}


def compare_setups(
    store: KnowledgeStore,
    encoders: Encoders,
    photos: EncodedPhotos,
    labels: Sequence[str],
    setups: Sequence[Setup],
    *,
    anchor_sets: Mapping[str, AnchorSet] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> SpeciesEvaluation:
    """Return the figures of each setup on the same photos, and paired tests against the first of its vocabulary.

    Presets for which the knowledge base lacks descriptions or reference photos are left out with a warning.

    `labels` are the taxon ids of the photos, at least one; one outside the store counts as not found.

    Raises:
        UsageError: if there are no photos, or the knowledge base lacks what every preset needs.
    """
    if not len(photos) or len(labels) != len(photos):
        raise UsageError(f"Expected a label for each of at least one photo, got {len(labels)} for {len(photos)}")
    genus_of = genera(store)
    variants = Variants(store, read_knowledge(store, encoders), labels, anchor_sets)
    setups = _possible(setups, variants)
    figures: list[SetupFigures] = []
    values: list[dict[str, list[float]]] = []
    for setup in setups:
        known = variants.of(setup)
        settings = Settings(profile=encoders.profile)
        check_preset(setup.preset, settings)
        rankings = [
            name_species(ranking, known, store.taxon_ids)
            for ranking in score(setup.preset, known, photos.queries, settings)
        ]
        of_photos = values_of_species(rankings, labels, genus_of)
        values.append(of_photos)
        figures.append(
            SetupFigures(
                setup=setup,
                encoder_names=known.names,
                n_searched=len(variants.photo_species) if setup.vocabulary == "bounded" else known.n_species,
                n_without_anchors=sum(ranking.n_without_anchors for ranking in rankings) / len(rankings),
                measures=measure_all(of_photos, labels, n_resamples=n_resamples, seed=seed),
            )
        )
    tests: list[SetupTest] = []
    for vocabulary in dict.fromkeys(setup.vocabulary for setup in setups):
        rows = [i for i, setup in enumerate(setups) if setup.vocabulary == vocabulary]
        baseline, *others = (setups[i] for i in rows)
        for measure in TESTED:
            found = paired_tests([values[i][measure] for i in rows], labels, n_resamples=n_resamples, seed=seed)
            tests += [
                SetupTest(setup=setup, baseline=baseline, measure=measure, test=test, p_corrected=p)
                for setup, (test, p) in zip(others, found, strict=True)
            ]
    return SpeciesEvaluation(n=len(labels), n_species=len(set(labels)), figures=tuple(figures), tests=tuple(tests))


def _possible(setups: Sequence[Setup], variants: Variants) -> list[Setup]:
    """Return the setups with presets that find what they need, and warn of the others.

    Raises:
        UsageError: if there is none.
    """
    kept: list[Setup] = []
    lacking: dict[str, UsageError] = {}
    for setup in setups:
        try:
            variants.of(setup)
        except MissingContents as error:
            lacking.setdefault(str(error), error)
        else:
            kept.append(setup)
    if not kept:
        raise next(iter(lacking.values()))
    for message in lacking:
        _log.warning("%s It is left out.", message)
    return kept


def values_of_species(
    rankings: Sequence[PhotoRanking], labels: Sequence[str], genus_of: Mapping[str, str]
) -> dict[str, list[float]]:
    """Return measure -> value of each photo: those of `values_of`, and `genus`."""
    is_right = [
        float(bool(ranking.taxon_ids) and genus_of[ranking.taxon_ids[0]] == genus_of.get(label, label))
        for ranking, label in zip(rankings, labels, strict=True)
    ]
    return {**values_of(rankings, labels), "genus": is_right}


def genera(store: KnowledgeStore) -> dict[str, str]:
    """Return the genus of each species of the store."""
    taxa = [entry.taxon for entry in store.species(store.taxon_ids)]
    return {taxon.taxon_id: taxon.lineage.get("genus") or taxon.scientific_name.split()[0] for taxon in taxa}


def paired_tests(
    rows: Sequence[Sequence[float]], labels: Sequence[str], *, n_resamples: int, seed: int
) -> list[tuple[PairedTest, float]]:
    """Return the paired test over species of each row of photo values against the first row, with Holm's p-value."""
    tests = [
        paired_test(_by_species(np.subtract(row, rows[0]).tolist(), labels), n_resamples=n_resamples, seed=seed)
        for row in rows[1:]
    ]
    return list(zip(tests, holm([test.p_value for test in tests]), strict=True))


def _by_species(values: Sequence[float], labels: Sequence[str]) -> list[float]:
    """Return the mean value of each species' photos, in order of first appearance."""
    groups: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    return [sum(group) / len(group) for group in groups.values()]
