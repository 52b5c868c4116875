"""Gazetteer: names, directions, points, and relations of places."""

from __future__ import annotations

import numpy as np
import pytest

from data.errors import BadInput
from data.places.gazetteer import distance_km, find_place, names, overlap, place_at, place_of

SPELLINGS = {
    "the USA": "United States",
    "Great Britain": "United Kingdom",
    "south-east Asia": "Southeastern Asia",
    "South East Asia": "Southeastern Asia",
    "East Africa": "Eastern Africa",
    "North Africa": "Northern Africa",
    "southernmost India": "southern India",
    "north western Europe": "Northwestern Europe",
    "Galápagos": "Galápagos Islands",
    "galapagos": "Galápagos Islands",
    "West Virginia": "West Virginia",
    "New South Wales": "New South Wales",
}
POINTS = {
    (60.4, 5.3): "Norway",
    (27.7, 85.3): "Nepal",
    (37.5, -77.4): "Virginia, United States",
    (51.05, -114.1): "Alberta, Canada",
    (28.1, -15.4): "Canary Islands",
    (-33.9, 151.2): "New South Wales, Australia",
    (57.0, 7.5): "Denmark",  # at sea, near the coast
    (45.2, -35.2): "45, -35",  # in the middle of the Atlantic
}


def test_a_place_has_one_name_in_all_spellings() -> None:
    for written, name in SPELLINGS.items():
        found = find_place(written)
        assert found is not None and found.name == name, written


def test_every_place_has_an_extent() -> None:
    places = [place for name in set(names().values()) if (place := find_place(name)) is not None]
    assert len(places) > 350
    assert [place.name for place in places if not 0 < place.area < 150e6] == []


def test_a_point_is_named_by_state_and_country() -> None:
    assert {point: place_at(*point).name for point in POINTS} == POINTS


def test_a_direction_means_that_part_of_a_place() -> None:
    oslo, tromso = place_at(59.9, 10.8), place_at(69.6, 18.9)
    northern = find_place("northern Norway")
    assert northern is not None
    assert np.array_equal(northern.extent & tromso.extent, tromso.extent)
    assert not overlap(northern, oslo)


def test_a_region_holds_its_countries() -> None:
    norway, scandinavia, africa = (find_place(name) for name in ("Norway", "Scandinavia", "Africa"))
    assert norway is not None
    assert scandinavia is not None
    assert africa is not None
    assert overlap(norway, scandinavia) == pytest.approx(norway.area)
    assert overlap(norway, africa) == 0
    assert distance_km(norway, scandinavia) == 0
    assert 1500 < distance_km(norway, africa) < 3500


def test_an_unknown_name_is_answered_with_near_names() -> None:
    with pytest.raises(BadInput, match='Unknown place "Norwey"') as error:
        place_of("Norwey")
    assert error.value.hint == "Did you mean Norway?"
    with pytest.raises(BadInput) as error:
        place_of("zzz")
    assert "latitude,longitude" in str(error.value.hint)


def test_a_place_may_be_given_in_degrees() -> None:
    assert place_of("60.4,5.3").name == "Norway"
    assert place_of("-33.9, 151.2").cell is not None
    with pytest.raises(BadInput, match="latitude from -90 to 90"):
        place_of("95,5")
