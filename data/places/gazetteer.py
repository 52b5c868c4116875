"""Gazetteer of countries, states, islands and regions, each with its extent on a grid of half a degree.

The countries are those of Natural Earth 1:110m (public domain), drawn as a small picture. States and regions are parts
of countries inside boxes of our own (`places.txt`). This is coarse, and enough for "said to breed in Scandinavia".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from data.errors import BadInput
from data.words import nearest

Cells = NDArray[np.bool_]
"""Cells of half a degree, `(360, 720)`, north and west first."""

ROWS, COLUMNS = 360, 720
_KM_OF_CELL: Final = 0.5 * 111.2
_REACH: Final = 3  # cells from a photo at sea to the nearest land
_PART: Final = 0.45  # "northern" means all but this share of a place's area
_LATITUDES: Final = 89.75 - 0.5 * np.arange(ROWS)
_LONGITUDES: Final = -179.75 + 0.5 * np.arange(COLUMNS)
_AREAS: Final = np.cos(np.radians(_LATITUDES)) * _KM_OF_CELL**2  # km², of a cell of each row
_N_BITS: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
_DIRECTION = re.compile(
    r"(?P<direction>(?:extreme |far )?(?P<y>north|south)?(?P<join>[- ]?)(?P<x>east|west)?(?P<middle>central)?"
    r"(?:ern(?:most)?)?) (?=\w)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place and its extent."""

    name: str
    cell: tuple[int, int] | None = None
    """Row and column of a point; None for other places."""
    extent: NDArray[np.uint8] = field(repr=False, compare=False)
    """Cells in packed bits, `(360, 90)`: hundreds of places stay in memory."""
    area: float = field(repr=False, compare=False)
    """Square kilometres."""
    latitude: float = field(repr=False, compare=False)
    """Mean latitude in degrees."""


def find_place(name: str) -> Place | None:
    """Return the place with a name, also part of one; None for an unknown name."""
    found = canonical_name(name)
    return None if found is None else _place(found)


def place_of(text: str) -> Place:
    """Return the place of a name or of "latitude,longitude".

    Raises:
        BadInput: for an unknown name, with the nearest names, or for numbers out of range.
    """
    if point := re.fullmatch(r"\s*([+-]?\d+(?:\.\d+)?)\s*[,; ]\s*([+-]?\d+(?:\.\d+)?)\s*", text):
        return place_at(float(point[1]), float(point[2]))
    if (found := find_place(text)) is not None:
        return found
    near = nearest(fold(text), names(), 3, at_least=0.7)
    hint = f"Did you mean {' or '.join(names()[each] for each in near)}?" if near else ""
    raise BadInput(
        f'Unknown place "{text}".',
        hint=hint or "Expected a country, a state, a region, or latitude,longitude such as 60.4,5.3.",
    )


def place_at(latitude: float, longitude: float) -> Place:
    """Return the place of a point, named by its state and country; a point near the coast is moved to land.

    Raises:
        BadInput: for degrees out of range.
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise BadInput(
            f"Expected a latitude from -90 to 90 and a longitude from -180 to 180, got {latitude:g}, {longitude:g}"
        )
    row, column = min(ROWS - 1, int((90 - latitude) * 2)), min(COLUMNS - 1, int((longitude + 180) * 2))
    return _place_of_cell(*_nearest_land(row, column))


@lru_cache(maxsize=1 << 16)
def overlap(one: Place, other: Place) -> float:
    """Return the area that two places share, in square kilometres."""
    for point, place in ((one, other), (other, one)):
        if point.cell is not None:
            return point.area if _holds(place, *point.cell) else 0.0
    return float(_N_BITS[one.extent & other.extent].sum(axis=1) @ _AREAS)


@lru_cache(maxsize=1 << 16)
def distance_km(one: Place, other: Place) -> float:
    """Return the distance of the nearest cells of two places, roughly, in kilometres."""
    if overlap(one, other):
        return 0.0
    a, b = _unit_vectors(one), _unit_vectors(other)
    return float(np.arccos(np.clip((a @ b.T).max(), -1, 1)) * 6371)


@cache
def names() -> Mapping[str, str]:
    """Return folded name -> name of all places."""
    return {fold(other): name for name, entry in _table().entries.items() for other in (name, *entry.others)}


def names_as_written() -> list[str]:
    """Return all names of all places, as texts write them: "Atlas mountains" too."""
    found = [each for name, entry in _table().entries.items() for each in (name, *entry.others)]
    lower = [
        re.sub(r" (Islands?|Mountains|Peninsula|Desert|Basin|Plateau)$", lambda end: end[0].lower(), each)
        for each in found
    ]
    return list(dict.fromkeys(found + lower))


def fold(name: str) -> str:
    """Return a name in lower case without accents, article and double spaces."""
    plain = unicodedata.normalize("NFKD", name.replace("’", "'"))
    folded = " ".join("".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().split())
    return folded.removeprefix("the ")


@cache
def canonical_name(name: str) -> str | None:
    """Return the name of a place, or of its part in a direction, as the gazetteer writes it; None if unknown."""
    folded = fold(name)
    if folded in names():
        return names()[folded]
    match = _DIRECTION.match(folded)
    if match is None or not (direction := direction_of(match["direction"])):
        return None
    rest = fold(folded[match.end() :])
    for each in (direction, direction.removesuffix("ern")):
        if f"{each} {rest}" in names():
            return names()[f"{each} {rest}"]
    return f"{direction} {names()[rest]}" if rest in names() else None


def direction_of(text: str) -> str:
    """Return a direction in one spelling, empty if it is none."""
    folded = fold(text)
    match = _DIRECTION.match(f"{folded} x")
    if match is None or match.end() != len(folded) + 1:
        return ""
    parts = (match["y"] or "") + (match["x"] or "")
    if match["middle"]:
        return "central" if not parts else f"{parts}-central"
    return f"{parts}ern" if parts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    others: tuple[str, ...]
    members: tuple[str, ...]
    boxes: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    entries: dict[str, _Entry]
    countries: tuple[str, ...]
    small: tuple[str, ...]
    """Islands and states."""


@cache
def _table() -> _Table:
    entries: dict[str, _Entry] = {}
    by_section: dict[str, list[str]] = {}
    section = ""
    for line in files("data.places").joinpath("places.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            head, members, *boxes = (part.strip() for part in line.split("|"))
            name, *others = (each.strip() for each in head.split(" = "))
            of = tuple(each.strip() for each in members.split(", ")) if members not in ("", "country") else ()
            given = tuple(tuple(map(float, box.split())) for box in boxes[0].split(";")) if boxes and boxes[0] else ()
            entries[name] = _Entry(others=tuple(others), members=of, boxes=given)
            by_section.setdefault(section, []).append(name)
    return _Table(
        entries=entries,
        countries=tuple(by_section["countries"]),
        small=(*by_section["islands"], *by_section["states"]),
    )


@cache
def _countries() -> NDArray[np.uint8]:
    """Return the number of the country of each cell, 0 at sea."""
    with files("data.places").joinpath("countries.png").open("rb") as file, Image.open(file) as picture:
        return np.asarray(picture, dtype=np.uint8)


@cache
def _place(name: str) -> Place:
    """Return the place with a canonical name."""
    if name not in _table().entries:
        direction, _, whole = name.partition(" ")
        return _made(name, _part(_cells(_place(whole)), direction))
    entry = _table().entries[name]
    cells = np.zeros((ROWS, COLUMNS), dtype=np.bool_)
    if name in _table().countries:
        cells |= _countries() == _table().countries.index(name) + 1
    for member in entry.members:
        cells |= _cells(_place(member))
    if entry.boxes:
        boxed = np.zeros((ROWS, COLUMNS), dtype=np.bool_)
        for south, north, west, east in entry.boxes:
            top, left = round((90 - north) * 2), round((west + 180) * 2)
            rows = slice(top, max(round((90 - south) * 2), top + 1))
            boxed[rows, left : max(round((east + 180) * 2), left + 1)] = True
        cells = cells & boxed if entry.members else boxed
    return _made(name, cells)


@lru_cache(maxsize=4096)
def _place_of_cell(row: int, column: int) -> Place:
    cells = np.zeros((ROWS, COLUMNS), dtype=np.bool_)
    cells[row, column] = True
    country = _countries()[row, column]
    found = [_table().countries[country - 1]] if country else []
    smaller = [place for name in _table().small if _holds(place := _place(name), row, column)]
    found = [place.name for place in sorted(smaller, key=lambda place: place.area)[:1]] + found
    at_sea = f"{_LATITUDES[row]:.0f}, {_LONGITUDES[column]:.0f}"
    return _made(", ".join(found) or at_sea, cells, cell=(row, column))


def _made(name: str, cells: Cells, *, cell: tuple[int, int] | None = None) -> Place:
    counts = np.count_nonzero(cells, axis=1)  # by row
    latitude = float(counts @ _LATITUDES / counts.sum())
    return Place(
        name=name, cell=cell, extent=np.packbits(cells, axis=1), area=float(counts @ _AREAS), latitude=latitude
    )


def _cells(place: Place) -> Cells:
    return np.unpackbits(place.extent, axis=1).view(np.bool_)


def _holds(place: Place, row: int, column: int) -> bool:
    return bool(place.extent[row, column // 8] >> (7 - column % 8) & 1)


def _part(cells: Cells, direction: str) -> Cells:
    """Return the part of a place in a direction, by shares of its area."""
    rows, columns = np.divmod(np.flatnonzero(cells), COLUMNS)
    areas = _AREAS[rows]
    angles = np.radians(_LONGITUDES[columns])
    middle = np.degrees(np.arctan2((np.sin(angles) * areas).sum(), (np.cos(angles) * areas).sum()))
    x = (_LONGITUDES[columns] - middle + 180) % 360 - 180
    y = _LATITUDES[rows]
    chosen = np.ones(len(rows), dtype=np.bool_)
    if "north" in direction:
        chosen &= y >= _quantile(y, areas, _PART)
    if "south" in direction:
        chosen &= y <= _quantile(y, areas, 1 - _PART)
    if "east" in direction:
        chosen &= x >= _quantile(x, areas, _PART)
    if "west" in direction:
        chosen &= x <= _quantile(x, areas, 1 - _PART)
    if "central" in direction:
        for values in (x, y):
            chosen &= (values >= _quantile(values, areas, 0.15)) & (values <= _quantile(values, areas, 0.85))
    part = np.zeros_like(cells)
    part[rows[chosen], columns[chosen]] = True
    return part


def _quantile(values: NDArray[np.floating], weights: NDArray[np.floating], share: float) -> float:
    order = np.argsort(values)
    upto = np.cumsum(weights[order])
    return float(values[order][min(len(order) - 1, int(np.searchsorted(upto, share * upto[-1])))])


def _nearest_land(row: int, column: int) -> tuple[int, int]:
    """Return the nearest cell of a country or island, or the cell itself if none is near."""
    islands = [_place(name) for name in _table().small if not _table().entries[name].members]
    if any(_holds(place, row, column) for place in islands):
        return row, column
    rows, columns = np.nonzero(_countries()[max(0, row - _REACH) : row + _REACH + 1])
    rows = rows + max(0, row - _REACH)
    away = np.abs(columns - column)
    away = np.minimum(away, COLUMNS - away) * np.cos(np.radians(_LATITUDES[row]))
    far = np.hypot(away, rows - row)
    if not len(far) or far.min() > _REACH:
        return row, column
    nearest = int(np.argmin(far))
    return int(rows[nearest]), int(columns[nearest])


@lru_cache(maxsize=4096)
def _unit_vectors(place: Place) -> NDArray[np.float64]:
    """Return directions of at most 512 cells, evenly chosen, `(n, 3)`."""
    cells = np.flatnonzero(_cells(place))  # much faster than `nonzero` of two dimensions
    rows, columns = np.divmod(cells[:: 1 + len(cells) // 512], COLUMNS)
    y, x = np.radians(_LATITUDES[rows]), np.radians(_LONGITUDES[columns])
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=1)
