"""Messages of CoTRR: requests with their JSON schemas and worked example, and parsers of the replies. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from data.codec import json_object
from data.errors import MalformedAnswer
from data.prompts import quoted
from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.prompting import JUDGEMENTS, REPAIRS, Prompts, fields_in, object_schema
from rerank.queries import PHOTO_LABEL, Query
from rerank.settings import CotrrSettings

_BRACKETED: Final = re.compile(r"\[\s*(\d+)\s*\]")
_CHAIN: Final = re.compile(r"\[\s*\d+\s*\](?:\s*>\s*\[\s*\d+\s*\])+")
# Possessive, and from a line with a number: else a thousand empty lines would be tried in millions of ways.
_LISTED: Final = re.compile(r"^(?=.*\d)(?:\W*+\d+(?!\.\d)[^\S\n]*+(?:[>,;\]]|\n|\Z))+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The photos that a reply names, best first, each once, as positions from 0; and the repaired faults."""

    positions: tuple[int, ...]
    faults: Counter[str]
    """Fault -> its number. `not_json`: readable, but not the requested JSON; `duplicates`: repeated numbers, the first
    place counts; `invalid`: out-of-range numbers and entries that are not whole numbers, removed; `missing`: requested
    photos that the list does not name, placed behind the others in first-stage order."""


def parse_ranking(text: str, n: int, *, n_wanted: int | None = None) -> Ranking:
    """Return the ranking in a reply over photos 1 to `n`.

    The expected reply is a JSON object with a list of whole numbers under `ranking`. Without one, `[3] > [1]` is
    accepted, and lines or a row of numbers; numbers inside sentences are not a ranking, nor are two different ones.

    Args:
        text: the reply.
        n: number of photos.
        n_wanted: number of photos that the ranking should name, None for all.

    Raises:
        MalformedAnswer: if the reply names no photo.
    """
    entries, is_wrapped = _entries(text)
    positions, faults = _positions(map(REPAIRS["whole number"], entries), n)
    if not positions:
        raise MalformedAnswer(f"expected a ranking of photos 1 to {n}, got {text.strip()[:80]!r}")
    wanted = n if n_wanted is None else min(n_wanted, n)
    # A list longer than requested is not a fault.
    faults.update(not_json=int(is_wrapped), missing=max(0, wanted - len(positions)))
    return Ranking(positions=positions, faults=faults)


def _positions(numbers: Iterable[int | None], n: int) -> tuple[tuple[int, ...], Counter[str]]:
    """Return the positions of numbers from 1 to `n`, each once, and the faults in them."""
    listed = list(numbers)
    known = [number - 1 for number in listed if number is not None and 1 <= number <= n]
    positions = tuple(dict.fromkeys(known))
    return positions, Counter(invalid=len(listed) - len(known), duplicates=len(known) - len(positions))


def _entries(text: str) -> tuple[Sequence[object], bool]:
    payload, is_wrapped = json_object(text)
    if payload is None and text.count('"ranking"') > 1:
        return (), True  # two different rankings, of which the rules below would read one
    entries = (payload or {}).get("ranking")
    if isinstance(entries, list):
        return entries, is_wrapped
    bracketed = _BRACKETED.findall(text)
    if bracketed and ">" in text:
        chains = {tuple(_BRACKETED.findall(chain)) for chain in _CHAIN.findall(text)}
        return (bracketed if len(chains) <= 1 else ()), True
    listed = _LISTED.search(text)
    numbers = re.findall(r"\d+", listed[0]) if listed else []
    # A lone number in front of other words is not a ranking ("3, the heron, ...").
    is_row = len(numbers) > 1 or text.strip(" .\n") == "".join(numbers)
    return (numbers if is_row else ()), True


_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)


def parse_ranking_as_authors(text: str, n: int) -> Ranking:
    """Return the ranking in a reply over photos 1 to `n`.

    Everything between the first and the last brace must be a JSON object with a list of whole numbers that is not
    empty. Numbers out of range are dropped, even if none is left; photos that the list does not name follow in
    first-stage order. Nothing else is repaired.

    Source:
        `mllm_reranker.py` of Wu et al., 2025. Differs: they keep repeated numbers, which doubles photos; here the first
        place counts.

    Raises:
        MalformedAnswer: if the reply is unusable.
    """
    found = _OBJECT.search(text)
    payload, has_more = json_object(found[0] if found else "")
    entries = None if has_more or payload is None else payload.get("ranking")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, int) for entry in entries):
        raise MalformedAnswer(f"expected a JSON list of whole numbers as ranking, got {text.strip()[:80]!r}")
    positions, faults = _positions(entries, n)
    return Ranking(positions=positions, faults=faults)


PARTS: Final = ("subject", "activity", "details", "environment", "ambiance")

QueryParts = Mapping[str, str]
"""Part of the query -> its text; parts that the query does not mention are left out."""


PARTS_SCHEMA: Final = object_schema({name: {"type": "string"} for name in PARTS})
_RANKING: Final = {"type": "array", "items": {"type": "integer"}}
RANKING_SCHEMA: Final = object_schema({"comparison": {"type": "string"}, "ranking": _RANKING})
_JUDGED: Final = {"judgement": {"type": "string", "enum": list(JUDGEMENTS)}, "reason": {"type": "string"}}


def one_call_reply(*, deconstructs: bool, evaluates: bool) -> tuple[dict[str, object], str]:
    """Return JSON schema and worked example of a reply with the requested stages in their order."""
    schema: dict[str, object] = {}
    example: dict[str, object] = {}
    if deconstructs:
        schema["query"] = PARTS_SCHEMA
        example["query"] = {
            "subject": "one heron",
            "activity": "swallowing, the fish in its bill or throat",
            "details": "a fish that can be seen",
            "environment": "",
            "ambiance": "dusk: low, warm or fading light",
        }
    if evaluates:
        schema["evaluations"] = {"type": "array", "items": object_schema({"photo": {"type": "integer"}, **_JUDGED})}
        reasons = [
            (1, "partial match", "A heron with a fish across its bill, in full daylight."),
            (2, "no match", "A cormorant on a post; no fish."),
            (3, "excellent match", "A heron with its bill up and a tail fin sticking out, against a red sky."),
            (4, "poor match", "A heron standing still at dusk; its bill is empty."),
        ]
        example["evaluations"] = [{"photo": n, "judgement": judged, "reason": why} for n, judged, why in reasons]
    return object_schema({**schema, "ranking": _RANKING}), json.dumps({**example, "ranking": [3, 1]}, indent=1)


def parse_parts(text: str) -> QueryParts:
    """Return the parts in a reply; null counts as empty, a list as its items.

    Raises:
        MalformedAnswer: if the reply is not a JSON object, a part is not text, or every part is empty.
    """
    fields = fields_in(text)
    parts = {}
    for name in PARTS:
        if (value := REPAIRS["text"](fields.get(name))) is None:
            raise MalformedAnswer(f"expected a text as {name}, got {fields[name]!r}")
        if value:
            parts[name] = value
    if not parts:
        raise MalformedAnswer(f"expected at least one of {', '.join(PARTS)}, got {str(fields)[:80]}")
    return parts


def parse_evaluation(text: str, parts: Iterable[str]) -> str:
    """Return the evaluation of a photo in a reply, as one line: the judgement and reason of each part and overall.

    Raises:
        MalformedAnswer: if a judgement is missing, or not one of `JUDGEMENTS`.
    """
    fields = fields_in(text)
    found = []
    for name in (*parts, "overall"):
        cell = fields.get(name)
        if not isinstance(cell, Mapping):
            raise MalformedAnswer(f"expected a judgement and a reason for {name}, got {cell!r}")
        found.append(_evaluation(cell, name))
    return "; ".join(found)


def evaluations_in(text: str, n: int) -> dict[int, str]:
    """Return photo (from 0) -> evaluation in a one-call reply; unreadable entries are skipped."""
    entries = (json_object(text)[0] or {}).get("evaluations")
    found: dict[int, str] = {}
    for entry in entries if isinstance(entries, list) else ():
        number = entry.get("photo") if isinstance(entry, Mapping) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= n:
            with suppress(MalformedAnswer):
                found.setdefault(number - 1, _evaluation(entry, "overall"))
    return found


def _evaluation(cell: Mapping[str, object], name: str) -> str:
    judgement = REPAIRS["judgement"](cell.get("judgement"))
    if judgement is None:
        raise MalformedAnswer(f"expected one of {', '.join(JUDGEMENTS)} for {name}, got {cell.get('judgement')!r}")
    reason = REPAIRS["reason"](cell.get("reason"))
    return f"{name}: {judgement}" + (f" ({reason})" if reason else "")


MAX_TOKENS: Final = 1_500  # for a reply without its lists; the cost limit counts all of them
TOKENS_PER_PLACE: Final = 10
TOKENS_PER_NOTE: Final = 120


class CotrrRequests:
    """Builds the requests for given settings from the prompts `cotrr_*`.

    A reference photo is shown before the photos, under a label of its own.
    """

    def __init__(self, settings: CotrrSettings, prompts: Prompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def deconstruction(self, query: Query) -> ChatRequest:
        """Return the request to deconstruct a query."""
        prompt = self._prompts.fill(_for_task("cotrr_deconstruct", query), query=query.described)
        return self._request(prompt, query.shown(), PARTS_SCHEMA)

    def evaluation(self, query: Query, parts: QueryParts | None, jpeg: bytes) -> ChatRequest:
        """Return the request to evaluate one photo, by the parts of the query and overall."""
        prompt = self._prompts.fill(
            "cotrr_evaluate",
            query=query.described,
            parts=_as_block(parts),
            part_wise=', part by part and overall ("overall")' if parts else ' overall ("overall")',
            scale=f"The judgements, from best to worst: {', '.join(JUDGEMENTS)}.",
        )
        schema = object_schema({name: object_schema(_JUDGED) for name in (*(parts or ()), "overall")})
        if query.reference:
            photo = ChatMessage(role="user", text=PHOTO_LABEL, images=(jpeg,))
            return self._request(prompt, (*query.shown(), photo), schema)
        return self._request(prompt, (), schema, images=(jpeg,))

    def ranking_of_notes(self, query: Query, parts: QueryParts | None, notes: Sequence[str]) -> ChatRequest:
        """Return the request to rank photos by the notes on them, shown in the given order."""
        n = len(notes)
        listed = "\n".join(f"[{i}] {note}" for i, note in enumerate(notes, start=1))
        prompt = self._prompts.fill("cotrr_rank", **self._values(query, n), parts=_as_block(parts), notes=listed)
        return self._request(prompt, (), RANKING_SCHEMA, max_tokens=MAX_TOKENS + TOKENS_PER_PLACE * n)

    def ranking_of_photos(self, query: Query, parts: QueryParts | None, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request to rank the photos themselves, shown in the given order."""
        n = len(jpegs)
        prompt = self._prompts.fill("cotrr_rank_photos", **self._values(query, n), parts=_as_block(parts))
        return self._with_photos(prompt, query, jpegs, RANKING_SCHEMA, MAX_TOKENS + TOKENS_PER_PLACE * n)

    def all_in_one(self, query: Query, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request for all stages in one call, with a worked example, as in the authors' code."""
        settings, n = self._settings, len(jpegs)
        schema, example = one_call_reply(deconstructs=settings.deconstructs, evaluates=settings.evaluates)
        names = [_for_task("deconstruct", query)] * settings.deconstructs + ["evaluate"] * settings.evaluates + ["rank"]
        steps = "\n\n".join(f"{i}. {self._prompts.fill(f'cotrr_step_{name}')}" for i, name in enumerate(names, start=1))
        prompt = self._prompts.fill("cotrr_one_call", **self._values(query, n), steps=steps, example=example)
        return self._with_photos(prompt, query, jpegs, schema, MAX_TOKENS + TOKENS_PER_NOTE * n)

    def again(self, request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
        """Return the request after an unusable reply; it differs, so that a cache does not return the same reply."""
        correction = ChatMessage(role="user", text=self._prompts.fill("cotrr_again", problem=problem))
        previous = ChatMessage(role="assistant", text=reply.text or "(nothing)")
        return replace(request, messages=(*request.messages, previous, correction))

    def n_wanted(self, n: int) -> int:
        """Return the number of photos that a ranking of `n` photos should name."""
        return n if self._settings.top is None else min(self._settings.top, n)

    def _values(self, query: Query, n: int) -> dict[str, str]:
        wanted = self.n_wanted(n)
        which = f"all {n} photos" if wanted == n else f"the best {wanted} of the {n} photos"
        instruction = f'In "ranking", list the numbers of {which}, each once, the best first.'
        return {"query": query.described, "n": str(n), "wanted": instruction}

    def _with_photos(
        self, prompt: str, query: Query, jpegs: Sequence[bytes], schema: dict[str, object], max_tokens: int
    ) -> ChatRequest:
        photos = [ChatMessage(role="user", text=f"Photo {i}:", images=(jpeg,)) for i, jpeg in enumerate(jpegs, start=1)]
        return self._request(prompt, (*query.shown(), *photos), schema, max_tokens=max_tokens)

    def _request(
        self,
        prompt: str,
        more: Sequence[ChatMessage],
        schema: dict[str, object],
        *,
        images: tuple[bytes, ...] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> ChatRequest:
        return ChatRequest(
            messages=(ChatMessage(role="user", text=prompt, images=images), *more),
            json_schema=schema,
            max_tokens=max_tokens,
            temperature=self._settings.temperature,
            in_one=not self._settings.photo_messages,
        )


def _for_task(prompt: str, query: Query) -> str:
    return prompt if query.task == "text" else f"{prompt}_{query.task}"


def _as_block(parts: QueryParts | None) -> str:
    if parts is None:
        return ""
    listed = "\n".join(f"- {name}: {quoted(text)}" for name, text in parts.items())
    return f"\nThe query, taken apart:\n{listed}\n"
