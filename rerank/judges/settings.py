"""Settings of the vision judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from data.images import MAX_SIDE

WithoutLogprobs = Literal["stated", "samples", "text"]
Spelling = Literal["merged", "exact"]
Reasons = Literal["none", "before", "after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionSettings:
    """Settings of a vision model that answers yes or no.

    No reasons by default. The paper's text has each answer "accompanied by" an explanation, in no stated order, but its
    Table 2 counts two tokens an answer, so its cost is without. Reasons cost about fifty times the output. Before the
    answer they make its token almost certain, which leaves little to rank by; after it they change no probability.
    """

    reasons: Reasons = "none"
    """Reasons that the model writes with each answer: none, `before` it, or `after` it."""
    samples: int = 1
    """Times each question is asked, an odd number: the majority answers, the probability is the mean."""
    without_logprobs: WithoutLogprobs = "stated"
    """Source of the probability where the server returns no log-probabilities: a number that the model states, the
    share of yes in `fallback_samples` replies, or the word itself as 0 or 1."""
    fallback_samples: int = 5
    """Replies for `without_logprobs = "samples"`."""
    spelling: Spelling = "merged"
    """Tokens that count as yes and no: all spellings, or `Yes` and `No` exactly, as in the paper."""
    max_side: int = MAX_SIDE
    """Longest side of the photo that is sent, in pixels."""

    def __post_init__(self) -> None:
        if self.samples < 1 or self.samples % 2 == 0:
            raise ValueError(f"samples: expected an odd number, so that there is a majority, got {self.samples}")
        if self.fallback_samples < 1 or self.max_side < 1:
            raise ValueError(
                f"fallback_samples and max_side: expected at least 1, got {self.fallback_samples} and {self.max_side}"
            )
