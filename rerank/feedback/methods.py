"""Methods and settings of interactive retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import Ge, Gt

Denoising = Literal["captions", "summary", "keywords", "cot"]
FeedbackMethod = Literal[
    "cot", "summary", "keywords", "captions", "rocchio", "rocchio-then-text", "rocchio-and-text", "none"
]
N_TURNS: Final = 5
"""Turns of feedback after turn 0 (section 4.2)."""
ROCCHIO: Final = ("rocchio", "rocchio-then-text", "rocchio-and-text")
"""Methods that move the vector of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackSettings:
    """Settings of interactive retrieval; the constants are those of the paper."""

    k: Annotated[int, Ge(1)] = 20
    """Images shown in each turn."""
    captioned: Annotated[int, Ge(1)] = 2
    """Relevant images captioned in each turn, at most; chosen at random."""
    seed: Annotated[int, Ge(0)] = 0
    """Seed of that choice; the same for all methods."""
    prefix: str = "Video or image of"
    """Words before the keywords, for the method `keywords`."""
    max_tokens: Annotated[int, Ge(1)] | None = None
    """Tokens of the encoder after which a query is cut off: 77 in the paper. None compares longer queries in pieces."""
    text: Denoising = "cot"
    """Query of the methods `rocchio-then-text` and `rocchio-and-text`; `captions` needs no language model."""
    alpha: Annotated[float, Ge(0)] = 1.0
    """Rocchio: weight of the query."""
    beta: Annotated[float, Ge(0)] = 0.75
    """Rocchio: weight of the mean of the relevant images."""
    gamma: Annotated[float, Ge(0)] = 0.15
    """Rocchio: weight of the mean of the other images shown, subtracted."""
    rocchio_relevant: Literal["all", "sampled"] = "all"
    """Rocchio: all relevant images, or the captioned sample. The paper is silent; the equation has all."""
    rocchio_from: Literal["original", "previous"] = "original"
    """Rocchio: move the original query by the images of all turns, or the vector of the turn before by its own. The
    paper is silent; the first is the textbook's. The second found more in `benchmarks.feedback_birds`; the default was
    not chosen by these figures."""
    names: Literal["knowledge", "text"] = "knowledge"
    """Names of species in a query: search by reference photos and descriptions in the knowledge base too, or by the
    text alone, as in the paper."""
    phrases: Annotated[int, Gt(0)] = 4
    """Phrases in a caption that is made without a vision model."""


FEEDBACK_PRESETS: Final[Mapping[str, FeedbackSettings]] = {
    "default": FeedbackSettings(),
    "paper": FeedbackSettings(max_tokens=77, names="text"),  # the context of CLIP, section 3.4
}
"""Preset -> settings."""


def text_form(method: FeedbackMethod, settings: FeedbackSettings) -> Denoising | None:
    """Return how a method writes its queries; None if their text stays the original."""
    if method in ("rocchio-then-text", "rocchio-and-text"):
        return settings.text
    return method if method in ("captions", "summary", "keywords", "cot") else None


def needs_text_model(method: FeedbackMethod, settings: FeedbackSettings) -> bool:
    """Return whether a language model denoises the queries of a method."""
    return text_form(method, settings) in ("summary", "keywords", "cot")
