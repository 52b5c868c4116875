"""Settings of all re-ranking methods, by preset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from data.errors import UsageError
from rerank.cotrr import settings as cotrr
from rerank.cotrr.settings import CotrrSettings
from rerank.decompose import settings as decompose
from rerank.decompose.settings import DecomposeSettings
from rerank.judges import settings as vision
from rerank.judges.settings import VisionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """The settings of each method; a method reads its own."""

    decompose: DecomposeSettings = field(default_factory=DecomposeSettings)
    vision: VisionSettings = field(default_factory=VisionSettings)
    cotrr: CotrrSettings = field(default_factory=CotrrSettings)


PRESETS: Final = tuple(dict.fromkeys([*decompose.PRESETS, *cotrr.PRESETS]))
"""All presets; `authors` is one of cotrr alone."""


def preset_settings(preset: str, method: str = "decompose") -> RerankSettings:
    """Return the settings of a preset.

    Raises:
        UsageError: if the method has no such preset.

    Example:
        >>> preset_settings("paper", "cotrr").cotrr.orders
        1
    """
    known = tuple(cotrr.PRESETS if method == "cotrr" else decompose.PRESETS)
    if preset not in known:
        raise UsageError(f'The method {method} has no preset "{preset}".', hint=f"Presets: {', '.join(known)}.")
    return RerankSettings(
        decompose=decompose.PRESETS.get(preset, DecomposeSettings()),
        vision=vision.PRESETS.get(preset, VisionSettings()),
        cotrr=cotrr.PRESETS[preset],
    )
