"""Field marks of species and of queries."""

from __future__ import annotations

import pytest

from kb.lookup.field_marks import CONFLICT, MARKING, SOME_PART, MarkIndex, marks_of_query, marks_of_text


def fits(query: str, *texts: str) -> list[float]:
    return [round(float(fit), 3) for fit in MarkIndex(texts).scores(query)[0]]


def test_a_mark_counts_by_its_part_and_colour() -> None:
    same, near_colour, near_part, other_part, conflict, silent = fits(
        "orange breast",
        "The breast is orange.",
        "The breast is rufous.",
        "The underparts are orange.",
        "The bill is orange.",
        "The breast is white.",
        "The tail is long.",
    )
    assert (
        same
        == 1
        > near_part
        > near_colour
        > other_part
        == SOME_PART
        > silent
        == 0
        > conflict
        == pytest.approx(CONFLICT)
    )


def test_a_marking_counts_less_than_the_whole_part() -> None:
    assert fits("white wings", "White wings.", "The wings have white tips.") == [1, pytest.approx(MARKING)]


def test_rare_marks_count_more() -> None:
    red_crest, white_belly = fits(
        "red crest, white belly", "A red crest and a black belly.", *["A white belly and a black crest."] * 20
    )[:2]
    assert red_crest > white_belly


def test_missing_marks_are_those_that_a_text_neither_has_nor_contradicts() -> None:
    index = MarkIndex(["The breast is red.", "The breast is white.", "The tail is long."])
    assert index.scores("red breast")[1].tolist() == [0, 0, 1]


def test_a_description_without_marks_fits_nothing_and_lacks_everything() -> None:
    fit, missing = MarkIndex(["The breast is red.", ""]).scores("seen on a lake")
    assert (fit.tolist(), missing.tolist()) == ([0, 0], [1, 1])
    assert MarkIndex([]).scores("red breast")[0].shape == (0,)


def test_marks_of_a_query_stay_within_its_phrases() -> None:
    for query, marks in (
        ("belly white, back brown", [("belly", "white"), ("back", "brown")]),
        ("black bird with short, pointed tail", [("plumage", "black"), ("tail", "short"), ("tail", "pointed")]),
        ("wing bars", [("wing bars", "wing bars")]),
        ("no crest", []),
    ):
        assert marks_of_query(query) == marks, query


def test_each_part_of_a_list_has_the_look() -> None:
    marks = marks_of_text("The throat, breast and belly are white, and the tail is long.")
    assert {mark[:2] for mark in marks} == {
        ("throat", "white"), ("breast", "white"), ("belly", "white"), ("tail", "long"),
    }  # fmt: skip


def fits_of_butterflies(query: str, *texts: str) -> list[float]:
    return [round(float(fit), 3) for fit in MarkIndex(texts, ["lepidoptera"] * len(texts)).scores(query)[0]]


def test_marks_of_butterflies_are_told_apart_by_part_stage_and_marking() -> None:
    for query, text, other in (
        ("larva with orange osmeterium", "It can push out an orange osmeterium.", "The larva is orange."),
        ("orange osmeterium", "The caterpillar has a forked orange osmeterium.", "The wings are orange."),
        ("yellow spines", "The caterpillar is black with yellow spines.", "The underside is yellow."),
        ("green caterpillar with black bands", "The larva is green with black bands.", "The larva is black or green."),
        ("pupa with golden dots", "The chrysalis has golden dots.", "The caterpillar is yellow."),
        (
            "white with orange wing tips",
            "The wings are white. The forewings are orange.",
            "White spots near the wing tip; orange wings.",
        ),
        ("blue butterfly", "The wings are blue.", "The larva is blue."),
        (
            "red band on black wings",
            "The upperside is black with a red band.",
            "The wings are red; the underside is black.",
        ),
    ):
        fit, of_other = fits_of_butterflies(query, text, other)
        assert fit > max(of_other, 0.3), query


def test_wings_that_nobody_names_are_meant_by_a_side_of_butterflies() -> None:
    assert fits_of_butterflies("black wings on the upperside", "The upperside is black.") == [1]


def test_black_veins_are_no_black_wings() -> None:
    texts = ("The wings are yellow with black veins and a blue band.", "The wings are black with a red band.")
    swallowtail, admiral = MarkIndex(texts, ["lepidoptera"] * 2).scores("black wings with a red band")[0]
    assert admiral > swallowtail
