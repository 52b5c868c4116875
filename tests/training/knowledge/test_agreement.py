"""Facts: claims on which two independent sources, or one source and an article, agree."""

from __future__ import annotations

from training.knowledge.agreement import ARTICLE, agree, as_records, source_of
from training.knowledge.claims import read_claims


def agreed(**texts: str) -> set[tuple[str, ...]]:
    facts = agree({source: read_claims(text.split("|")) for source, text in texts.items()})
    return {(fact.part, *((fact.sex,) if fact.sex != "both" else ()), fact.value) for fact in facts}


def test_a_claim_of_one_source_is_not_a_fact() -> None:
    assert agreed(one="The back is green.", two="The belly is white.") == set()


def test_lists_of_one_project_count_as_one_source() -> None:
    assert source_of("adaptclipzs-cub") == source_of("adaptclipzs-inat") == "adaptclipzs"
    assert source_of("peeb-inat") == "peeb"


def test_two_colour_words_agree_on_a_colour_that_both_allow() -> None:
    assert agreed(one="The back is greyish-brown.", two="back: brown") == {("back", "brown")}
    assert agreed(one="The back is rusty.", two="back: reddish-brown") == {("back", "rufous")}
    assert agreed(one="The back is rusty.", two="back: red") == set()


def test_a_claim_about_the_whole_holds_for_its_parts() -> None:
    assert ("belly", "white") in agreed(one="Bird with white underparts.", two="belly: white|breast: grey")
    assert ("underparts", "white") in agreed(one="Bird with white underparts.", two="belly: white|breast: white")


def test_a_claim_about_the_bird_supports_a_claim_about_the_male() -> None:
    assert agreed(one="The male has a red breast.", two="breast: red") == {("breast", "male", "red")}


def test_an_unreliable_part_needs_three_sources_or_an_article() -> None:
    two = {"one": "Bird with a white eye ring.", "two": "eyes: dark, with a white eye ring"}
    assert ("eyering", "white") not in agreed(**two)
    assert ("eyering", "white") in agreed(**two, three="It has a white eye ring.")
    assert ("eyering", "white") in agreed(one=two["one"], **{ARTICLE: "It has a white eye ring."})


def test_contradictory_shapes_are_not_facts() -> None:
    texts = {"one": "The tail is long.|The tail is short.", "two": "tail: long|tail: short"}
    assert agreed(**texts) == set()


def test_a_rare_claim_among_many_replies_is_ignored() -> None:
    replies = "|".join(["The back is brown."] * 5 + ["The back is green."])
    assert agreed(cupl=replies, two="back: green") == set()
    assert agreed(cupl=replies, two="back: brown") == {("back", "brown")}


def test_a_record_has_all_agreed_values_of_a_part() -> None:
    sentence = "The bill is short and bright yellow."
    [record] = as_records(agree({"one": read_claims([sentence]), "two": read_claims([sentence])}))
    assert (record.part, record.colours, record.shade, record.shape) == ("bill", ("yellow",), "bright", "short")
