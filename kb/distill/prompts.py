"""Prompts for distilling and for context, and the schema of replies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data.prompts import Prompts

_ARTICLE: Final = ("common_name", "scientific_name", "open", "close", "target_words", "max_words")
PLACEHOLDERS: Final = {
    "distil": _ARTICLE,
    "summarise": _ARTICLE,
    "refine": _ARTICLE,
    "repair": ("problems",),
    "names_kept": (),
    "context": ("query", "texts", "fence", "max_words"),
    "search": ("query",),
}


class DistilPrompts(Prompts):
    """The prompts by name, each replaced by `NAME.md` of `folder` if it exists.

    Raises:
        ConfigError: if the folder has no prompts, an unknown one, or one with an unknown placeholder.

    Example:
        >>> "cannot be used" in DistilPrompts().fill("repair", problems="- no JSON")
        True
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("kb", PLACEHOLDERS, folder)


def cited_texts_schema(name: str, *, cited: str) -> dict[str, object]:
    """Return the JSON schema of a list `name` of texts, each with the numbers `cited` that support it."""
    numbers = {"type": "array", "items": {"type": "integer"}}
    text = {
        "type": "object",
        "properties": {"text": {"type": "string"}, cited: numbers},
        "required": ["text", cited],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": text}},
        "required": [name],
        "additionalProperties": False,
    }
