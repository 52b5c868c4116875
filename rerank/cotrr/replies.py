"""Replies of CoTRR: JSON schemas, the worked example, and parsers. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from data.errors import MalformedAnswer
from data.prompts import quoted
from rerank.cotrr.rankings import json_in
from rerank.prompting import object_schema

PARTS: Final = ("subject", "activity", "details", "environment", "ambiance")
JUDGEMENTS: Final = ("excellent match", "good match", "partial match", "poor match", "no match")
MAX_REASON: Final = 300  # characters of a reason: the notes of all photos go into one prompt

QueryParts = Mapping[str, str]
"""Part of the query -> its text; parts that the query does not mention are left out."""


PARTS_SCHEMA: Final = object_schema({name: {"type": "string"} for name in PARTS})
_RANKING: Final = {"type": "array", "items": {"type": "integer"}}
RANKING_SCHEMA: Final = object_schema({"comparison": {"type": "string"}, "ranking": _RANKING})
_JUDGED: Final = {"judgement": {"type": "string", "enum": list(JUDGEMENTS)}, "reason": {"type": "string"}}


def evaluation_schema(parts: Iterable[str]) -> dict[str, object]:
    """Return the JSON schema of an evaluation by these parts and overall."""
    return object_schema({name: object_schema(_JUDGED) for name in (*parts, "overall")})


def one_call_schema(*, deconstructs: bool, evaluates: bool) -> dict[str, object]:
    """Return the JSON schema of a reply with all stages, in the order of the stages."""
    steps: dict[str, object] = {"query": PARTS_SCHEMA} if deconstructs else {}
    if evaluates:
        steps["evaluations"] = {"type": "array", "items": object_schema({"photo": {"type": "integer"}, **_JUDGED})}
    return object_schema({**steps, "ranking": _RANKING})


def example(*, deconstructs: bool, evaluates: bool) -> str:
    """Return the worked example of the one-call form, with the requested stages."""
    steps: dict[str, object] = {}
    if deconstructs:
        steps["query"] = {
            "subject": "one heron",
            "activity": "swallowing, the fish in its bill or throat",
            "details": "a fish that can be seen",
            "environment": "",
            "ambiance": "dusk: low, warm or fading light",
        }
    if evaluates:
        reasons = [
            (1, "partial match", "A heron with a fish across its bill, in full daylight."),
            (2, "no match", "A cormorant on a post; no fish."),
            (3, "excellent match", "A heron with its bill up and a tail fin sticking out, against a red sky."),
            (4, "poor match", "A heron standing still at dusk; its bill is empty."),
        ]
        steps["evaluations"] = [{"photo": n, "judgement": judged, "reason": why} for n, judged, why in reasons]
    return json.dumps({**steps, "ranking": [3, 1]}, indent=1)


def parse_parts(text: str) -> QueryParts:
    """Return the parts in a reply; null counts as empty, a list as its items.

    Raises:
        MalformedAnswer: if the reply is not a JSON object, a part is not text, or every part is empty.
    """
    payload, _ = json_in(text)
    found = {}
    for name in PARTS:
        value = payload.get(name)
        if isinstance(value, list):
            value = ", ".join(str(item) for item in value)
        if not isinstance(value, str | None):
            raise MalformedAnswer(f"expected a text as {name}, got {value!r}")
        found[name] = (value or "").strip()
    parts = {name: value for name, value in found.items() if value}
    if not parts:
        raise MalformedAnswer(f"expected at least one of {', '.join(PARTS)}, got {str(dict(payload))[:80]}")
    return parts


def parse_evaluation(text: str, parts: Iterable[str]) -> str:
    """Return the evaluation of a photo in a reply, as one line: the judgement and reason of each part and overall.

    Raises:
        MalformedAnswer: if a judgement is missing, or not one of `JUDGEMENTS`.
    """
    payload, _ = json_in(text)
    found = []
    for name in (*parts, "overall"):
        cell = payload.get(name)
        if not isinstance(cell, Mapping):
            raise MalformedAnswer(f"expected a judgement and a reason for {name}, got {cell!r}")
        found.append(_evaluation(cell, name))
    return "; ".join(found)


def evaluations_in(payload: Mapping[str, object], n: int) -> dict[int, str]:
    """Return photo (from 0) -> evaluation of a one-call reply; unreadable entries are skipped."""
    entries = payload.get("evaluations")
    found: dict[int, str] = {}
    for entry in entries if isinstance(entries, list) else ():
        number = entry.get("photo") if isinstance(entry, Mapping) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= n:
            with suppress(MalformedAnswer):
                found.setdefault(number - 1, _evaluation(entry, "overall"))
    return found


def _evaluation(cell: Mapping[str, object], name: str) -> str:
    judgement, reason = _judgement(cell.get("judgement"), name), _reason(cell.get("reason"))
    return f"{name}: {judgement}" + (f" ({reason})" if reason else "")


def _judgement(value: object, name: str) -> str:
    word = " ".join(str(value).lower().split())
    # "excellent" alone is accepted.
    found = next((known for known in JUDGEMENTS if word in (known, known.removesuffix(" match"))), None)
    if found is None:
        raise MalformedAnswer(f"expected one of {', '.join(JUDGEMENTS)} for {name}, got {value!r}")
    return found


def _reason(value: object) -> str:
    """Return a reason as one line that cannot end the block of notes in the prompt."""
    line = quoted(str(value or ""))
    return line if len(line) <= MAX_REASON else line[: MAX_REASON - 1] + "…"
