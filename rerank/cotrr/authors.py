"""Rankings in replies as the published code of CoTRR's authors reads them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from data.errors import MalformedAnswer
from data.foreign_json import load_json
from rerank.cotrr.rankings import Ranking

_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)


def parse_ranking_as_authors(text: str, n: int, *, field: str = "ranking") -> Ranking:
    """Return the ranking in a reply over photos 1 to `n`.

    Everything between the first and the last brace must be a JSON object with a list of whole numbers that is not
    empty. Numbers out of range are dropped, even if none is left; photos that the list does not name follow in
    first-stage order. Nothing else is repaired.

    Source:
        `mllm_reranker.py` of Wu et al., 2025. Differs: they keep repeated numbers, which doubles photos; here the first
        place counts.

    Raises:
        MalformedAnswer: if the reply is unusable.

    Example:
        >>> parse_ranking_as_authors('Here: {"ranking": [3, 3, 9, 1]}', 3).positions
        (2, 0)
    """
    found = _OBJECT.search(text)
    try:
        payload = load_json(found[0]) if found else None
    except ValueError:
        payload = None
    entries = payload.get(field) if isinstance(payload, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, int) for entry in entries):
        raise MalformedAnswer(f"expected a JSON list of whole numbers as {field}, got {text.strip()[:80]!r}")
    known = [entry - 1 for entry in entries if 1 <= entry <= n]
    positions = tuple(dict.fromkeys(known))
    faults = Counter(invalid=len(entries) - len(known), duplicates=len(known) - len(positions))
    return Ranking(positions=positions, faults=faults)
