"""Settings of VisRet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Fusion = Literal["reciprocal-rank", "mean-similarity", "with-text"]
PromptName = Literal["auto", "feature", "entity", "scene"]
_ARTICLE: Final = re.compile(r"(?:an?|the|one|two|three|four|five|some|several|\d+)\b", re.IGNORECASE)
GeneratorName = Literal["endpoint", "folder", "anchors", "diffusers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisretSettings:
    """Settings of search by drawings."""

    prompt: PromptName = "auto"
    """Prompt of the instruction: `feature` for questions about a feature, `entity` for those about two species, `scene`
    for descriptions of a photo; `auto` takes `entity` for queries with an entity, `feature` for other questions."""
    template: str = "Generate a small image of the {instruction}"
    """Prompt of the image generator, with `{instruction}`."""
    tidy: bool = True
    """Take the first paragraph of the instruction alone, without label, quotation marks, capital article and full stop,
    and leave out "the" of the template before an article or a number; false draws the whole reply, like the authors'
    code."""
    generator: GeneratorName | None = None
    """Origin of the drawings: `endpoint` ([llm.image]), `folder` (`drawings`), `anchors` of the species that the query
    names, or `diffusers` on this machine. Default: `folder` if `drawings` is set, else `endpoint`."""
    drawings: Path | None = None
    """Folder of drawings, named by query id: `ID.png`, or `ID-1.png`, `ID-2.png`, ..."""
    model: str = "stabilityai/stable-diffusion-3.5-large"
    """Model of `diffusers`: its name on the hub, or a folder."""
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the pipeline of `diffusers`, such as {"num_inference_steps": 28}."""
    seed: int = 0
    """Random seed of the first drawing of `diffusers`; the others follow it."""
    images: int = 3
    """Drawings of a query, all from one instruction."""
    sample: int | None = None
    """Rank by this drawing alone, from 1, instead of all together."""
    fusion: Fusion = "reciprocal-rank"
    """`reciprocal-rank`; `mean-similarity` of the drawings; or `with-text`: half by the text of the query."""
    damping: float = 1.0
    """Lambda of reciprocal rank fusion: 1 in the paper, 0 by default in the authors' code, 60 in other work."""

    def prompt_of(self, instruction: str) -> str:
        """Return the prompt of the image generator.

        Example:
            >>> VisretSettings().prompt_of("legs of a redshank"), VisretSettings().prompt_of("a wren")
            ('Generate a small image of the legs of a redshank', 'Generate a small image of a wren')
        """
        has_article = self.tidy and _ARTICLE.match(instruction)
        template = self.template.replace("the {instruction}", "{instruction}") if has_article else self.template
        return template.replace("{instruction}", instruction)

    def __post_init__(self) -> None:
        if self.images < 1 or not self.damping >= 0:
            raise ValueError(
                f"expected images >= 1 and damping >= 0, got {self.images} images and damping {self.damping}"
            )
        if self.sample is not None and not 1 <= self.sample <= self.images:
            raise ValueError(f"sample: expected 1 to {self.images}, got {self.sample}")
        if "{instruction}" not in self.template:
            raise ValueError(f"template: expected {{instruction}} in it, got {self.template!r}")
        if (self.drawings is not None) != (self.origin == "folder"):
            raise ValueError("expected drawings=DIR together with generator=folder, and with no other generator")

    @property
    def origin(self) -> GeneratorName:
        """The generator in force."""
        return self.generator or ("endpoint" if self.drawings is None else "folder")

    @property
    def needs_instruction(self) -> bool:
        """Whether the generator draws from an instruction."""
        return self.origin in ("endpoint", "diffusers")
