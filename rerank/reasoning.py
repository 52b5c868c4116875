"""Separation of a model's reasoning (`<think>...</think>`) from its answer. Pure."""

from __future__ import annotations

import re
from typing import Final

_TAGS: Final = "think|thinking|thought|reasoning"
_BEGIN: Final = re.compile(rf"<({_TAGS})>", re.IGNORECASE)
_END: Final = re.compile(rf"</({_TAGS})>", re.IGNORECASE)


def answer_start(text: str) -> int | None:
    """Return the offset where the answer begins; None if the reply was cut off during the reasoning.

    Some chat templates open the reasoning themselves, so only its closing tag is in the reply.

    Example:
        >>> answer_start("<think>Yes?</think>No"), answer_start("Yes?</think>No"), answer_start("No")
        (19, 12, 0)
        >>> answer_start("<think>Yes? It") is None
        True
    """
    begin = max((found.end() for found in _END.finditer(text)), default=0)
    return None if _BEGIN.search(text, begin) else begin


def without_reasoning(text: str) -> str:
    """Return the answer of a reply, without the reasoning before it; empty if there is only reasoning."""
    begin = answer_start(text)
    return "" if begin is None else text[begin:]


def has_reasoning(text: str) -> bool:
    """Return whether a reply holds an opening or closing tag of reasoning."""
    return bool(_BEGIN.search(text) or _END.search(text))
