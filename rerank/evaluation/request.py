"""Request for an evaluation of runs in files: inputs, measures, and rules for ties and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from data.metrics import N_TEST_RESAMPLES

TiePolicy = Literal["first-stage", "expected", "worst", "best", "trec", "inquire"]

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
HITS: Final = ("Hits@10", "R@10")
"""Measures in the tables of dialogues."""
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
    """Jobs with `relevant`, of which the first stage is measured too; or a query set."""
    qrels: Path | None = None
    """Relevance in TREC format, instead of jobs."""
    cutoffs: tuple[int, ...] = ()
    """The k of the measures; empty: those of the query set, else 10, 50 and 100."""
    measures: tuple[str, ...] = ()
    """Measures in the tables; empty: those of the query set, else a usual selection."""
    ties: TiePolicy = "first-stage"
    baseline: str | None = None
    """Name of the run to compare with; None: the first stage, else the first run."""
    without: tuple[str, ...] = ()
    """Labels of queries to leave out."""
    n_resamples: int = N_TEST_RESAMPLES
    """Bootstrap and randomisation resamples."""
    seed: int = 0

    def cutoffs_for(self, own: Sequence[str]) -> tuple[int, ...]:
        """Return the k of the measures; `own` are the measures of the query set."""
        of_set = [int(name.partition("@")[2]) for name in own if not name.startswith("R_subset")]
        return tuple(sorted(set(self.cutoffs or of_set or CUTOFFS[1:])))

    def shown_for(self, own: Sequence[str]) -> tuple[str, ...]:
        """Return the measures in the tables; the first one is tested and split by labels."""
        if self.measures:
            return self.measures
        cutoffs = self.cutoffs_for(own)
        low, high = min(cutoffs), max(cutoffs)
        if own:
            names = dict.fromkeys(name.partition("@")[0] for name in own)
            return tuple(f"{name}@{k}" for name in names for k in (SUBSET_CUTOFFS if name == "R_subset" else cutoffs))
        return (f"AP@{high} (INQUIRE)", f"AP@{high}", f"nDCG@{high}", "MRR", f"P@{low}", f"R@{low}")
