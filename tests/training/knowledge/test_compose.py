"""Sentences composed from facts."""

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


def test_order_is_shape_then_plumage_then_sexes() -> None:
    composed = text(
        Fact(part="crown", colours=("red",), sex="male"),
        Fact(part="belly", colours=("white",)),
        Fact(part="bird", shape="small"),
        Fact(part="tail", shape="long"),
        Fact(part="back", colours=("brown",)),
    )
    assert composed.startswith("A small wren with a long tail.")
    assert composed.index("back") < composed.index("belly") < composed.index("male")
    assert composed.endswith("The male has a red crown.")


def test_parts_of_one_colour_share_a_phrase() -> None:
    composed = text(Fact(part="back", colours=("brown",)), Fact(part="wings", colours=("brown",)))
    assert "back and wings" in composed
    assert composed.count("brown") == 1


def test_a_part_is_not_repeated_after_its_whole() -> None:
    composed = text(
        Fact(part="underparts", colours=("white",)),
        Fact(part="belly", colours=("white",)),
        Fact(part="breast", colours=("white",), shape="streaked"),
    )
    assert "belly" not in composed
    assert composed.count("white") == 1
    assert "streaked" in composed


def test_a_vowel_gets_the_article_an() -> None:
    assert "an orange bill" in text(
        Fact(part="bird", shape="small"), Fact(part="bill", colours=("orange",), shape="")
    ) or "is orange" in text(Fact(part="bird", shape="small"), Fact(part="bill", colours=("orange",)))


def test_a_noun_from_the_species_name_is_avoided() -> None:
    brown = taxon("Pelecanus occidentalis", "Brown Pelican", "Pelecanidae")
    facts = (Fact(part="bird", shape="large"), Fact(part="body", colours=("brown",)))
    assert text(*facts, of=brown) == "A large brown bird."


def test_a_redundant_shade_is_omitted() -> None:
    assert "pale" not in text(Fact(part="belly", colours=("white",), shade="pale"), Fact(part="back", shade="dark"))


def test_the_same_facts_give_the_same_text() -> None:
    facts = (Fact(part="back", colours=("brown",)), Fact(part="belly", colours=("white",)))
    assert text(*facts) == text(*facts)


def test_no_facts_give_an_empty_text() -> None:
    assert compose(taxon(), ()) == ()
