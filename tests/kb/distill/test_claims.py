"""Claims of sentences and their support in the evidence."""

from __future__ import annotations

import pytest

from kb.distill.claims import claims, colours_by_sex_age, sexes_ages, swapped, unsupported
from kb.distill.subjects import stated_subject


def test_claims_are_colours_shades_parts_and_numbers() -> None:
    assert claims("The plumage of both is dark, with 2 white bars on the wings.") == {
        "dark": "shade",
        "white": "colour",
        "wings": "part",
        "2": "number",
    }


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("The bill is gray.", "a grey beak"),  # synonyms
        ("It has blackish wings.", "the wing is black"),  # a shade, a plural
        ("It has a gold crown.", "golden crowns"),
        ("It is greyer on the back.", "grey back"),
        ("It is 20 cm long with 2 bars on the wing.", "20 cm, two bars across the wing"),
        ("The underside is plain.", "It has a plain underside and a red tail."),
    ],
)
def test_synonyms_support_a_claim(statement: str, evidence: str) -> None:
    assert unsupported(statement, [evidence]) == {}


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("It has a purple crown.", {"purple": "colour"}),
        ("It has a red crown and a red tail.", {"tail": "part"}),
        ("It is 25 cm long with a red crown.", {"25": "number"}),
        ("It has a dark red crown.", {"dark": "shade"}),
        ("It has a brown crown.", {"brown": "colour"}),
    ],
)
def test_unsupported_claims_are_named(statement: str, missing: dict[str, str]) -> None:
    assert unsupported(statement, ["It has a red crown, bronze back", "and is 20 cm long."]) == missing


def test_support_may_come_from_several_passages() -> None:
    assert unsupported("The crown is red and the tail black.", ["a red crown", "a black tail"]) == {}


def test_a_part_is_not_supported_by_a_longer_colour_word() -> None:
    assert unsupported("It has a plain chest.", ["It is chestnut."]) == {"chest": "part"}


@pytest.mark.parametrize(
    ("sentence", "owners"),
    [
        ("Males and females have a red crown.", {"red": {"both"}}),
        ("The male is red, and the female has a brown crown.", {"red": {"male"}, "brown": {"female"}}),
        ("The female is duller than the adult male, with a brown crown.", {"brown": {"female"}}),
        ("The male is a bird with a dark crown.", {}),  # a shade is not a colour
    ],
)
def test_a_colour_belongs_to_the_preceding_sex(sentence: str, owners: dict[str, set[str]]) -> None:
    assert colours_by_sex_age(sentence) == owners


def test_a_colour_absent_from_the_evidence_is_not_swapped() -> None:
    assert swapped("The female is blue.", ["The male is red."]) == {}


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("Males and females are red.", ""),
        ("The female has a long pale tail with many bars, as males and females of other wrens do.", "female"),
        ("The crown, nape and mantle are black with long pale streaks in the male.", None),
    ],
)
def test_the_stated_subject_is_near_the_sentence_start(sentence: str, subject: str | None) -> None:
    assert stated_subject(sentence) == subject


def test_first_winter_birds_count_as_juveniles() -> None:
    assert sexes_ages("First-winter birds are plainer.") == sexes_ages("Immatures are plainer.") == {"juvenile"}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("The male is brown and the female black.", {"brown": ("male", "female"), "black": ("female", "male")}),
        ("The female is brown.", {}),
        ("The juvenile has a white throat.", {}),  # the evidence names no sex or age
        ("Males and females have a brown nape.", {}),
        ("The tail is black.", {}),
    ],
)
def test_colours_of_the_wrong_sex_are_reported(statement: str, found: dict[str, tuple[str, str]]) -> None:
    evidence = ["The throat is white.", "The male is black, duller than the female of summer.", "The female is brown."]
    assert swapped(statement, evidence) == found
