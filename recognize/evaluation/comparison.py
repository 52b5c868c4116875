"""Comparison of setups on photos that are encoded once: the tables of VR-RAG for your own data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.contracts import Encoders, KnowledgeStore
from data.errors import UsageError
from data.metrics.ranked import Measured, measure_all
from data.metrics.significance import PairedTest, holm, paired_test
from recognize.evaluation.encoded_photos import EncodedPhotos
from recognize.evaluation.report import values_of
from recognize.evaluation.setups import AnchorSet, Setup, Variants, rank_setup
from recognize.recognizer import PhotoRanking
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import Ranking

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
"""Definitions of the words in the tables, as reports print them."""

TESTED: Final = ("top-1", "MRR@10")


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
    """All figures on the same photos, in the order of the setups."""

    n: int
    n_species: int
    figures: tuple[SetupFigures, ...]
    tests: tuple[SetupTest, ...]


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
    """Return the figures of each setup on the same photos, and paired tests against the first of its vocabulary.

    Args:
        store: the knowledge base.
        encoders: the encoders of the knowledge base and the photos.
        photos: at least one.
        labels: the taxon id of each photo; one outside the store counts as not found.
        setups: each once.
        anchor_sets: name -> anchor set of the setups.
        n_resamples: number of bootstrap and randomisation resamples.
        seed: random seed of both.

    Raises:
        UsageError: if there are no photos, or the knowledge base lacks what a preset needs.
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
    """Yield the tests; p-values of one measure and vocabulary are corrected together."""
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
    """Return the mean value of each species' photos, in order of first appearance."""
    groups: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(label, []).append(value)
    return [sum(group) / len(group) for group in groups.values()]
