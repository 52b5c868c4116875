"""Ranked lists of numbers as models write them: validated, repaired by a counted rule, compared and fused.

Pure functions; nothing here asks a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final, Literal

from data.errors import MalformedAnswer
from rerank.reasoning import spoken

Fusion = Literal["mean-rank", "rrf"]
RRF_K: Final = 60  # Cormack et al. 2009; not tuned here
_BRACKETED: Final = re.compile(r"\[\s*(\d+)\s*\]")
_LISTED: Final = re.compile(r"^\s*(?:\W*\d+(?!\.\d)\s*(?:[>,;\]]|\n|\Z))+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """What was wrong with rankings, and mended; sums are taken by `+`."""

    n_lists: int = 0
    n_loose: int = 0
    """Lists that did not come as the JSON that was asked for, but could be read."""
    n_duplicates: int = 0
    """Numbers that came again: the first place counts."""
    n_strangers: int = 0
    """Numbers of no photo, and entries that are no whole number: left out."""
    n_gaps: int = 0
    """Photos that were asked for and not named: behind all that were, in first-stage order."""

    @property
    def n_faults(self) -> int:
        """All that was mended."""
        return self.n_loose + self.n_duplicates + self.n_strangers + self.n_gaps

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(
            n_lists=self.n_lists + other.n_lists,
            n_loose=self.n_loose + other.n_loose,
            n_duplicates=self.n_duplicates + other.n_duplicates,
            n_strangers=self.n_strangers + other.n_strangers,
            n_gaps=self.n_gaps + other.n_gaps,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The photos that a model named, best first, each once, as positions from 0; and what was mended."""

    positions: tuple[int, ...]
    repairs: Repairs


def json_in(text: str) -> tuple[Mapping[str, object], bool]:
    r"""Return the JSON object of a reply, and whether it came with something around it.

    What a model thought aloud (`<think>...</think>`) is passed over; of several objects the last whole one counts.

    Raises:
        MalformedAnswer: if there is none.

    Example:
        >>> json_in('Here it is:\n```json\n{"ranking": [2, 1]}\n```')
        ({'ranking': [2, 1]}, True)
    """
    visible = spoken(text).strip()
    try:
        found = json.loads(visible)
    except json.JSONDecodeError:
        found = _last_object(visible)
        if found is None:
            raise MalformedAnswer(f"expected a JSON object, got {visible[:80]!r}") from None
        return found, True
    if not isinstance(found, dict):
        raise MalformedAnswer(f"expected a JSON object, got {visible[:80]!r}")
    return found, False


def parse_ranking(text: str, n: int, *, n_wanted: int | None = None, field: str = "ranking") -> Ranking:
    """Return the ranking in a reply over photos 1 to `n`.

    Asked for is a JSON object with a list of whole numbers under `field`. A reply without one is read as `[3] > [1]`,
    or as lines or a row of numbers; numbers inside sentences are not taken for a ranking.

    Args:
        text: the reply.
        n: how many photos there were.
        n_wanted: how many of them the ranking should name, None for all.
        field: the name of the list.

    Raises:
        MalformedAnswer: if no number of a photo can be read out of it.

    Example:
        >>> parse_ranking('{"ranking": [3, 3, 9, 1]}', 3).positions
        (2, 0)
        >>> parse_ranking("[11] > [1]", 12, n_wanted=2).positions
        (10, 0)
    """
    entries, is_loose = _entries(text, field)
    positions: list[int] = []
    seen: set[int] = set()
    n_duplicates = n_strangers = 0
    for entry in entries:
        number = _whole(entry)
        if number is None or not 1 <= number <= n:
            n_strangers += 1
        elif number in seen:
            n_duplicates += 1
        else:
            seen.add(number)
            positions.append(number - 1)
    if not positions:
        raise MalformedAnswer(f"expected a ranking of photos 1 to {n}, got {text.strip()[:80]!r}")
    wanted = n if n_wanted is None else min(n_wanted, n)
    # More than were asked for are no fault, and as good as the others.
    return Ranking(
        positions=tuple(positions),
        repairs=Repairs(
            n_lists=1,
            n_loose=int(is_loose),
            n_duplicates=n_duplicates,
            n_strangers=n_strangers,
            n_gaps=max(0, wanted - len(positions)),
        ),
    )


def ranks_of(positions: Sequence[int], n: int) -> list[float]:
    """Return the rank of each of `n` items; those that are not named share the mean of the ranks that are left.

    Example:
        >>> ranks_of([2, 0], 4)
        [2.0, 3.5, 1.0, 3.5]
    """
    ranks = [(len(positions) + 1 + n) / 2] * n
    for rank, position in enumerate(positions, start=1):
        ranks[position] = float(rank)
    return ranks


def fused(rankings: Sequence[Sequence[float]], rule: Fusion = "mean-rank") -> list[float]:
    """Return a score for each item out of its ranks in several rankings, higher is better.

    `mean-rank` is minus the mean rank (Borda's count); `rrf` the sum of 1 / (60 + rank): first places weigh more.

    Example:
        >>> fused([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
        [-1.0, -2.5, -2.5]
    """
    items = zip(*rankings, strict=True)
    if rule == "rrf":
        return [sum(1 / (RRF_K + rank) for rank in ranks) for ranks in items]
    return [-sum(ranks) / len(ranks) for ranks in items]


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same items, None where one of them ties all.

    Example:
        >>> kendall_tau([1, 2, 3], [1, 2, 3]), kendall_tau([1, 2, 3], [3, 2, 1])
        (1.0, -1.0)
    """
    agree = ties_one = ties_other = n_pairs = 0
    for i, j in combinations(range(len(one)), 2):
        a, b = _sign(one[i] - one[j]), _sign(other[i] - other[j])
        agree += a * b
        ties_one += a == 0
        ties_other += b == 0
        n_pairs += 1
    scale = float((n_pairs - ties_one) * (n_pairs - ties_other)) ** 0.5
    return agree / scale if scale else None


def input_orders(n: int, n_orders: int, *, seed: str) -> list[list[int]]:
    """Return orders to show `n` items in: the given one, its reverse, then shuffles, each followed by its reverse.

    In an order and its reverse every item has the same mean place, so what a place is worth cancels out to first order.

    Example:
        >>> input_orders(3, 2, seed="q")
        [[0, 1, 2], [2, 1, 0]]
    """
    random = Random(seed)
    orders: list[list[int]] = []
    while len(orders) < n_orders:
        order = list(range(n))
        if orders:
            random.shuffle(order)
        orders += [order, order[::-1]]
    return orders[:n_orders]


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """How much rankings of the same items depend on the order in which the items were shown."""

    effect: float | None
    """Mean Kendall's tau between the order shown and the order made, over pairs of an order and its reverse. 0 where
    the order shown does not matter, 1 where it is given back as it came, negative where late items are preferred."""
    agreement: float | None
    """Mean Kendall's tau between the rankings made from different orders; 1 where the order shown does not matter."""


def position_bias(shown: Sequence[Sequence[int]], rankings: Sequence[Sequence[float]]) -> PositionBias:
    """Return how much rankings depend on the order shown.

    Args:
        shown: `input_orders`: the items in the order in which they were shown.
        rankings: the rank of each item that came out of each order.
    """
    effects: list[float] = []
    for i in range(0, len(shown) - 1, 2):
        # An order and its reverse: what the items themselves deserve is in both with opposite signs.
        pair = [kendall_tau(_places(shown[j]), rankings[j]) for j in (i, i + 1)]
        known = [tau for tau in pair if tau is not None]
        if len(known) == 2:
            effects.append(sum(known) / 2)
    taus = [kendall_tau(one, other) for one, other in combinations(rankings, 2)]
    return PositionBias(effect=_mean(effects), agreement=_mean([tau for tau in taus if tau is not None]))


def _entries(text: str, field: str) -> tuple[Sequence[object], bool]:
    try:
        payload, is_loose = json_in(text)
    except MalformedAnswer:
        payload, is_loose = {}, True
    entries = payload.get(field)
    if isinstance(entries, list):
        return entries, is_loose
    visible = spoken(text)
    bracketed = _BRACKETED.findall(visible)
    if bracketed and ">" in visible:
        return bracketed, True
    listed = _LISTED.search(visible)
    numbers = re.findall(r"\d+", listed[0]) if listed else []
    # A lone number in front of other words is no ranking ("3, the heron, ...").
    is_row = len(numbers) > 1 or visible.strip(" .\n") == "".join(numbers)
    return (numbers if is_row else ()), True


def _last_object(text: str) -> dict[str, object] | None:
    decoder = json.JSONDecoder()
    found: dict[str, object] | None = None
    at = text.find("{")
    while at >= 0:
        try:
            payload, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            at = text.find("{", at + 1)
            continue
        if isinstance(payload, dict):
            found = payload
        at = text.find("{", end)
    return found


def _whole(entry: object) -> int | None:
    """Return the whole number that an entry is; `"[3]"`, `"3"` and 3.0 are 3, `true` and "photo three" are none."""
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


def _places(order: Sequence[int]) -> list[float]:
    places = [0.0] * len(order)
    for place, item in enumerate(order, start=1):
        places[item] = float(place)
    return places


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None
