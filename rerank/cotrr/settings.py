"""How CoTRR ranks a list: its two forms, its ablations, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from data.images.jpeg import MAX_SIDE
from rerank.cotrr.listwise import Fusion

Form = Literal["staged", "one-call"]
Ablation = Literal["ranking", "evaluation", "deconstruction", "full"]

N_PHOTOS_A_CALL: Final = 20  # models lose track of more, and servers limit them
N_NOTES_A_CALL: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CotrrSettings:
    """How a list is ranked."""

    form: Form = "staged"
    """`staged`: a call for the query, one for each photo, and one for each ranking of the notes. `one-call`: all in
    one, with the photos in it."""
    deconstructs: bool = True
    evaluates: bool = True
    top_n: int | None = None
    """How many photos a ranking names; the rest follows in first-stage order. None: all."""
    window: int | None = None
    """How many photos one ranking sees; None: 20 where it sees the photos, 50 where it sees notes."""
    step: int | None = None
    """How far windows lie apart; None: half a window."""
    n_orders: int = 2
    """In how many orders the photos of a window are shown; the ranks are fused."""
    fusion: Fusion = "mean-rank"
    labels_photos: bool = True
    """Whether each photo comes in a message of its own, under its number. Some servers take one message alone."""
    max_side: int = MAX_SIDE

    def __post_init__(self) -> None:
        if self.n_orders < 1 or (self.top_n is not None and self.top_n < 1):
            raise ValueError(f"expected n_orders and top_n >= 1, got {self.n_orders} and {self.top_n}")
        if self.size < 2 or not 1 <= self.stride < self.size:
            raise ValueError(
                f"expected a window of 2 or more and 1 <= step < window, got {self.size} and {self.stride}"
            )

    @property
    def sees_photos(self) -> bool:
        """Whether rankings are made of the photos, not of notes on them."""
        return self.form == "one-call" or not self.evaluates

    @property
    def size(self) -> int:
        """The window in force."""
        return self.window or (N_PHOTOS_A_CALL if self.sees_photos else N_NOTES_A_CALL)

    @property
    def stride(self) -> int:
        """The step in force."""
        return self.step or max(1, self.size // 2)


PRESETS: Final[dict[str, CotrrSettings]] = {
    # A second ranking in the reverse order costs one more call on notes and cancels most of what a place is worth.
    "default": CotrrSettings(),
    "paper": CotrrSettings(n_orders=1),
    # The authors' published code: all candidates in one prompt, the best ten out.
    "authors": CotrrSettings(form="one-call", n_orders=1, top_n=10, window=100),
}
"""Preset -> settings with all three stages."""


def cotrr_settings(preset: str = "default", ablation: Ablation = "full") -> CotrrSettings:
    """Return a preset with all stages, or with some of them left out.

    `ranking` alone sees the query as it is and the photos; `evaluation` adds the notes on photos, `deconstruction` the
    parts of the query. (The first row of the ablation is `rerank.original_order`.)

    Source:
        Wu et al., 2025 (arXiv 2509.14746), Table 3, models 2 to 5.

    Example:
        >>> settings = cotrr_settings("paper", "evaluation")
        >>> settings.deconstructs, settings.evaluates, settings.n_orders
        (False, True, 1)
    """
    if preset not in PRESETS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}, got {preset!r}")
    return replace(
        PRESETS[preset],
        deconstructs=ablation in ("deconstruction", "full"),
        evaluates=ablation in ("evaluation", "full"),
    )
