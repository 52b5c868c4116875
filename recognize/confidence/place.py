"""Prior from place and month: the range in a species' text, as a boost of its score, never a filter.

By Bayes' rule the odds of a species grow by P(photo here | its text) / P(photo here | no text). The smaller the region
that a text names, the larger is that ratio; but species of large regions are photographed more often, so among the
species of a place the two nearly cancel. What remains is the difference between texts that name the place, texts that
name others, and texts without a range. Texts are not complete, and the reader errs, so the odds are modest, 5 by
default, and a species gets `odds ** level` (`range_support`):

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
from typing import Final

import numpy as np

from data.arrays import IntArray
from data.places.gazetteer import Place
from data.records import RangeFact
from recognize.confidence.prior import Prior, quarter_of
from recognize.confidence.range_support import Support, support_of
from recognize.scoring.pairs import Scores

RangesOf = Callable[[Sequence[str]], Sequence[tuple[RangeFact, ...]]]
"""Taxon ids -> range facts of each."""
WhereWhen = tuple[Place, int | None]
"""Place and month, 1 to 12, of a photo."""
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                  "November", "December")  # fmt: skip


def month_of(date: str | None) -> int | None:
    """Return the month of an ISO 8601 date; None for an invalid one.

    Example:
        >>> month_of("2026-06-21T10:00:00"), month_of(None)
        (6, None)
    """
    quarter = quarter_of(date)
    return None if quarter is None else quarter // 4 + 1


def place_text(taken: WhereWhen | None) -> str | None:
    """Return place and month in words; None without a place.

    Example:
        >>> from data.places.gazetteer import place_of
        >>> place_text((place_of("Norway"), 6))
        'Norway in June'
    """
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

        Args:
            ranges_of: reader of range facts; texts are read when a species is first among the best of a photo.
            taxon_ids: species of the knowledge base.
            temperature: divisor of the scores before the softmax.
            odds: of a species with a level of 1 against one without a range.
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
