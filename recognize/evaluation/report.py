"""Accuracy of a recognizer on labelled photos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from data.metrics import N_RESAMPLES
from data.metrics.ranked import Measured, hit, measure_all, rank_of, reciprocal_rank
from recognize.photos import ImageSource
from recognize.recognizer import PhotoRanking, Recognizer


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
