from data.records import Taxon
from data.starter.knowledge import Fact, Sex, Shade
from training.knowledge.compose import compose


def taxon(name: str = "Wrena rubra", common: str = "Red Wren", family: str = "Troglodytidae") -> Taxon:
    lineage = {"family": family}
    return Taxon(taxon_id="a-b", scientific_name=name, rank="species", common_names=(common,), lineage=lineage)


def text(*facts: Fact, of: Taxon | None = None) -> str:
    return " ".join(compose(of or taxon(), facts))


def fact(part: str, *colours: str, shape: str = "", shade: Shade = "", sex: Sex = "both") -> Fact:
    return Fact(part=part, colours=colours, shape=shape, shade=shade, sex=sex)


def test_order_is_shape_then_plumage_then_sexes_and_parts_share_a_phrase() -> None:
    composed = text(
        fact("crown", "red", sex="male"), fact("belly", "white"), fact("bird", shape="small"),
        fact("tail", shape="long"), fact("back", "brown"), fact("wings", "brown"),
    )  # fmt: skip
    assert composed == (
        "A small wren with a long tail. The back and wings are brown, and the belly is white. The male has a red crown."
    )
    whole = text(fact("underparts", "white"), fact("belly", "white"), fact("breast", "white", shape="streaked"))
    assert "belly" not in whole and whole.count("white") == 1 and "streaked" in whole


def test_nouns_of_the_name_and_redundant_shades_are_avoided() -> None:
    brown = taxon("Pelecanus occidentalis", "Brown Pelican", "Pelecanidae")
    assert text(fact("bird", shape="large"), fact("body", "brown"), of=brown) == "A large brown bird."
    assert "pale" not in text(fact("belly", "white", shade="pale"), fact("back", shade="dark"))
    assert compose(taxon(), ()) == ()
