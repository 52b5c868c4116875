"""Names are compared without the differences that lists make in spelling."""

from __future__ import annotations

import pytest

from kb.checklist.names import NearNames, epithet_stem, fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Black-crowned Night-Heron", "black crowned night heron"),
        ("Rüppell’s Gray Parrot", "Ruppell's Grey Parrot"),
        ("Hawaiʻi ʻElepaio", "Hawaii Elepaio"),
        ("Bjørn's Tærn", "bjorns taern"),
        ("зяблик", "ЗЯБЛИК"),
    ],
)
def test_spellings_of_one_name_are_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("зяблик", "снегирь"), ("Merlin", "Merlins"), ("Kea", "Kaka")])
def test_different_names_stay_different(one: str, other: str) -> None:
    assert fold(one) != fold(other) != ""


@pytest.mark.parametrize(
    ("binomial", "stem"),
    [("Motacilla alba", "alb"), ("Motacilla albus", "alb"), ("Foo a", "a")],
)
def test_the_stem_of_an_epithet_has_no_ending(binomial: str, stem: str) -> None:
    assert epithet_stem(binomial) == stem


def test_the_nearest_name_comes_first_and_unlike_names_are_left_out() -> None:
    near = NearNames(["snowyowl", "sootyowl", "mallard", "snowyplover"])
    assert near.to("snowyowll")[:2] == ["snowyowl", "sootyowl"]
    assert "mallard" not in near.to("snowyowll")
    assert near.to("plover") == ["snowyplover"]
