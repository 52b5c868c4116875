"""Statements on the range of a species."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RangeRole = Literal["resident", "breeds", "winters", "passage", "vagrant", "introduced", "occurs", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFact:
    """One place of a species' range, as its text states it."""

    place: str
    """Name in the gazetteer, with a direction where the text has one: `northern India`."""
    role: RangeRole
    """Part that the place plays in the year of the species; `occurs` where the text says no more."""
    months: tuple[int, ...] = ()
    """Months that the text states, 1 to 12; empty for none."""
    sentence: str = ""
    """The sentence that states it."""
