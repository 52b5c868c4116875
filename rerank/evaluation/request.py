"""Request for an evaluation of runs in files: inputs, measures, and rules for ties and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

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
    """Jobs with `relevant`; their first stage is measured too."""
    split: str | None = None
    """`test` or `validation` of INQUIRE-Rerank as published."""
    qrels: Path | None = None
    """Relevance in TREC format, instead of jobs."""
    cutoffs: tuple[int, ...] = CUTOFFS[1:]
    measures: tuple[str, ...] = ()
    """Measures in the tables; empty: a usual selection."""
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

    @property
    def shown(self) -> tuple[str, ...]:
        """The measures in the tables; the first one is tested and split by strata."""
        if self.measures:
            return self.measures
        low, high = min(self.cutoffs), max(self.cutoffs)
        return (f"AP@{high} (INQUIRE)", f"AP@{high}", f"nDCG@{high}", "MRR", f"P@{low}", f"R@{low}")
