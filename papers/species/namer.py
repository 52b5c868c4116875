"""Species named by a vision model alone, without retrieval: the baseline of a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from data.codec import json_object
from data.contracts import ChatModel
from data.prompts import Prompts
from data.records import ChatMessage, ChatReply, ChatRequest, Reading
from recognize.reader.reader import MAX_TOKENS
from recognize.reader.replies import NONE

NamingRule = Literal["json", "text", "none", "no species", "unread"]
"""Rule that read a reply: JSON, plain text, words for none, a name of no species, or unreadable."""
Find = Callable[[str], str | None]
"""A name -> the taxon id of its species."""

PLACEHOLDERS: Final[Mapping[str, Sequence[str]]] = {"name_photo": ("none",)}
_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "species": {"type": "string"}},
    "required": ["reason", "species"],
    "additionalProperties": False,
}
_NO_NAME = re.compile(r"\b(?:none|unknown|cannot|can't|unable)\b", re.IGNORECASE)
_BETWEEN_NAMES = re.compile(r"\bor\b|/", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^(?:the |this |it )?(?:bird |photo |picture |image |species |answer )?"
    r"(?:is|shows|looks like|:)?:? ?(?:an? |the )?",
    re.IGNORECASE,
)


async def name_photo(chat: ChatModel, picture: bytes, find: Find, prompts: Prompts) -> Reading:
    """Return the species that a vision model names, without candidates; agreement is 0 without a name of one species.

    `picture` is a JPEG or PNG file. Errors of the model are raised.

    Source: VR-RAG, section 6.1, baselines, and the rows of tables 3 and 6 without retrieval. Differs: the paper
        specifies neither its prompt nor the matching of names; here any name of the checklist counts.
    """
    request = ChatRequest(
        messages=(ChatMessage(role="user", text=prompts.fill("name_photo", none=NONE), images=(picture,)),),
        json_schema=_SCHEMA,
        max_tokens=MAX_TOKENS,
    )
    found, rule, reason = read_name(await chat.reply(request), find)
    is_read = rule in ("json", "text", "none")
    return Reading(choice=found, agreement=float(is_read), reason=reason, answered=int(rule != "unread"))


def read_name(reply: ChatReply, find: Find) -> tuple[str | None, NamingRule, str]:
    """Return the species that a reply names, the rule that read it, and the reason given.

    The rules: the key `species` of a JSON object; else the last or first line as a name, with a few words before it;
    else words for none. A name that matches no single species is `no species`.
    """
    parsed, _ = json_object(reply.text)
    if parsed is not None and "species" in parsed:
        name, reason = str(parsed["species"]).strip(), str(parsed.get("reason", "")).strip()
        if name.lower().rstrip(".") in ("", NONE):
            return None, "none" if name else "unread", reason
        found = _one_of(name, find)
        if found is None and _NO_NAME.search(name):
            return None, "none", reason
        if found is None:
            return None, "no species", f"Unknown species {name!r}. {reason}".strip()
        return found, "json", reason
    text = reply.text.strip()
    lines = [line.strip(" *_.\"'") for line in text.splitlines() if line.strip()]
    for line in dict.fromkeys([*lines[-1:], *lines[:1]]):
        found = _one_of(line, find) or _one_of(_LEAD_IN.sub("", line), find)
        if found is not None:
            return found, "text", text
    if _NO_NAME.search(text):
        return None, "none", text
    return None, "no species" if lines else "unread", text


def _one_of(name: str, find: Find) -> str | None:
    """Return the species of a name; None for "this or that", which names two."""
    parts = {find(part) for part in _BETWEEN_NAMES.split(name) if part.strip()} - {None}
    return None if len(parts) > 1 else find(name)
