"""Settings of VisRet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fusion = Literal["reciprocal-rank", "mean-similarity", "with-text"]
PromptName = Literal["auto", "feature", "scene"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisretSettings:
    """Settings of search by drawings."""

    prompt: PromptName = "auto"
    """Prompt of the instruction: `feature` for questions about a feature, `scene` for descriptions of a photo; `auto`
    takes `feature` for queries that end with a question mark."""
    template: str = "Generate a small image of the {instruction}"
    """Prompt of the image generator, with `{instruction}`."""
    images: int = 3
    """Drawings of a query, all from one instruction."""
    sample: int | None = None
    """Rank by this drawing alone, from 1, instead of all together."""
    fusion: Fusion = "reciprocal-rank"
    """`reciprocal-rank`; `mean-similarity` of the drawings; or `with-text`: half by the text of the query."""
    damping: float = 1.0
    """Lambda of reciprocal rank fusion: 1 in the paper, 0 by default in the authors' code, 60 in other work."""

    def __post_init__(self) -> None:
        if self.images < 1 or not self.damping >= 0:
            raise ValueError(
                f"expected images >= 1 and damping >= 0, got {self.images} images and damping {self.damping}"
            )
        if self.sample is not None and not 1 <= self.sample <= self.images:
            raise ValueError(f"sample: expected 1 to {self.images}, got {self.sample}")
        if "{instruction}" not in self.template:
            raise ValueError("template: expected a text with {instruction}")
