"""The presets by name, and what can be changed in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from data.errors import ConfigError, UsageError
from recognize.scoring.fusion import WEIGHTS, FusionWeights, anchor_mode, default
from recognize.scoring.knowledge import Knowledge
from recognize.scoring.stages import N_SHOWN, AnchorPooling, Queries, Ranking
from recognize.scoring.subset import queries_of_encoders, with_encoders
from recognize.scoring.vr_rag import anchors_only, text_only, vr_rag_v1, vr_rag_v2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What may be changed in a preset; None keeps the preset's own value."""

    m: int | None = None
    """The size of the pool."""
    anchor_pooling: AnchorPooling | None = None
    weights: FusionWeights | None = None
    n_shown: int = N_SHOWN
    """How many species of a photo get their score at every stage."""
    profile: str = "starter"
    """Whose weights `default` takes where none are given."""


Preset = Callable[[Knowledge, Queries, Settings], list[Ranking]]


def _default(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    weights = settings.weights or WEIGHTS[settings.profile][anchor_mode(knowledge)]
    m, pooling = settings.m or 100, settings.anchor_pooling or "centre"
    return default(knowledge, queries, weights=weights, m=m, anchor_pooling=pooling, n_shown=settings.n_shown)


def _v1(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    m, pooling = settings.m or 30, settings.anchor_pooling or "mean"
    return vr_rag_v1(knowledge, queries, m=m, anchor_pooling=pooling, n_shown=settings.n_shown)


def _v2(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    return vr_rag_v2(knowledge, queries, m=settings.m or 100, n_shown=settings.n_shown)


def _text(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    return text_only(knowledge, queries, m=settings.m or 100, n_shown=settings.n_shown)


def _direct_rag(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    """Rank by the text of the first text-image encoder alone: table 3's direct RAG, whose encoder is CLIP."""
    first = with_encoders(knowledge, (0,))
    return text_only(first, queries_of_encoders(queries, (0,)), m=settings.m or 30, n_shown=settings.n_shown)


def _anchors(knowledge: Knowledge, queries: Queries, settings: Settings) -> list[Ranking]:
    m, pooling = settings.m or 100, settings.anchor_pooling or "max"
    return anchors_only(knowledge, queries, m=m, anchor_pooling=pooling, n_shown=settings.n_shown)


PRESETS: Final[dict[str, Preset]] = {
    "anchors-only": _anchors,
    "default": _default,
    "direct-rag": _direct_rag,
    "text-only": _text,
    "vr-rag-v1": _v1,
    "vr-rag-v2": _v2,
}
"""Name -> how photos are scored. `anchors-only` and `text-only` are the stages alone, to measure the others against;
`direct-rag` is the paper's retrieval by one encoder without re-ranking."""

_POOLINGS: Final[dict[str, tuple[AnchorPooling, ...]]] = {
    "anchors-only": ("mean", "max", "centre"),
    "default": ("mean", "max", "centre"),
    "vr-rag-v1": ("mean", "max"),
}
"""The presets that pool anchors, and how they can."""


def find_preset(name: str, settings: Settings) -> Preset:
    """Return the preset of that name.

    Raises:
        ConfigError: if there is none of that name, or no weights of `default` for the profile.
        UsageError: if `settings` change what the preset does not have, or to what it cannot do.
    """
    preset = PRESETS.get(name)
    if preset is None:
        raise ConfigError(f"there is no preset {name!r}", hint=f"one of: {', '.join(sorted(PRESETS))}")
    if settings.weights is not None and name != "default":
        raise UsageError(f"the preset {name} has no weights to change")
    if settings.anchor_pooling is not None and settings.anchor_pooling not in _POOLINGS.get(name, ()):
        choices = ", ".join(_POOLINGS.get(name, ())) or "none"
        raise UsageError(f"expected an anchor_pooling of the preset {name} ({choices}), got {settings.anchor_pooling}")
    if name == "default" and settings.weights is None and settings.profile not in WEIGHTS:
        raise ConfigError(
            f"no weights of the default preset fit the profile {settings.profile!r}",
            hint="give weights of your own, or take a preset that has none, like vr-rag-v1",
        )
    if settings.m is not None and settings.m < 1:
        raise UsageError(f"expected a pool of m >= 1, got {settings.m}")
    return preset
