"""Prompts for distilling and for context, and the schema of replies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from data.lexicon.tables import BIRDS
from data.prompts import Prompts

_ARTICLE: Final = ("common_name", "scientific_name", "open", "close", "target_words", "max_words")
_GROUP: Final = (*_ARTICLE, "noun", "parts", "apart")
PLACEHOLDERS: Final = {
    "distil": _ARTICLE,
    "summarise": _ARTICLE,
    "refine": _ARTICLE,
    "distil_group": _GROUP,
    "summarise_group": _GROUP,
    "refine_group": _GROUP,
    "repair": ("problems",),
    "names_kept": (),
    "context": ("query", "texts", "fence", "max_words"),
    "search": ("query",),
}


class DistilPrompts(Prompts):
    """The prompts by name, each replaced by `NAME.md` of `folder` if it exists.

    Raises:
        ConfigError: if the folder has no prompts, an unknown one, or one with an unknown placeholder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("kb", PLACEHOLDERS, folder)
        self._replaced = {path.stem for path in folder.glob("*.md")} if folder is not None else set()

    def name_for(self, step: str, group: str) -> str:
        """Return the name of the prompt of a step: `distil_group` outside birds, unless the user gave only `distil`."""
        name = f"{step}_group"
        is_for_all = step in self._replaced and name not in self._replaced
        return step if group == BIRDS or is_for_all else name


def cited_texts_schema(name: str, *, cited: str) -> dict[str, object]:
    """Return the JSON schema of a list `name` of texts, each with the numbers `cited` that support it."""

    def record(properties: dict[str, object]) -> dict[str, object]:
        return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}

    text = record({"text": {"type": "string"}, cited: {"type": "array", "items": {"type": "integer"}}})
    return record({name: {"type": "array", "items": text}})
