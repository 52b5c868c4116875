"""Claims of sentences and their support in the evidence."""

from __future__ import annotations

from kb.distill.claims import claims, colours_by_sex_age, sexes_ages, swapped, unsupported
from kb.distill.subjects import stated_subject

RED = "It has a red crown, bronze back and is 20 cm long, with a red tail."
# Statement, evidence, claims that it lacks.
UNSUPPORTED: dict[tuple[str, str], dict[str, str]] = {
    ("The bill is gray.", "a grey beak"): {},  # synonyms
    ("It has blackish wings.", "the wing is black"): {},  # a shade, a plural
    ("It has a gold crown.", "golden crowns"): {},
    ("It is greyer on the back.", "grey back"): {},
    ("It is 20 cm long with 2 bars on the wing.", "20 cm, two bars across the wing"): {},
    ("The underside is plain.", "It has a plain underside and a red tail."): {},
    ("It has a purple crown.", RED): {"purple": "colour"},
    ("It has a red crown and a red throat.", RED): {"throat": "part"},
    ("It is 25 cm long with a red crown.", RED): {"25": "number"},
    ("It has a dark red crown.", RED): {"dark": "shade"},
    ("It has a brown crown.", RED): {"brown": "colour"},
    ("It has a plain chest.", "It is chestnut."): {"chest": "part"},  # no part of a longer colour word
}
OWNERS = {
    "Males and females have a red crown.": {"red": {"both"}},
    "The male is red, and the female has a brown crown.": {"red": {"male"}, "brown": {"female"}},
    "The female is duller than the adult male, with a brown crown.": {"brown": {"female"}},
    "The male is a bird with a dark crown.": {},  # a shade is not a colour
}
SWAPPED = {
    "The male is brown and the female black.": {"brown": ("male", "female"), "black": ("female", "male")},
    "The female is brown.": {},
    "The female is blue.": {},  # the evidence has no blue
    "The juvenile has a white throat.": {},  # the evidence names no sex or age
    "Males and females have a brown nape.": {},
    "The tail is black.": {},
}


def test_claims_are_colours_shades_parts_and_numbers() -> None:
    assert claims("The plumage of both is dark, with 2 white bars on the wings.") == {
        "dark": "shade", "white": "colour", "wings": "part", "2": "number",
    }  # fmt: skip


def test_unsupported_claims_are_named_and_synonyms_are_support() -> None:
    found = {(statement, evidence): unsupported(statement, [evidence]) for statement, evidence in UNSUPPORTED}
    assert found == UNSUPPORTED
    assert unsupported("The crown is red and the tail black.", ["a red crown", "a black tail"]) == {}


def test_a_colour_belongs_to_the_preceding_sex() -> None:
    assert {sentence: colours_by_sex_age(sentence) for sentence in OWNERS} == OWNERS
    evidence = ["The throat is white.", "The male is black, duller than the female of summer.", "The female is brown."]
    assert {statement: swapped(statement, evidence) for statement in SWAPPED} == SWAPPED
    assert sexes_ages("First-winter birds are plainer.") == sexes_ages("Immatures are plainer.") == {"juvenile"}


def test_the_stated_subject_is_near_the_sentence_start() -> None:
    subjects = {
        "Males and females are red.": "",
        "The female has a long pale tail with many bars, as males and females of other wrens do.": "female",
        "The crown, nape and mantle are black with long pale streaks in the male.": None,
    }
    assert {sentence: stated_subject(sentence) for sentence in subjects} == subjects
