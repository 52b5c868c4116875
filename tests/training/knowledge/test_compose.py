"""Sentences of our own out of facts."""

from __future__ import annotations

from data.records import Taxon
from data.starter.knowledge import Fact
from training.knowledge.compose import compose


def taxon(name: str = "Wrena rubra", common: str = "Red Wren", family: str = "Troglodytidae") -> Taxon:
    return Taxon(
        taxon_id=name.lower().replace(" ", "-"),
        scientific_name=name,
        rank="species",
        common_names=(common,),
        lineage={"family": family},
    )


def text(*facts: Fact, of: Taxon | None = None) -> str:
    return " ".join(compose(of or taxon(), facts))


def test_build_comes_first_then_plumage_then_the_sexes() -> None:
    said = text(
        Fact(part="crown", colours=("red",), sex="male"),
        Fact(part="belly", colours=("white",)),
        Fact(part="bird", shape="small"),
        Fact(part="tail", shape="long"),
        Fact(part="back", colours=("brown",)),
    )
    assert said.startswith("A small wren with a long tail.")
    assert said.index("back") < said.index("belly") < said.index("male")
    assert said.endswith("The male has a red crown.")


def test_parts_of_one_look_share_a_phrase() -> None:
    said = text(Fact(part="back", colours=("brown",)), Fact(part="wings", colours=("brown",)))
    assert "back and wings" in said
    assert said.count("brown") == 1


def test_what_the_whole_says_is_not_said_again() -> None:
    said = text(
        Fact(part="underparts", colours=("white",)),
        Fact(part="belly", colours=("white",)),
        Fact(part="breast", colours=("white",), shape="streaked"),
    )
    assert "belly" not in said
    assert said.count("white") == 1
    assert "streaked" in said


def test_the_article_fits_the_word() -> None:
    assert "an orange bill" in text(
        Fact(part="bird", shape="small"), Fact(part="bill", colours=("orange",), shape="")
    ) or "is orange" in text(Fact(part="bird", shape="small"), Fact(part="bill", colours=("orange",)))


def test_a_noun_that_would_name_the_bird_is_avoided() -> None:
    brown = taxon("Pelecanus occidentalis", "Brown Pelican", "Pelecanidae")
    facts = (Fact(part="bird", shape="large"), Fact(part="body", colours=("brown",)))
    assert text(*facts, of=brown) == "A large brown bird."


def test_a_shade_that_the_colour_says_already_is_left_out() -> None:
    assert "pale" not in text(Fact(part="belly", colours=("white",), shade="pale"), Fact(part="back", shade="dark"))


def test_the_same_facts_give_the_same_text() -> None:
    facts = (Fact(part="back", colours=("brown",)), Fact(part="belly", colours=("white",)))
    assert text(*facts) == text(*facts)


def test_no_facts_no_text() -> None:
    assert compose(taxon(), ()) == ()
