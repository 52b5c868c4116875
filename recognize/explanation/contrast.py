"""Differences between two descriptions: the distinguishing marks of two species."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from data.lexicon.appearance import kind_of
from data.lexicon.marks import Mark, every_mark, find_marks
from data.lexicon.tables import BIRDS

_WHOLE: Final = ("", "plumage", "body")  # "red all over", "the plumage is red"
_Aspect = tuple[str, str, str, str]
"""Part, sex or stage of life, side, and kind of look of a mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContrast:
    """A part of the body with looks of one kind, such as colours, that two descriptions do not share.

    Looks of the whole part, not of a marking on it.
    """

    part: str
    sex_age: str = ""
    """As in a mark; females are compared with females, larvae with larvae."""
    side: str = ""
    """As in a mark; uppersides are compared with uppersides."""
    kind: str = "colour"
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def named(self) -> str:
        """The part with its sex or age: `crown of the female`."""
        part = f"{self.part} on the {self.side}" if self.side else self.part
        return f"{part} of the {self.sex_age}" if self.sex_age else part


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Differences between two descriptions."""

    differing: tuple[PartContrast, ...] = ()
    only_ours: tuple[Mark, ...] = ()
    """Marks that the other description lacks, in the order of the text, differing parts included."""
    only_theirs: tuple[Mark, ...] = ()

    def elsewhere(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return the marks outside the differing parts."""
        aspects = {(each.part, each.sex_age, each.side, each.kind) for each in self.differing}
        return [mark for mark in marks if mark.marking or _aspect(mark) not in aspects]


def contrast(ours: str, theirs: str, group: str = BIRDS) -> Contrast:
    """Return the differences between two descriptions, in the words of a group of organisms."""
    mine, other = find_marks(ours, group), find_marks(theirs, group)
    every_mine, every_other = set(every_mark(ours, group)), set(every_mark(theirs, group))
    looks, other_looks = _looks_by_aspect(mine), _looks_by_aspect(other)
    return Contrast(
        differing=tuple(
            PartContrast(
                part=aspect[0],
                sex_age=aspect[1],
                side=aspect[2],
                kind=aspect[3],
                ours=tuple(sorted(found.values())),
                theirs=tuple(sorted(other_looks[aspect].values())),
            )
            for aspect, found in looks.items()
            if aspect in other_looks and not found.keys() & other_looks[aspect].keys()
        ),
        only_ours=_without_bare([mark for mark in mine if not _is_named(mark, every_other)]),
        only_theirs=_without_bare([mark for mark in other if not _is_named(mark, every_mine)]),
    )


def _is_named(mark: Mark, marks: Collection[Mark]) -> bool:
    """Return whether a mark is among marks; a look without a part equals that look of any part."""
    if mark in marks:
        return True
    if mark.marking or mark.part not in _WHOLE:
        return False
    alike = [each for each in marks if each.look == mark.look and (each.sex_age == mark.sex_age or not mark.part)]
    return any(not mark.part or (each.part in _WHOLE and not each.marking) for each in alike)


def _aspect(mark: Mark) -> _Aspect:
    return mark.part, mark.sex_age, mark.side, kind_of(mark.look)


def _looks_by_aspect(marks: Sequence[Mark]) -> dict[_Aspect, dict[str, str]]:
    """Return (part, sex or age, kind) -> look of the whole part -> its word in the text."""
    looks: dict[_Aspect, dict[str, str]] = {}
    for mark in marks:
        if mark.part and mark.look and not mark.marking:
            looks.setdefault(_aspect(mark), {}).setdefault(mark.look, mark.look_word or mark.look)
    return looks


def _without_bare(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks without "wing bars" beside "white wing bars"."""
    with_look = {(mark.part, mark.sex_age, mark.side) for mark in marks if mark.look}
    return tuple(mark for mark in marks if mark.look or (mark.part, mark.sex_age, mark.side) not in with_look)
