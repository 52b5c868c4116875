"""Settings of query decomposition: the paper's constants, its ablations, and a default that costs less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

MAX_UNSCORED: Final = 0.2
"""Default of `max_unscored`; a setting that allows more does not hide them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeSettings:
    """Settings of query decomposition.

    The four modes of the paper's ablation are (a) `direct` without `context`, (b) no `context`, (c) `direct`, (d) the
    full method.

    Source:
        Divide and Conquer, Figure 3 (a) to (d).
    """

    direct: bool = False
    """Ask the query itself as one question instead of decomposing it."""
    context: bool = True
    """Add background on the words of the query to the prompts."""
    chain: bool | None = None
    """Show the model the earlier questions and answers with each question. None: only with context."""
    together: bool = True
    """Ask all questions on a photo in one call where the judge supports it; applies to chained questions only."""
    stop_below: float | None = None
    """Skip the remaining questions on a photo once a probability of yes is below this, 0 to 1; skipped questions count
    as no. None: 0.05 for a vision model, 0 for encoders, which cost nothing to ask."""
    unscored: Literal["zero", "mean"] = "zero"
    """Value of a missing answer: 0, as in the paper, or the mean of that question over the query's other photos."""
    max_unscored: float = MAX_UNSCORED
    """Share of missing answers, 0 to 1, above which a query fails; 1, as in the paper, never."""
    questions_by: Literal["model", "rule"] | None = None
    """Author of the questions: a chat model or a plain rule. None: a model with a vision judge, the rule otherwise."""

    def __post_init__(self) -> None:
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise ValueError(f"stop_below: expected a number from 0 to 1, got {self.stop_below}")
        if not 0 <= self.max_unscored <= 1:
            raise ValueError(f"max_unscored: expected a number from 0 to 1, got {self.max_unscored}")

    @property
    def is_chained(self) -> bool:
        """Whether a question comes with the earlier answers."""
        return self.context and not self.direct if self.chain is None else self.chain


STOP_BELOW: Final = 0.05
"""Default of `stop_below` where every answer costs money; later answers seldom lift a photo with a sure no."""
