"""What a model thinks aloud (`<think>...</think>`) told from what it says. Pure."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = "think|thinking|thought|reasoning"
_BEGIN: Final = re.compile(rf"<({_WORDS})>", re.IGNORECASE)
_END: Final = re.compile(rf"</({_WORDS})>", re.IGNORECASE)


def spoken_from(text: str) -> int | None:
    """Return where in a reply what is said begins; None where the model was still thinking when it was cut off.

    Templates that begin the thought themselves leave no mark before its end.

    Example:
        >>> spoken_from("<think>Yes?</think>No"), spoken_from("Yes?</think>No"), spoken_from("No")
        (19, 12, 0)
        >>> spoken_from("<think>Yes? It") is None
        True
    """
    begin = max((found.end() for found in _END.finditer(text)), default=0)
    return None if _BEGIN.search(text, begin) else begin


def spoken(text: str) -> str:
    """Return what is said in a reply, without the thoughts before it; empty where there were only thoughts."""
    begin = spoken_from(text)
    return "" if begin is None else text[begin:]


def is_thought(text: str) -> bool:
    """Return whether a model thought aloud in a reply, by the marks around its thoughts."""
    return bool(_BEGIN.search(text) or _END.search(text))
