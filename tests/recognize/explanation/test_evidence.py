"""Explanation of the first candidate, in words that a birder can check."""

from typing import Any

import pytest
from PIL import Image, ImageDraw

from data.errors import UsageError
from data.records import AnchorMatch, Candidate, Identification
from recognize import PRESETS, Recognizer, explain
from tests.toy.store import MemoryStore, Sketch


def bird(colour: Any) -> Any:
    picture = Image.new("RGB", (96, 96), "white")
    ImageDraw.Draw(picture).ellipse((24, 30, 72, 70), fill=colour)
    return picture


@pytest.fixture(scope="module")
def store(encoders: Any) -> MemoryStore:
    return MemoryStore(
        {
            "Cardinalis cardinalis": Sketch(
                texts=["Plumage scarlet.", "The crown is red and the face black."],
                pictures=[bird("crimson")],
                common_name="Northern Cardinal",
                credit="A. Painter",
            ),
            "Piranga olivacea": Sketch(
                texts=["Plumage red with black wings.", "The crown is yellow."],
                pictures=[bird("darkorange")],
                common_name="Scarlet Tanager",
            ),
        },
        encoders,
    )


def test_stage_leads_add_up_to_the_lead(store: Any, encoders: Any) -> None:
    for preset in sorted(set(PRESETS)):
        row = next(Recognizer(store, encoders, preset=preset).identify([bird("crimson")]))
        why = explain(store, row)
        assert why.first.scientific_name == "Cardinalis cardinalis", preset
        assert why.lead > 0, preset
        assert sum(why.lead_by_stage.values()) == pytest.approx(why.lead, abs=1e-5), preset
        assert why.deciding_stage == max(why.lead_by_stage, key=why.lead_by_stage.get), preset


def test_differing_marks_are_named(store: Any, encoders: Any) -> None:
    why = explain(store, next(Recognizer(store, encoders).identify([bird("crimson")])))
    assert why.only_first == ("red crown", "black face")
    assert why.only_second == ("black wings", "yellow crown")
    assert "The crown is red in Northern Cardinal and yellow in Scarlet Tanager." in why.text
    assert "Only the Scarlet Tanager description mentions black wings." in why.text
    assert not why.same_genus
    assert why.first.anchors[0].credit == "A. Painter, private"


def test_a_stage_that_favours_the_other_species_is_named(encoders: Any) -> None:
    store = MemoryStore(
        {
            "Rubra verbis": Sketch(texts=["Plumage red."], pictures=[bird("navy")]),
            "Rubra imagine": Sketch(texts=["Plumage blue."], pictures=[bird("crimson")]),
        },
        encoders,
    )
    why = explain(store, next(Recognizer(store, encoders, preset="default").identify([bird("crimson")])))
    assert why.deciding_stage == "visual"
    assert "on its reference photos; the description favours" in why.text
    assert why.same_genus


def row_of(*scores: Any, anchors: tuple[()] = ()) -> Identification:
    """Return a row of the default preset with these stage scores for the two species of the store."""
    names = ("Cardinalis cardinalis", "Piranga olivacea")
    candidates = tuple(
        Candidate(
            taxon_id=name.lower().replace(" ", "-"),
            scientific_name=name,
            common_name={"Cardinalis cardinalis": "Northern Cardinal", "Piranga olivacea": "Scarlet Tanager"}[name],
            score=sum(value for stage, value in stages.items() if stage.endswith("_part")),
            scores=stages,
            anchors=tuple(AnchorMatch(id="a", similarity=similarity) for similarity in anchors),
        )
        for name, stages in zip(names, scores, strict=True)
    )
    return Identification(image="x", preset="default", candidates=candidates)


def test_the_prototype_score_is_part_of_the_lead(store: Any) -> None:
    first = {"text_part": 0.25, "visual_part": 0.5, "prototype": 0.9, "prototype_part": 2.0}
    second = {"text_part": 0.5, "visual_part": 0.75, "prototype": None, "prototype_part": 0.5}
    why = explain(store, row_of(first, second))
    assert why.lead == pytest.approx(1.0)
    assert why.lead_by_stage == {"text": -0.25, "visual": -0.25, "prototype": 1.5}
    assert why.deciding_stage == "prototype"
    assert "on its learned prototype; the description and reference photos favour" in why.text


def test_evidence_that_a_species_lacks_is_not_cited_for_it(store: Any) -> None:
    for first, second, expected in (
        (
            {"text_part": 1.0, "visual": None, "visual_part": 2.0},
            {"text_part": 0.5, "visual": 0.1, "visual_part": 0.5},
            "Northern Cardinal scores higher than Scarlet Tanager, partly on its description. "
            "Northern Cardinal has no reference photos: that part of its score is fixed.",
        ),
        (
            {"text_part": 3.0, "visual": 0.1, "visual_part": 0.5},
            {"text_part": 1.0, "visual": None, "visual_part": 1.5},
            "Northern Cardinal scores higher than Scarlet Tanager on its description alone. "
            "Scarlet Tanager has no reference photos: that part of its score is fixed.",
        ),
        (
            {"text_part": 0.5, "prototype": None, "prototype_part": 2.0},
            {"text_part": 1.0, "prototype": 0.1, "prototype_part": 0.5},
            "Northern Cardinal scores higher than Scarlet Tanager; the description favours Scarlet Tanager. "
            "Northern Cardinal has no learned prototype: that part of its score is fixed.",
        ),
        (
            {"text_part": 2.0, "visual": None, "visual_part": 1.5},
            {"text_part": 1.0, "visual": None, "visual_part": 1.5},
            "Northern Cardinal scores higher than Scarlet Tanager on its description alone.",
        ),
    ):
        assert explain(store, row_of(first, second)).score_text == expected, first


def test_a_photo_that_is_an_anchor_is_flagged(store: Any, encoders: Any) -> None:
    other = bird("crimson").rotate(40, fillcolor="olive")
    itself, another = Recognizer(store, encoders).identify([bird("crimson"), other])
    why = explain(store, itself)
    assert why.is_anchor_of == "cardinalis-cardinalis"
    assert "This photo is a reference photo of Northern Cardinal, or looks the same as one" in why.text
    assert explain(store, another).is_anchor_of is None
    assert "is a reference photo" not in explain(store, another).text


def test_a_similarity_that_rounds_to_one_means_the_same_picture(store: Any) -> None:
    for similarity, is_same in ((1.0, True), (0.9996, True), (0.999, False)):
        stages = {"text_part": 0.0, "visual_part": 1.0}
        why = explain(store, row_of(stages, stages, anchors=[0.25, similarity]))
        assert (why.is_anchor_of == "cardinalis-cardinalis") is is_same, similarity


def test_a_tie_is_explained_as_a_tie(encoders: Any) -> None:
    twins = {name: Sketch(texts=["Plumage red."], pictures=[bird("red")]) for name in ("A a", "B b")}
    store = MemoryStore(twins, encoders)
    why = explain(store, next(Recognizer(store, encoders).identify([bird("red")])))
    assert (why.first.taxon_id, why.lead, why.deciding_stage) == ("a-a", 0, None)
    assert "have the same score" in why.text
    assert "mention the same marks" in why.text


def test_a_single_candidate_is_explained(encoders: Any) -> None:
    store = MemoryStore({"A a": Sketch(texts=["red"])}, encoders)
    why = explain(store, next(Recognizer(store, encoders).identify([bird("red")])))
    assert why.second is None
    assert why.text == "A a is the only candidate."


def test_an_error_row_cannot_be_explained(store: Any) -> None:
    with pytest.raises(UsageError, match="broken"):
        explain(store, Identification(image="x", status="error", error="broken"))


def test_a_stage_with_equal_scores_is_not_mentioned(store: Any) -> None:
    why = explain(store, row_of({"text_part": 2.0, "visual_part": 0.5}, {"text_part": 1.0, "visual_part": 0.5}))
    assert why.score_text == "Northern Cardinal scores higher than Scarlet Tanager on its description alone."
    why = explain(store, row_of({"text_part": 2.0, "visual_part": 0.75}, {"text_part": 1.0, "visual_part": 0.5}))
    assert why.score_text.endswith("Scarlet Tanager, mostly on its description.")


def test_the_blend_of_v2_is_not_called_the_description(store: Any, encoders: Any) -> None:
    row = next(Recognizer(store, encoders, preset="vr-rag-v2").identify([bird("crimson")]))
    assert "its blend of description and reference photos" in explain(store, row).score_text
    row = next(Recognizer(store, encoders, preset="vr-rag-v1").identify([bird("crimson")]))
    assert "blend" not in explain(store, row).score_text


def test_marks_beyond_the_listed_parts_are_listed_separately(encoders: Any) -> None:
    parts = ("crown", "face", "throat", "back", "rump", "breast", "tail")
    texts = [[" ".join(f"The {part} is {colour}." for part in parts)] for colour in ("red", "blue")]
    store = MemoryStore({"A a": Sketch(texts=texts[0]), "B b": Sketch(texts=texts[1])}, encoders)
    why = explain(store, next(Recognizer(store, encoders).identify([bird("red")])))
    assert "The breast is red in A a and blue in B b. Only the A a description mentions red tail." in why.text


def test_a_missing_description_is_stated(encoders: Any) -> None:
    store = MemoryStore({"A a": Sketch(pictures=[bird("red")]), "B b": Sketch(texts=["Plumage blue."])}, encoders)
    why = explain(store, next(Recognizer(store, encoders).identify([bird("red")])))
    assert "no description of A a" in why.text
