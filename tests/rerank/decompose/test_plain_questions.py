from typing import Any

from data.records import QueryPart
from rerank.decompose.plain_questions import NEGATION, plain_questions

PARTS = {
    "crest": QueryPart(kind="term", text="crest", name="crest", looks="Feathers that stand up on the head."),
    "bill": QueryPart(kind="term", text="bill", name="bill"),
    "cardinal": QueryPart(kind="species", text="Northern Cardinal", name="Northern Cardinal", looks="A red bird.",
                          taxon_ids=("finch",)),
    "male": QueryPart(kind="sex_age", text="male", name="male Northern Cardinal", looks="The male is red.",
                      unlike="The female is brown.", taxon_ids=("finch",)),
    "heron": QueryPart(kind="species", text="Great Blue Heron", name="Great Blue Heron", taxon_ids=("heron",)),
    "owls": QueryPart(kind="group", text="owls", name="owls", taxon_ids=("bubo", "tyto")),
}  # fmt: skip
# Query and its parts; below it the questions, each with statement, taxa and relation where they are not the usual ones.
TABLE = """
a Northern Cardinal with a red crest, sitting in snow [cardinal, crest]
  a Northern Cardinal | a photo of a Northern Cardinal | shown: finch
  a red crest | a red crest
  a Northern Cardinal sitting in snow | sitting in snow

a Great Blue Heron standing in water [heron]
  a Great Blue Heron | a photo of a Great Blue Heron | shown: heron
  a Great Blue Heron standing in water | standing in water

Two owls in snow at night [owls]
  owls | a photo of owls | shown: bubo, tyto
  two owls in snow at night | Two in snow at night

Northern Cardinal feeding a chick, perched on a branch [cardinal]
  a Northern Cardinal | a photo of a Northern Cardinal | shown: finch
  a Northern Cardinal feeding a chick, perched on a branch | feeding a chick, perched on a branch

a Northern Cardinal and a Great Blue Heron fighting [cardinal, heron]
  a Northern Cardinal | a photo of a Northern Cardinal | shown: finch
  a Great Blue Heron | a photo of a Great Blue Heron | shown: heron
  a Northern Cardinal and a Great Blue Heron fighting | fighting

a Northern Cardinal or a Great Blue Heron standing in water [cardinal, heron]
  a Northern Cardinal or a Great Blue Heron | a photo of a Northern Cardinal or a Great Blue Heron | shown: finch, heron
  a Northern Cardinal or a Great Blue Heron standing in water | standing in water

Two frogs in amplexus
  two frogs in amplexus | Two frogs in amplexus | direct

a male Northern Cardinal [cardinal, male]
  a Northern Cardinal | a photo of a Northern Cardinal | shown: finch
  a male Northern Cardinal | a photo of a male Northern Cardinal | looks: finch

a Great Blue Heron [heron]
  a Great Blue Heron | a Great Blue Heron | shown: heron | direct

?
   | ? | direct

with a crest [crest]
  with a crest | with a crest | direct

a bird with a red and black crest and a yellow bill [crest, bill]
  a red and black crest | a red and black crest
  a yellow bill | a yellow bill

a red crest and yellow bill and forked tail [crest, bill]
  a red crest | a red crest
  a yellow bill | yellow bill
  a forked tail | forked tail

not a Great Blue Heron [heron]
  something other than a Great Blue Heron | a photo of a bird | not: a photo of a Great Blue Heron | absent: heron

a red crown, no Great Blue Heron [heron]
  something other than a Great Blue Heron | a photo of a bird | not: a photo of a Great Blue Heron | absent: heron
  a red crown | a red crown
"""


def shown(query: str, parts: Any, *, uses_looks: bool = False) -> list[str]:
    """Return the questions as the table has them."""
    lines = []
    for one in plain_questions(query, parts, uses_looks=uses_looks):
        asked = one.question.removeprefix("Does this image show ").removesuffix("?")
        negation = "" if one.negation == NEGATION else f" | not: {one.negation}"
        taxa = f" | {one.relation}: {', '.join(one.taxon_ids)}" if one.taxon_ids or one.relation != "shown" else ""
        direct = " | direct" if one.is_query else ""
        lines.append(f"{asked} | {one.statement}{negation}{taxa}{direct}")
    return lines


def test_a_query_is_divided_into_taxa_terms_and_the_rest() -> None:
    for block in TABLE.strip().split("\n\n"):
        head, *expected = block.splitlines()
        query, _, names = head.removesuffix("]").partition(" [")
        parts = [PARTS[name] for name in names.split(", ") if name]
        assert [f"  {line}" for line in shown(query, parts)] == expected, query


def test_looks_are_included_only_with_context() -> None:
    parts = [PARTS["cardinal"], PARTS["crest"]]
    assert shown("a Northern Cardinal with a red crest", parts, uses_looks=True) == [
        "a Northern Cardinal | a photo of a Northern Cardinal. A red bird. | shown: finch",
        "a red crest | a red crest. Feathers that stand up on the head.",
    ]
    sexes = [PARTS["cardinal"], PARTS["male"]]
    assert shown("a male Northern Cardinal", sexes, uses_looks=True)[1:] == [
        "a male Northern Cardinal | The male is red. | not: The female is brown. | looks: finch"
    ]
