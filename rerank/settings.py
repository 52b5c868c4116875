"""Settings of all re-ranking methods, by preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from data.errors import UsageError
from rerank.captions.settings import CaptionSettings
from rerank.cotrr.settings import CotrrSettings
from rerank.decompose.settings import DecomposeSettings
from rerank.judges.settings import VisionSettings
from rerank.visret.settings import VisretSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """The settings of each method; a method reads its own."""

    decompose: DecomposeSettings = field(default_factory=DecomposeSettings)
    vision: VisionSettings = field(default_factory=VisionSettings)
    cotrr: CotrrSettings = field(default_factory=CotrrSettings)
    visret: VisretSettings = field(default_factory=VisretSettings)
    captions: CaptionSettings = field(default_factory=CaptionSettings)
    depth: int | None = None
    """Images of the first stage that are re-ranked; the others stay below in their order. None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Settings of jobs: where candidates come from."""

    first_stage: Path | None = None
    """A run (TREC, or JSON lines of `kb rerank`) with the images to re-rank; queries that it lacks are left out."""
    within_subset: bool = False
    """Rank the small set of images of each query of a query set alone, for R_subset@k of CIRR."""


PRESETS: Final[Mapping[str, RerankSettings]] = {
    # CoTRR: a second ranking in reverse order costs one more call on notes and cancels most of the position bias.
    "default": RerankSettings(),
    "paper": RerankSettings(
        decompose=DecomposeSettings(together=False, stop_below=0.0, max_unscored=1.0),
        vision=VisionSettings(spelling="exact"),
        # One ranking of all candidates; the text names no number of them: --depth sets it.
        cotrr=CotrrSettings(orders=1, window=100),
        visret=VisretSettings(tidy=False),  # the whole reply; an article in it gives "of the a wren"
    ),
    # The published code of CoTRR's authors: the first ten in one message, three tries, no temperature.
    "authors": RerankSettings(
        cotrr=CotrrSettings(
            form="one-call",
            orders=1,
            top=10,
            window=100,
            photo_messages=False,
            replies="authors",
            tries=3,
            temperature=None,
        ),
        depth=10,
    ),
}
"""Preset -> settings; `authors` is one of cotrr alone.

The setting `cotrr.stages` selects models 2 to 5 of Wu et al., 2025 (arXiv 2509.14746), Table 3.
"""


def preset_settings(preset: str, method: str = "decompose") -> RerankSettings:
    """Return the settings of a preset.

    Raises:
        UsageError: if the method has no such preset.

    Example:
        >>> preset_settings("paper", "cotrr").cotrr.orders
        1
    """
    known = [name for name in PRESETS if name != "authors" or method == "cotrr"]
    if preset not in known:
        raise UsageError(f'The method {method} has no preset "{preset}".', hint=f"Presets: {', '.join(known)}.")
    return PRESETS[preset]
