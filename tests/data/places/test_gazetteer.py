import numpy as np
import pytest

from data.errors import BadInput
from data.places.gazetteer import distance_km, find_place, overlap, place_at, place_of

SPELLINGS = {
    "the USA": "United States", "Great Britain": "United Kingdom", "south-east Asia": "Southeastern Asia",
    "South East Asia": "Southeastern Asia", "East Africa": "Eastern Africa", "North Africa": "Northern Africa",
    "southernmost India": "southern India", "north western Europe": "Northwestern Europe",
    "Galápagos": "Galápagos Islands", "galapagos": "Galápagos Islands", "West Virginia": "West Virginia",
    "New South Wales": "New South Wales",
}  # fmt: skip
# The last are at sea: near the coast, and in the middle of the Atlantic.
POINTS = {
    (60.4, 5.3): "Norway", (27.7, 85.3): "Nepal", (37.5, -77.4): "Virginia, United States",
    (51.05, -114.1): "Alberta, Canada", (28.1, -15.4): "Canary Islands", (-33.9, 151.2): "New South Wales, Australia",
    (57.0, 7.5): "Denmark", (45.2, -35.2): "45, -35",
}  # fmt: skip


def test_a_place_has_one_name_in_all_spellings() -> None:
    for written, name in SPELLINGS.items():
        found = find_place(written)
        assert found is not None and found.name == name, written


def test_a_point_is_named_by_state_and_country_and_a_direction_means_a_part() -> None:
    assert {point: place_at(*point).name for point in POINTS} == POINTS
    oslo, tromso, northern = place_at(59.9, 10.8), place_at(69.6, 18.9), place_of("northern Norway")
    assert np.array_equal(northern.extent & tromso.extent, tromso.extent)
    assert not overlap(northern, oslo)


def test_a_region_holds_its_countries() -> None:
    norway, scandinavia, africa = map(place_of, ("Norway", "Scandinavia", "Africa"))
    assert overlap(norway, scandinavia) == pytest.approx(norway.area)
    assert overlap(norway, africa) == 0
    assert distance_km(norway, scandinavia) == 0
    assert 1500 < distance_km(norway, africa) < 3500


def test_a_place_may_be_given_in_degrees_and_an_unknown_name_is_answered_with_near_names() -> None:
    assert place_of("60.4,5.3").name == "Norway"
    assert place_of("-33.9, 151.2").cell is not None
    for given, why, hint in (
        ("95,5", "latitude from -90 to 90", ""),
        ("Norwey", 'Unknown place "Norwey"', "Did you mean Norway?"),
        ("zzz", "zzz", "latitude,longitude"),
    ):
        with pytest.raises(BadInput, match=why) as error:
            place_of(given)
        assert hint in str(error.value.hint)
