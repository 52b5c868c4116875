"""Request for an evaluation of runs in files: inputs, measures, and rules for ties and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.benchmarks.retrieval.benchmark import DataSet
from data.metrics import N_TEST_RESAMPLES

TiePolicy = Literal["first-stage", "expected", "worst", "best", "trec", "inquire"]
Strata = Literal["auto", "inquire", "none"]

TIE_POLICIES: Final[Mapping[TiePolicy, str]] = {
    "first-stage": "equal scores keep first-stage order, or the order of the ranks where a file has no first stage",
    "expected": "mean over all orders of equal scores",
    "worst": "relevant images come last among equal scores",
    "best": "relevant images come first among equal scores",
    "trec": "equal scores by falling image id, as in trec_eval",
    "inquire": "as in INQUIRE's code: AP with the precision at the end of each group of equal scores, nDCG averaged "
    "over their orders, MRR with the last of them first; other measures in first-stage order",
}
"""Rule for equal scores -> its effect."""
CUTOFFS: Final = (1, 10, 50, 100)
"""The k of hit@k, P@k, R@k, AP@k and nDCG@k; tables leave out 1."""
SUBSET_CUTOFFS: Final = (1, 2, 3)
"""The k of R_subset@k."""
PUBLISHED: Final[Mapping[DataSet, tuple[str, ...]]] = {
    "Flickr30K": ("R@1", "R@5", "R@10"),
    "COCO": ("R@1", "R@5", "R@10"),
    "CIRR": ("R@1", "R@5", "R@10", "R@50", *(f"R_subset@{k}" for k in SUBSET_CUTOFFS)),
    "CIRCO": ("mAP@5", "mAP@10", "mAP@25", "mAP@50"),
    "VisDial": ("Hits@10", "R@10"),
    "MSR-VTT": tuple(f"R@{k}" for k in (20, 40, 60, 80, 100, 120)),
    **dict.fromkeys(
        ("Visual-RAG", "Visual-RAG-ME", "INQUIRE-Rerank-Hard", "COCO-Hard"),
        tuple(f"{name}@{k}" for name in ("ndcg_visret", "hit", "R", "nDCG") for k in (1, 10, 30)),
    ),
}
"""Data set -> the measures of its tables."""
ROUND: Final = "round"
"""Label of the queries of dialogues: the number of answers so far."""
ASPECT: Final = "aspect"
"""Label of the queries of CIRCO: their semantic aspects, of which a query has several."""
AXES: Final = ("supercategory", "lingo")
"""Labels of INQUIRE's queries: supercategory, and whether they contain technical terms."""
FIRST_STAGE: Final = "first stage"
"""Name of the run with the first-stage order of the jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """An evaluation of runs against jobs or qrels."""

    runs: tuple[str, ...] = ()
    """Files of runs, `FILE` or `NAME=FILE`."""
    jobs: Path | None = None
    """Jobs with `relevant`, of which the first stage is measured too; or the file of queries of a data set."""
    images: Path | None = None
    """Folder of the frames of MSR-VTT; None: found near its file."""
    split: str | None = None
    """`test` or `validation` of INQUIRE-Rerank as published."""
    qrels: Path | None = None
    """Relevance in TREC format, instead of jobs."""
    cutoffs: tuple[int, ...] = ()
    """The k of the measures; empty: those of the data set, else 10, 50 and 100."""
    measures: tuple[str, ...] = ()
    """Measures in the tables; empty: those of the data set, else a usual selection."""
    ties: TiePolicy = "first-stage"
    baseline: str | None = None
    """Name of the run to compare with; None: the first stage, else the first run."""
    strata: Strata = "auto"
    """`auto` recognises INQUIRE's queries by their text, `inquire` by their number too."""
    without: tuple[str, ...] = ()
    """Labels of queries to leave out."""
    n_resamples: int = N_TEST_RESAMPLES
    """Bootstrap and randomisation resamples."""
    seed: int = 0

    def cutoffs_for(self, data_set: DataSet | None) -> tuple[int, ...]:
        """Return the k of the measures."""
        names = PUBLISHED[data_set] if data_set else ()
        published = [int(name.partition("@")[2]) for name in names if not name.startswith("R_subset")]
        return tuple(sorted(set(self.cutoffs or published or CUTOFFS[1:])))

    def shown_for(self, data_set: DataSet | None) -> tuple[str, ...]:
        """Return the measures in the tables; the first one is tested and split by strata."""
        if self.measures:
            return self.measures
        cutoffs = self.cutoffs_for(data_set)
        low, high = min(cutoffs), max(cutoffs)
        if data_set is not None:
            names = dict.fromkeys(name.partition("@")[0] for name in PUBLISHED[data_set])
            return tuple(f"{name}@{k}" for name in names for k in (SUBSET_CUTOFFS if name == "R_subset" else cutoffs))
        return (f"AP@{high} (INQUIRE)", f"AP@{high}", f"nDCG@{high}", "MRR", f"P@{low}", f"R@{low}")
