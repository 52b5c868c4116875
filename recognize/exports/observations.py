"""Identified photos for portals of observations: iNaturalist's CSV of observations and eBird's record format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import PurePath
from typing import Final

from data.frames import escape_formula
from data.records import Identification
from data.words import plural
from recognize.answers import percent
from recognize.exports.document import Document, Facts, as_rows, left_out, refuse_without

INATURALIST: Final = (
    "Taxon name", "Date observed", "Description", "Place name", "Latitude / y coord / northing",
    "Longitude / x coord / easting", "Tags", "Geoprivacy",
)  # fmt: skip
"""Columns of iNaturalist's template."""


def inaturalist(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return iNaturalist's CSV of observations: one of each taxon that a photo or encounter shows, of any rank."""
    seen: set[tuple[str, str]] = set()
    lines: list[tuple[object, ...]] = []
    n, n_unnamed, n_without = 0, 0, 0
    for row in rows:
        n += 1
        answer, moment, place = row.answer, facts.moment_of(row.date), facts.place_of(row)
        if row.status != "identified" or answer is None:
            n_unnamed += 1
            continue
        if (row.image, answer.name) in seen:  # another bird of it in the same photo
            continue
        seen.add((row.image, answer.name))
        n_without += place is None or moment is None
        sure = "" if answer.confidence is None else f", {percent(answer.confidence)} sure"
        by = _namer(row, facts) + ("" if row.correction else sure)
        names = ", ".join(PurePath(photo.image).name for photo in row.photos) or PurePath(row.image).name
        latitude, longitude = place or (None, None)
        when = (
            None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S" if facts.has_time(row.date) else "%Y-%m-%d")
        )
        where = facts.place_name or None
        lines.append((answer.name, when, f"Photo {names}, named by {by}", where, latitude, longitude,
                      "Fieldmark", None))  # fmt: skip
    notes = left_out(n_unnamed, n, "row", "no name")
    if n_without:
        notes += (f"{plural(n_without, 'observation')} without place or date: iNaturalist keeps them casual",)
    text = as_rows([INATURALIST, *([*map(escape_formula, line)] for line in lines)])
    return Document(files={"": text}, notes=notes)


def _namer(row: Identification, facts: Facts) -> str:
    """Return who named a row: a person or this program."""
    return row.correction.by or "a person" if row.correction else facts.program


EBIRD_COLUMNS: Final = 19
"""Of the record format: English name, genus, species, number, comments, location, latitude, longitude, date, time,
state, country, protocol, observers, minutes, whether all species are reported, distance, area, comments."""
_MOST_BYTES: Final = 1_000_000  # of a file that eBird takes


@dataclass(slots=True)
class _Checklist:
    """Birds of one place on one day."""

    place: tuple[float, float]
    day: date
    first: time | None = None
    """Earliest time of day."""
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Species -> the most of its birds in one photo."""
    photos: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    namers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def ebird(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return eBird's record format: a row for each species of a checklist, without a heading, quotes and commas.

    A checklist is a day at a place, to a hundredth of a degree; the number of a species is the most of its birds in one
    photo, since several photos may show the same bird. Names are those of eBird; only species count.

    Raises:
        BadInput: if no named bird has both a place and a date.
    """
    checklists: dict[tuple[float, float, str], _Checklist] = {}
    in_photo: dict[tuple[str, str], int] = defaultdict(int)
    n, n_unnamed, n_foreign, without = 0, 0, 0, {"place": 0, "time": 0}
    for row in rows:
        n += 1
        answer, moment, place = row.answer, facts.moment_of(row.date), facts.place_of(row)
        if row.status != "identified" or answer is None or answer.rank != "species":
            n_unnamed += 1
        elif place is None or moment is None:
            without["place"] += place is None
            without["time"] += moment is None
        elif facts.name_in_ebird(answer.name) is None:
            n_foreign += 1
        else:
            key = (round(place[0], 2), round(place[1], 2), moment.date().isoformat())
            found = checklists.setdefault(key, _Checklist(place, moment.date()))
            if facts.has_time(row.date):
                found.first = min(found.first or moment.time(), moment.time())
            in_photo[row.image, answer.name] += 1
            found.counts[answer.name] = max(found.counts[answer.name], in_photo[row.image, answer.name])
            found.photos[answer.name].add(row.image)
            found.namers[answer.name].add(_namer(row, facts))
    if not (checklists or n_foreign) and any(without.values()):
        raise refuse_without([name for name, lacks in without.items() if lacks], "ebird")
    lines = [line for key in sorted(checklists, key=lambda key: key[::-1]) for line in _lines(checklists[key], facts)]
    text = as_rows(lines)
    notes = (
        *left_out(n_unnamed, n, "row", "not named to species"),
        *left_out(without["place"], n, "row", "no place; --place gives it"),
        *left_out(without["time"], n, "row", "no date; --date gives it"),
        *left_out(n_foreign, n, "row", "no species of eBird"),
        f"{plural(len(checklists), 'incidental checklist')} for eBird Record Format (Extended): check each before you "
        "submit it",
    )
    if len(text.encode()) > _MOST_BYTES:
        notes += ("eBird takes files of up to 1 MB: split this one",)
    return Document(files={"": text}, notes=notes)


def _lines(checklist: _Checklist, facts: Facts) -> Iterable[list[object]]:
    """Yield the rows of a checklist, in the order of its species."""
    latitude, longitude = (round(degrees, 5) for degrees in checklist.place)
    where = facts.place_name or (
        f"{abs(latitude):.4f} {'N' if latitude >= 0 else 'S'} {abs(longitude):.4f} {'E' if longitude >= 0 else 'W'}"
    )
    began = "" if checklist.first is None else f"{checklist.first:%H:%M}"
    for name, count in checklist.counts.items():
        english, scientific = facts.name_in_ebird(name) or ("", name)
        genus, _, species = scientific.partition(" ")
        by = " and ".join(sorted(checklist.namers[name]))
        comments = f"Named from {plural(len(checklist.photos[name]), 'photo')} by {by}"
        cells = [english, genus, species, count, comments, where, latitude, longitude,
                 f"{checklist.day:%m/%d/%Y}", began, "", "", "Incidental", "", "", "N", "", "", ""]  # fmt: skip
        yield [_plain(cell) if isinstance(cell, str) else cell for cell in cells]


def _plain(text: str) -> str:
    """Return a text without commas and quotes, which eBird cannot read."""
    return " ".join(text.replace(",", " ").replace('"', " ").split())
