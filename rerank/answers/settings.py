"""Settings of question answering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from data.images import MAX_SIDE

Per = Literal["question", "entity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """Settings of the reader."""

    per: Per = "question"
    """`question`: k photos in all, shared by its species, at least one of each, as in VisRet's tables; `entity`: k of
    each species, as in VisRet's code."""
    preset: Literal["default", "paper"] = "default"
    """Preset of `--draw`, as `--preset` of `kb rerank --method visret`."""
    max_side: Annotated[int, Ge(64)] = MAX_SIDE
    """Longest side of a picture for the reader, in pixels."""
