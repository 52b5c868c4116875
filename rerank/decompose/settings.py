"""How decompose asks: the four modes of the paper's ablation, its constants, and a default that costs less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

Mode = Literal["direct", "questions", "context", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecomposeSettings:
    """How a query is taken apart and its photos are scored."""

    asks_questions: bool = True
    """Whether the query is taken apart, or asked as it is."""
    uses_context: bool = True
    is_chained: bool = True
    """Whether a question comes with the earlier questions and their answers."""
    is_together: bool = False
    """Whether one call answers all questions on a photo, where the judge can; chained questions alone, which are
    answered in the light of each other anyway."""
    stop_below: float | None = None
    """A probability of yes below which the questions after it are not asked: they count as no."""
    unscored: Literal["zero", "mean"] = "zero"
    """What a question counts that was not answered: nothing, as in the paper, or the mean of its other photos."""
    max_unscored: float = 0.2
    """The share of unanswered questions above which a query fails."""
    is_routed: bool = False
    """Whether queries about appearance are asked as they are, with context; see `rerank.decompose.routing`."""

    def __post_init__(self) -> None:
        if self.stop_below is not None and not 0 <= self.stop_below <= 1:
            raise ValueError(f"expected stop_below between 0 and 1, got {self.stop_below}")
        if not 0 <= self.max_unscored <= 1:
            raise ValueError(f"expected max_unscored between 0 and 1, got {self.max_unscored}")


PRESETS: Final[dict[str, DecomposeSettings]] = {
    # One call a photo instead of three, and most of the cost is the photo. Judges that answer one by one stop at a sure
    # no: what comes after it seldom lifts a photo above one that passed.
    "default": DecomposeSettings(is_together=True, stop_below=0.05),
    "paper": DecomposeSettings(),
}
"""Preset -> settings of the full method."""


def settings_of(preset: str, mode: Mode = "full") -> DecomposeSettings:
    """Return a preset in one of the four modes of the paper's ablation.

    `direct`: the query as one question. `questions`: answered independently, without context. `context`: the one
    question with context. `full`: questions with context, each with the answers before it.

    Source:
        Divide and Conquer, Figure 3 (a) to (d).

    Example:
        >>> settings = settings_of("paper", "questions")
        >>> settings.asks_questions, settings.uses_context, settings.is_chained
        (True, False, False)
    """
    if preset not in PRESETS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}, got {preset!r}")
    asks, context = mode in ("questions", "full"), mode in ("context", "full")
    return replace(PRESETS[preset], asks_questions=asks, uses_context=context, is_chained=mode == "full")
