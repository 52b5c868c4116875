"""Settings of the vision judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from data.images import MAX_SIDE

WithoutLogprobs = Literal["stated", "samples", "text"]
Spelling = Literal["merged", "exact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionSettings:
    """Settings of a vision model that answers yes or no.

    Reasoning is off by default. The paper's text has the model explain itself, but its Table 2 counts two tokens an
    answer, so its cost is without reasoning. Reasoning costs about fifty times the output, and after it the answer
    token is almost certain, which leaves little to rank by.
    """

    reasoning: bool = False
    """Have the model write its reasons before each answer."""
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
