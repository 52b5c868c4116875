"""Field marks of species and of queries."""

from __future__ import annotations

from kb.lookup.field_marks import BETWEEN_SIDES, CONFLICT, MARKING, SOME_PART, MarkIndex


def index(*texts: str, group: str = "birds") -> MarkIndex:
    return MarkIndex.of(texts, [group] * len(texts))


def fits(query: str, *texts: str, group: str = "birds") -> list[float]:
    return [round(float(fit), 3) for fit in index(*texts, group=group).scores(query)[0]]


def test_a_mark_counts_by_its_part_and_look() -> None:
    for query, looks in (
        (
            "orange breast",
            {
                "The breast is orange.": 1, "The breast is rufous.": 0.7, "The underparts are orange.": 0.8,
                "The bill is orange.": SOME_PART, "The breast is white.": CONFLICT, "The tail is long.": 0,
            },
        ),
        ("white wings", {"White wings.": 1, "The wings have white tips.": MARKING}),
        ("wing bars", {"It has wing bars.": 1, "The wings are white.": 0}),
        ("belly white", {"The throat, breast and belly are white, and the tail is long.": 1}),
        ("breast long", {"The throat, breast and belly are white, and the tail is long.": 0}),
        ("grey bird, long, pointed bill", {"The plumage is grey. The bill is long.": 0.293}),
        ("belly white, back brown", {"The belly is white and the back brown.": 1, "The belly is brown.": -0.059}),
    ):  # fmt: skip
        assert fits(query, *looks) == list(looks.values()), query


def test_rare_marks_count_more() -> None:
    texts = ("A red crest and a black belly.", *["A white belly and a black crest."] * 20)
    red_crest, white_belly, *_ = fits("red crest, white belly", *texts)
    assert red_crest > white_belly


def test_missing_marks_are_those_that_a_text_neither_has_nor_contradicts() -> None:
    texts = ("The breast is red.", "The breast is white.", "The tail is long.")
    assert index(*texts).scores("red breast")[1].tolist() == [0, 0, 1]
    for query in ("seen on a lake", "no crest"):
        fit, missing = index("The breast is red.", "").scores(query)
        assert (fit.tolist(), missing.tolist()) == ([0, 0], [1, 1])
    assert index().scores("red breast")[0].shape == (0,)


def test_marks_of_butterflies_are_told_apart_by_part_stage_side_and_marking() -> None:
    for query, text, other in (
        ("larva with orange osmeterium", "It can push out an orange osmeterium.", "The larva is orange."),
        ("orange osmeterium", "The caterpillar has a forked orange osmeterium.", "The wings are orange."),
        ("yellow spines", "The caterpillar is black with yellow spines.", "The underside is yellow."),
        ("green caterpillar with black bands", "The larva is green with black bands.", "The larva is black or green."),
        ("pupa with golden dots", "The chrysalis has golden dots.", "The caterpillar is yellow."),
        (
            "white with orange wing tips", "The wings are white. The forewings are orange.",
            "White spots near the wing tip; orange wings.",
        ),
        ("blue butterfly", "The wings are blue.", "The larva is blue."),
        (
            "red band on black wings", "The upperside is black with a red band.",
            "The wings are red; the underside is black.",
        ),
        (
            "black wings with a red band", "The wings are black with a red band.",
            "The wings are yellow with black veins and a blue band.",
        ),
    ):  # fmt: skip
        fit, of_other = fits(query, text, other, group="lepidoptera")
        assert fit > max(of_other, 0.3), query
    sides = ("The upperside is black.", "The underside is black.", "The wings are black.")
    assert fits("black wings on the upperside", *sides, group="lepidoptera") == [1, SOME_PART, BETWEEN_SIDES]
