"""Settings of CoTRR: its two forms, the paper's ablations, and the constants of long lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from data.images import MAX_SIDE

Form = Literal["staged", "one-call"]
Stages = Literal["full", "evaluation", "deconstruction", "ranking"]
Fusion = Literal["mean-rank", "rrf"]
Replies = Literal["repaired", "authors"]

PHOTOS_PER_CALL: Final = 20  # models lose track of more, and servers limit them
NOTES_PER_CALL: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CotrrSettings:
    """Settings of listwise ranking."""

    form: Form = "staged"
    """`staged`: one call for the query, one per photo, one per ranking of the notes. `one-call`: all stages and photos
    in a single call."""
    stages: Stages = "full"
    """`full`, or an ablation: `ranking` alone shows the model query and photos; `evaluation` adds notes on each photo,
    `deconstruction` the parts of the query."""
    top: int | None = None
    """Photos that a ranking names; the others follow in first-stage order. None: all."""
    window: int | None = None
    """Photos in one ranking. None: 20 when the model sees photos, 50 when it sees notes."""
    step: int | None = None
    """Distance between overlapping windows. None: half a window."""
    orders: int = 2
    """Orders in which the photos of a window are shown; the ranks are fused."""
    fusion: Fusion = "mean-rank"
    """How ranks are fused: mean rank, or reciprocal rank fusion."""
    photo_messages: bool = True
    """Send each photo in a separate message, under its number. False: texts and photos in turn in one message."""
    replies: Replies = "repaired"
    """Reading of rankings. `repaired`: faults are repaired and counted; after an unusable reply the model is told the
    problem. `authors`: only a JSON list of whole numbers is usable; otherwise the same request is sent again."""
    tries: int = 2
    """Requests for one reply until it counts as unusable."""
    temperature: float | None = 0.0
    """Temperature of all requests; 0 in the paper. None sends none."""
    max_side: int = MAX_SIDE
    """Longest side of the photo that is sent, in pixels."""

    def __post_init__(self) -> None:
        if self.tries < 1 or (self.temperature is not None and not self.temperature >= 0):
            raise ValueError(
                f"expected tries >= 1 and temperature >= 0, got {self.tries} tries and temperature {self.temperature}"
            )
        if self.orders < 1 or (self.top is not None and self.top < 1):
            raise ValueError(f"orders and top: expected at least 1, got {self.orders} and {self.top}")
        if self.max_side < 1:
            raise ValueError(f"max_side: expected at least 1, got {self.max_side}")
        if self.window_size < 2 or not 1 <= self.stride < self.window_size:
            raise ValueError(
                f"expected window >= 2 and 1 <= step < window, got window {self.window_size} and step {self.stride}"
            )

    @property
    def deconstructs(self) -> bool:
        """Whether the query is deconstructed first."""
        return self.stages in ("deconstruction", "full")

    @property
    def evaluates(self) -> bool:
        """Whether each photo is evaluated before the ranking."""
        return self.stages in ("evaluation", "full")

    @property
    def sees_photos(self) -> bool:
        """Whether the ranking call gets the photos; otherwise it gets the notes on them."""
        return self.form == "one-call" or not self.evaluates

    @property
    def window_size(self) -> int:
        """Photos in one ranking."""
        return self.window or (PHOTOS_PER_CALL if self.sees_photos else NOTES_PER_CALL)

    @property
    def stride(self) -> int:
        """Distance between windows."""
        return self.step or max(1, self.window_size // 2)
