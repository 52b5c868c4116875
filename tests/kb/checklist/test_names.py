"""Names are compared regardless of spelling differences between lists."""

from __future__ import annotations

import pytest

from kb.checklist.names import epithet_stem, fold, near_names


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
def test_spelling_variants_of_a_name_are_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("зяблик", "снегирь"), ("Merlin", "Merlins"), ("Kea", "Kaka")])
def test_different_names_stay_different(one: str, other: str) -> None:
    assert fold(one) != fold(other) != ""


@pytest.mark.parametrize(
    ("binomial", "stem"),
    [("Motacilla alba", "alb"), ("Motacilla albus", "alb"), ("Foo a", "a")],
)
def test_epithet_stems_drop_the_ending(binomial: str, stem: str) -> None:
    assert epithet_stem(binomial) == stem


def test_near_names_are_sorted_and_exclude_dissimilar_ones() -> None:
    names = ["snowyowls", "showyowls", "snowyowl", "sootyowl", "mallard", "snowyplover"]
    assert near_names("snowyowll", names) == ["snowyowl", "snowyowls"]
    assert near_names("plover", names) == ["snowyplover"]
