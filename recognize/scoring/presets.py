"""Presets by name, with the settings that each one accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from data.errors import ConfigError, MissingContents, UsageError
from recognize.scoring.fusion import WEIGHTS, FusionWeights, anchor_mode, default
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import N_SHOWN, Queries, Ranking
from recognize.scoring.vr_rag import anchors_only, direct_rag, text_only, vr_rag_v1, vr_rag_v2
from recognize.settings import CHUNK_PRESETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a preset; None keeps the preset's own value."""

    m: int | None = None
    """Size of the pool."""
    weights: FusionWeights | None = None
    n_shown: int = N_SHOWN
    """Species per photo with scores of every stage."""
    profile: str = "starter"
    """Profile that selects the weights of `default`."""


PRESETS: Final[dict[str, Callable[..., list[Ranking]]]] = {
    "anchors-only": anchors_only,
    "default": default,
    "direct-rag": direct_rag,
    "text-only": text_only,
    "vr-rag-v1": vr_rag_v1,
    "vr-rag-v2": vr_rag_v2,
}
"""Name -> scoring function. `anchors-only` and `text-only` are single stages, for comparison."""


def check_preset(name: str, settings: Settings) -> None:
    """Check the name of a preset and its settings.

    Raises:
        ConfigError: if the preset is unknown, or `default` has no weights for the profile.
        UsageError: if a preset other than `default` gets weights.
    """
    if name not in PRESETS:
        raise ConfigError(f'Unknown preset "{name}". Expected one of {", ".join(sorted(PRESETS))}.')
    if settings.weights is not None and name != "default":
        raise UsageError(f"The preset {name} has no weights.")
    if name == "default" and settings.weights is None and settings.profile not in WEIGHTS:
        raise ConfigError(
            f'The default preset has no weights for the profile "{settings.profile}".',
            hint="Pass your own weights, or use vr-rag-v1.",
        )


def check_contents(name: str, knowledge: Knowledge, path: Path) -> None:
    """Raise `MissingContents` if the knowledge base at `path` lacks what a preset compares photos with."""
    has_texts, has_photos = len(knowledge.chunk_owners) > 0, len(knowledge.anchors.owners) > 0
    if name in CHUNK_PRESETS:
        lacking = "" if has_texts else "descriptions"
    elif name == "anchors-only":
        lacking = "" if has_photos else "reference photos"
    else:
        has_prototypes = name == "default" and len(knowledge.trained) > 0
        lacking = "" if has_texts or has_photos or has_prototypes else "descriptions or reference photos"
    if lacking:
        hint = "Use --preset default." if has_texts or has_photos else "kb status shows what it has."
        raise MissingContents(f"The preset {name} needs {lacking}, and {path} has none.", hint=hint)


def score(name: str, knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    """Return the ranking of each photo by a preset; `check_preset` first."""
    options: dict[str, Any] = {} if settings.m is None else {"m": settings.m}
    if name == "default":
        options["weights"] = settings.weights or WEIGHTS[settings.profile][anchor_mode(knowledge)]
    return PRESETS[name](knowledge, queries, n_shown=settings.n_shown, **options)
