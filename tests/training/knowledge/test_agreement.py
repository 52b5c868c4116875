from training.knowledge.agreement import ARTICLE, agree, as_records, source_of
from training.knowledge.claims import read_claims

RING = {"one": "Bird with a white eye ring.", "two": "eyes: dark, with a white eye ring"}
UNDER = "Bird with white underparts."
MANY = "|".join(["The back is brown."] * 5 + ["The back is green."])


def agreed(**texts: str) -> set[tuple[str, ...]]:
    facts = agree({source: read_claims(text.split("|")) for source, text in texts.items()})
    return {(fact.part, *((fact.sex,) if fact.sex != "both" else ()), fact.value) for fact in facts}


def test_claims_of_two_sources_are_facts() -> None:
    for texts, facts in (
        ({"one": "The back is greyish-brown.", "two": "back: brown"}, {("back", "brown")}),
        ({"one": "The back is rusty.", "two": "back: reddish-brown"}, {("back", "rufous")}),
        ({"one": "The back is rusty.", "two": "back: red"}, set()),
        ({"one": "The male has a red breast.", "two": "breast: red"}, {("breast", "male", "red")}),
        ({"one": "The tail is long.|The tail is short.", "two": "tail: long|tail: short"}, set()),
        ({"cupl": MANY, "two": "back: green"}, set()),  # a rare claim among many replies
    ):
        assert agreed(**texts) == facts, texts
    # A claim about the whole holds for its parts, and an unreliable part needs three sources or an article.
    assert ("belly", "white") in agreed(one=UNDER, two="belly: white|breast: grey")
    assert ("underparts", "white") in agreed(one=UNDER, two="belly: white|breast: white")
    assert ("eyering", "white") not in agreed(**RING)
    assert ("eyering", "white") in agreed(**RING, three="It has a white eye ring.")
    assert ("eyering", "white") in agreed(one=RING["one"], **{ARTICLE: "It has a white eye ring."})


def test_lists_of_one_project_are_one_source_and_a_record_has_all_values_of_a_part() -> None:
    assert source_of("adaptclipzs-cub") == source_of("adaptclipzs-inat") == "adaptclipzs"
    sentence = "The bill is short and bright yellow."
    [record] = as_records(agree({"one": read_claims([sentence]), "two": read_claims([sentence])}))
    assert (record.part, record.colours, record.shade, record.shape) == ("bill", ("yellow",), "bright", "short")
