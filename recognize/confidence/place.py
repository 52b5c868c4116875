"""Prior from place and month: the range in a species' text, as a boost of its score, never a filter.

By Bayes' rule the odds of a species grow by P(photo here | its text) / P(photo here | no text). The smaller the region
that a text names, the larger is that ratio; but species of large regions are photographed more often, so among the
species of a place the two nearly cancel. What remains is the difference between texts that name the place, texts that
name others, and texts without a range. Texts are not complete, and the reader errs, so the odds are modest, 5 by
default, and a species gets `odds ** level` (`support_of`):

- 1 for a statement that the species is there, all year or in season, .7 if the region is larger than Europe; a third of
  it out of season, since birds arrive early and stay late; two thirds for passage; a sixth for a vagrant;
- -.7 for a statement that it is absent;
- from .4 beside the places that the text names down to -.6 at 3,000 km from them, because texts leave places out;
- 0 for a text without a range, which says nothing.

`benchmarks.places` measures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from data.arrays import IntArray
from data.places.gazetteer import Place, distance_km, find_place, overlap
from data.records import Candidate, RangeFact, RangeRole
from recognize.confidence.prior import Prior, quarter_of
from recognize.scoring.exact import Scores

RangesOf = Callable[[Sequence[str]], Sequence[tuple[RangeFact, ...]]]
"""Taxon ids -> range facts of each."""
WhereWhen = tuple[Place, int | None]
"""Place and month, 1 to 12, of a photo."""
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip


def month_of(date: str | None) -> int | None:
    """Return the month of an ISO 8601 date; None for an invalid one."""
    quarter = quarter_of(date)
    return None if quarter is None else quarter // 4 + 1


def place_text(taken: WhereWhen | None) -> str | None:
    """Return place and month in words; None without a place."""
    if taken is None:
        return None
    place, month = taken
    return place.name if month is None else f"{place.name} in {_MONTHS[month - 1]}"


class PlacePrior(Prior[WhereWhen]):
    """The prior of the place and month of a photo over the species of a knowledge base."""

    stage = "place"
    reach = 50  # best species of a photo: the texts of the others are not read

    def __init__(self, ranges_of: RangesOf, taxon_ids: Sequence[str], *, temperature: float, odds: float) -> None:
        """Read no text yet.

        `ranges_of` reads texts when a species is first among the best of a photo; `odds` are those of a level of 1.
        """
        self.temperature = temperature
        self._ranges_of, self._ids, self._log_odds = ranges_of, taxon_ids, math.log(odds)
        self._facts: dict[int, tuple[RangeFact, ...]] = {}
        self._supports: dict[tuple[int, Place, int | None], Support] = {}

    def support(self, species: int, taken: WhereWhen) -> Support:
        """Return the support of a place and month by the text of a species."""
        place, month = taken
        key = (species, place, month)
        if key not in self._supports:
            self._supports[key] = support_of(self._read([species])[0], place, month)
        return self._supports[key]

    def with_ranges(
        self, candidates: Sequence[Candidate], species: IntArray, taken: WhereWhen
    ) -> tuple[Candidate, ...]:
        """Return candidates, the first of these species, with what their texts say of a place and month."""
        found = [self.support(int(i), taken) for i in species[: len(candidates)]]
        return tuple(
            replace(each, range_text=support.text, range_sentence=support.fact.sentence if support.fact else None)
            for each, support in zip(candidates, found, strict=True)
        )

    def log_odds_of(self, species: IntArray, taken: WhereWhen) -> Scores:
        """Return the log-odds of species against one without a range."""
        wanted: list[int] = species.tolist()
        self._read(wanted)
        return np.array([self._log_odds * self.support(i, taken).level for i in wanted], dtype=np.float64)

    def _read(self, species: list[int]) -> list[tuple[RangeFact, ...]]:
        new = [i for i in species if i not in self._facts]
        if new:
            self._facts.update(zip(new, self._ranges_of([self._ids[i] for i in new]), strict=True))
        return [self._facts[i] for i in species]


_LARGEST_KM2: Final = 12_000_000  # Europe; a larger region is stated more loosely
_LARGE: Final = 0.7
_OUT_OF_SEASON, _PASSAGE, _VAGRANT = 1 / 3, 2 / 3, 1 / 6
_ABSENT: Final = -0.7
_NEAR, _FAR, _FAR_KM = 0.4, -0.6, 3_000  # beside the stated range, and from 3,000 km on
_TROPIC: Final = 23.4  # degrees; nearer the equator there is no summer
_SUMMER: Final = frozenset((3, 4, 5, 6, 7, 8, 9))  # of the northern hemisphere, with early and late birds
_WINTER: Final = frozenset((9, 10, 11, 12, 1, 2, 3, 4))
_MIGRATION: Final = frozenset((3, 4, 5, 8, 9, 10, 11))
_PHRASES: Final[dict[RangeRole, str]] = {
    "resident": "live all year in",
    "breeds": "breed in",
    "winters": "winter in",
    "passage": "pass through",
    "vagrant": "stray to",
    "introduced": "be introduced in",
    "occurs": "occur in",
    "absent": "be absent from",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Support of a place and month by the text of a species."""

    level: float = 0.0
    """From -0.7, stated absent, to 1, living in a region that holds the place; 0 is neutral."""
    fact: RangeFact | None = None
    """The statement that decides; None for a text that names only other places, or none."""
    is_in_season: bool = True
    is_near: bool = False
    """The text names places beside this one, but not this one."""

    @property
    def text(self) -> str:
        """The support in words; empty where the text says nothing of the place."""
        if self.fact is not None:
            more = ", which is near" if self.is_near else "" if self.is_in_season else ", but in another season"
            return f"said to {_PHRASES[self.fact.role]} {self.fact.place}{more}"
        return "said to occur elsewhere" if self.level else ""


def support_of(facts: Sequence[RangeFact], place: Place, month: int | None) -> Support:
    """Return the support of a place and month by the facts of one text; without a month, all count as in season."""
    best, best_area = Support(), math.inf
    absent: tuple[float, RangeFact] | None = None
    others: list[tuple[Place, RangeFact]] = []
    for fact in facts:
        named = find_place(fact.place)
        if named is None:
            continue
        shared = overlap(place, named)
        if fact.role == "absent":
            if shared >= place.area / 2 and (absent is None or named.area < absent[0]):
                absent = (named.area, fact)
        elif not shared:
            others += [(named, fact)] if fact.role != "vagrant" else []
        else:
            weight = _weight(fact, facts, place, month)
            level = weight * (1.0 if named.area <= _LARGEST_KM2 else _LARGE)
            if best.fact is None or level > best.level or (level == best.level and named.area < best_area):
                best, best_area = Support(level=level, fact=fact, is_in_season=weight != _OUT_OF_SEASON), named.area
    if absent is not None and absent[0] < best_area:
        return Support(level=_ABSENT, fact=absent[1])
    if best.fact is None and others:
        distance, nearest = min(((distance_km(place, named), fact) for named, fact in others), key=lambda pair: pair[0])
        level = _NEAR + (_FAR - _NEAR) * min(1.0, distance / _FAR_KM)
        return Support(level=level, fact=nearest if level > 0 else None, is_near=level > 0)
    return best


def _weight(fact: RangeFact, facts: Sequence[RangeFact], place: Place, month: int | None) -> float:
    """Return the weight of a role in a month, from 0 to 1."""
    if fact.role == "vagrant":
        return _VAGRANT
    if fact.role == "passage":
        return _PASSAGE if month is None or month in _MIGRATION else _OUT_OF_SEASON
    if month is None or fact.role not in ("breeds", "winters"):
        return 1.0
    if fact.role == "breeds" and not any(other.role == "winters" for other in facts):
        return 1.0  # the text does not say that it leaves
    return 1.0 if month in _season(fact, facts, place) else _OUT_OF_SEASON


def _season(fact: RangeFact, facts: Sequence[RangeFact], place: Place) -> frozenset[int]:
    """Return the months of a breeding or wintering range: those of the text, a month early and late, if it has any."""
    if fact.months:
        return frozenset((month + step - 1) % 12 + 1 for month in fact.months for step in (-1, 0, 1))
    if fact.role == "breeds":
        if abs(place.latitude) < _TROPIC:
            return frozenset(range(1, 13))
        return _SUMMER if place.latitude > 0 else _opposite(_SUMMER)
    # Birds that breed in the south winter in the northern summer.
    breeding = [named.latitude for other in facts if other.role == "breeds" and (named := find_place(other.place))]
    is_southern = bool(breeding) and max(breeding) < 0
    return _opposite(_WINTER) if is_southern else _WINTER


def _opposite(months: frozenset[int]) -> frozenset[int]:
    return frozenset((month + 5) % 12 + 1 for month in months)
