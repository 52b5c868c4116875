"""Ranked lists of photo numbers in replies: repaired by counted rules, or read as by the paper's authors. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from data.errors import MalformedAnswer
from data.foreign_json import json_object, load_json

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


def json_in(text: str) -> tuple[Mapping[str, object], bool]:
    """Return the JSON object of a reply, and whether other text surrounds it.

    Raises:
        MalformedAnswer: if the reply holds no JSON object.
    """
    found, is_wrapped = json_object(text)
    if found is None:
        raise MalformedAnswer(f"expected a JSON object, got {text.strip()[:80]!r}")
    return found, is_wrapped


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
    positions: list[int] = []
    seen: set[int] = set()
    faults = Counter(not_json=int(is_wrapped))
    for entry in entries:
        number = _whole(entry)
        if number is None or not 1 <= number <= n:
            faults["invalid"] += 1
        elif number in seen:
            faults["duplicates"] += 1
        else:
            seen.add(number)
            positions.append(number - 1)
    if not positions:
        raise MalformedAnswer(f"expected a ranking of photos 1 to {n}, got {text.strip()[:80]!r}")
    wanted = n if n_wanted is None else min(n_wanted, n)
    faults["missing"] = max(0, wanted - len(positions))  # a list longer than requested is not a fault
    return Ranking(positions=tuple(positions), faults=faults)


def _entries(text: str) -> tuple[Sequence[object], bool]:
    try:
        payload, is_wrapped = json_in(text)
    except MalformedAnswer:
        if text.count('"ranking"') > 1:
            return (), True  # two different rankings, of which the rules below would read one
        payload, is_wrapped = {}, True
    entries = payload.get("ranking")
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


def _whole(entry: object) -> int | None:
    """Return an entry as a whole number: `"[3]"`, `"3"` and 3.0 are 3; None for `true` and "photo three"."""
    if isinstance(entry, bool):
        return None
    if isinstance(entry, int):
        return entry
    if isinstance(entry, float):
        return int(entry) if entry.is_integer() else None
    found = (
        re.fullmatch(r"\W*(?:photo|image)?\W*(\d{1,9})\W*", entry, re.IGNORECASE) if isinstance(entry, str) else None
    )
    return int(found[1]) if found else None


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
    try:
        payload = load_json(found[0]) if found else None
    except ValueError:
        payload = None
    entries = payload.get("ranking") if isinstance(payload, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, int) for entry in entries):
        raise MalformedAnswer(f"expected a JSON list of whole numbers as ranking, got {text.strip()[:80]!r}")
    known = [entry - 1 for entry in entries if 1 <= entry <= n]
    positions = tuple(dict.fromkeys(known))
    faults = Counter(invalid=len(entries) - len(known), duplicates=len(known) - len(positions))
    return Ranking(positions=positions, faults=faults)
