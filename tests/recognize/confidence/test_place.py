"""Place and season as a prior: the range in a text favours a species, and no species is ruled out."""

import math
from typing import Any

import numpy as np
import pytest

from data.places.gazetteer import place_at, place_of
from data.records import RangeFact
from recognize.confidence.place import PlacePrior, month_of, support_of
from recognize.scoring.stages import Ranking

JUNE, JANUARY = 6, 1


def facts(*statements: str) -> tuple[RangeFact, ...]:
    """Return facts from `role place`."""
    parts = (statement.partition(" ") for statement in statements)
    return tuple(RangeFact(role=role, place=place) for role, _, place in parts)  # type: ignore[arg-type]


def level(place: str, month: int | None, *statements: str) -> float:
    return support_of(facts(*statements), place_of(place), month).level


def test_the_text_supports_a_place_from_resident_down_to_absent() -> None:
    """Living there > loosely there > out of season > a text without a range > far away > absent."""
    levels = [
        level("Norway", JUNE, "breeds Scandinavia", "winters Africa"),
        level("Norway", JUNE, "occurs Eurasia"),
        level("Norway", JANUARY, "breeds Scandinavia", "winters Africa"),
        level("Norway", JUNE),
        level("Norway", JUNE, "resident Brazil"),
        level("Norway", JUNE, "occurs Europe", "absent Norway"),
    ]
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) == len(levels)
    assert levels[0] == 1
    assert levels[3] == 0


def test_the_season_follows_the_hemisphere_and_the_stated_months() -> None:
    breeds = ("breeds Argentina", "winters Brazil")
    assert level("Argentina", JANUARY, *breeds) > level("Argentina", JUNE, *breeds)
    assert level("Brazil", JUNE, *breeds) > level("Brazil", JANUARY, *breeds)
    stated = RangeFact(role="winters", place="Mexico", months=(6, 7))
    assert support_of((stated,), place_of("Mexico"), JUNE).level == 1
    assert support_of((stated,), place_of("Mexico"), JANUARY).level < 1


def test_the_level_follows_what_the_text_says_of_the_place() -> None:
    assert level("Norway", JANUARY, "breeds Norway") == 1, "a text that does not send them away"
    assert level("Norway", None, "breeds Norway", "winters Spain") == 1
    assert level("Norway", None, "breeds Sweden") > 0 > level("Australia", None, "breeds Sweden"), "neighbours"
    assert level("Norway", None, "vagrant Norway") < level("Norway", None, "occurs Norway")
    assert level("Ireland", None, "occurs Europe", "absent Ireland") < 0, "the smaller place decides"
    assert level("Tasmania", None, "absent Australia", "resident Tasmania") == 1


def test_a_point_lies_in_the_region_that_the_text_names() -> None:
    found = support_of(facts("breeds northern Norway"), place_at(69.6, 18.9), JUNE)
    assert (found.level, found.text) == (1, "said to breed in northern Norway")
    assert support_of(facts("breeds northern Norway"), place_at(58.1, 8.0), JUNE).text.endswith("which is near")


def test_the_support_is_put_in_words() -> None:
    for statements, text in (
        (("winters Mexico",), "said to winter in Mexico"),
        (("resident Mexico",), "said to live all year in Mexico"),
        (("breeds Mexico", "winters Brazil"), "said to breed in Mexico, but in another season"),
        (("resident Australia",), "said to occur elsewhere"),
        ((), ""),
    ):
        assert support_of(facts(*statements), place_of("Mexico"), JANUARY).text == text, statements


RANGES = {"a": facts("resident Brazil"), "b": facts("resident Norway"), "c": ()}


def prior(odds: float = 10.0, temperature: float = 2.0) -> PlacePrior:
    return PlacePrior(lambda ids: [RANGES[each] for each in ids], ("a", "b", "c"), temperature=temperature, odds=odds)


def ranking(**stages: Any) -> Ranking:
    return Ranking(species=np.array([0, 2, 1]), scores=np.array([3.0, 2.5, 2.0]), stages=stages)


def test_the_boost_is_the_log_odds_at_the_temperature_of_the_scores() -> None:
    after = prior().apply(ranking(text=np.array([0.3, 0.2, 0.1])), (place_of("Norway"), JUNE))
    assert after.species.tolist() == [1, 2, 0]
    assert after.stages["place"].tolist() == pytest.approx([2 * math.log(10), 0, -1.2 * math.log(10)])
    assert after.stages["text"].tolist() == [0.1, 0.2, 0.3], "stages follow their species"
    after = prior().apply(ranking(text=np.array([0.3])), (place_of("Norway"), JUNE))
    assert np.isnan(after.stages["text"]).tolist() == [True, True, False]


def test_texts_of_distant_ranks_are_not_read() -> None:
    read: list[str] = []

    def ranges_of(ids: Any) -> list[tuple[RangeFact, ...]]:
        read.extend(ids)
        return [() for _ in ids]

    names = tuple(f"species-{i}" for i in range(200))
    many = Ranking(species=np.arange(200), scores=-np.arange(200.0), stages={})
    made = PlacePrior(ranges_of, names, temperature=1.0, odds=10.0)
    for _ in range(2):
        made.apply(many, (place_of("Norway"), JUNE))
    assert read == list(names[: PlacePrior.reach])


def test_the_month_comes_from_the_date() -> None:
    assert [month_of(date) for date in ("2026-06-21T10:00:00", "2026-12-31", "2026-13-01", None)] == [6, 12, None, None]
