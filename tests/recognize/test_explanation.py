import re
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from data.errors import UsageError
from data.lexicon.words import column
from data.records import AnchorMatch, Candidate, Identification
from data.starter.knowledge import read_species
from recognize import PRESETS, Recognizer, explain
from recognize.explanation import Explanation, contrast
from tests.recognize.birds_in_memory import bird
from tests.toy.store import MemoryStore, Sketch


@pytest.fixture(scope="module")
def store(encoders: Any) -> MemoryStore:
    cardinal = Sketch(
        texts=["Plumage scarlet.", "The crown is red and the face black."], pictures=[bird("crimson")],
        common_name="Northern Cardinal", credit="A. Painter",
    )  # fmt: skip
    texts = ["Plumage red with black wings.", "The crown is yellow."]
    tanager = Sketch(texts=texts, pictures=[bird("darkorange")], common_name="Scarlet Tanager")
    return MemoryStore({"Cardinalis cardinalis": cardinal, "Piranga olivacea": tanager}, encoders)


def explained(sketches: dict[str, Sketch], encoders: Any, colour: str) -> Explanation:
    store = MemoryStore(sketches, encoders)
    return explain(store, next(Recognizer(store, encoders).identify([bird(colour)])))


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
    assert (why.only_first, why.only_second) == ((), ("yellow crown",)), "red and black are in both"
    assert why.text.endswith(" The crown is red in Northern Cardinal and yellow in Scarlet Tanager.")
    assert why.first.anchors[0].credit == "A. Painter, private"


def row_of(*scores: Any, anchors: tuple[float, ...] = ()) -> Identification:
    """Return a row of the default preset with these stage scores for the two species of the store."""
    names = {"Cardinalis cardinalis": "Northern Cardinal", "Piranga olivacea": "Scarlet Tanager"}
    candidates = tuple(
        Candidate(
            taxon_id=name.lower().replace(" ", "-"), scientific_name=name, common_name=common, scores=stages,
            score=sum(value for stage, value in stages.items() if stage.endswith("_part")),
            anchors=tuple(AnchorMatch(id="a", similarity=similarity) for similarity in anchors),
        )
        for (name, common), stages in zip(names.items(), scores, strict=True)
    )  # fmt: skip
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
    ):
        assert explain(store, row_of(first, second)).score_text == expected, first


def test_a_photo_that_is_an_anchor_is_flagged(store: Any) -> None:
    """A similarity that rounds to one means the same picture."""
    for similarity, is_anchor in ((1.0, True), (0.9996, True), (0.999, False)):
        stages = {"text_part": 0.0, "visual_part": 1.0}
        why = explain(store, row_of(stages, stages, anchors=(0.25, similarity)))
        text = "This photo is a reference photo of Northern Cardinal, or looks the same as one."
        assert (why.anchor_text in why.text, why.anchor_text.startswith(text)) == (True, is_anchor), similarity


def test_ties_single_candidates_missing_texts_and_errors_are_stated(store: Any, encoders: Any) -> None:
    twins = {name: Sketch(texts=["Plumage red."], pictures=[bird("red")]) for name in ("A a", "B b")}
    why = explained(twins, encoders, "red")
    assert (why.first.taxon_id, why.lead, why.deciding_stage) == ("a-a", 0, None)
    assert "have the same score" in why.text and "tell no certain difference" in why.text
    assert explained({"A a": Sketch(texts=["red"])}, encoders, "red").text == "A a is the only candidate."
    bare = {"A a": Sketch(pictures=[bird("red")]), "B b": Sketch(texts=["Plumage blue."])}
    assert "no description of A a" in explained(bare, encoders, "red").text
    with pytest.raises(UsageError, match="broken"):
        explain(store, Identification(image="x", status="error", error="broken"))


def test_a_stage_with_equal_scores_is_not_mentioned_nor_the_blend_of_v2_called_the_description(
    store: Any, encoders: Any
) -> None:
    why = explain(store, row_of({"text_part": 2.0, "visual_part": 0.5}, {"text_part": 1.0, "visual_part": 0.5}))
    assert why.score_text == "Northern Cardinal scores higher than Scarlet Tanager on its description alone."
    why = explain(store, row_of({"text_part": 2.0, "visual_part": 0.75}, {"text_part": 1.0, "visual_part": 0.5}))
    assert why.score_text.endswith("Scarlet Tanager, mostly on its description.")
    for preset, is_blend in (("vr-rag-v2", True), ("vr-rag-v1", False)):
        row = next(Recognizer(store, encoders, preset=preset).identify([bird("crimson")]))
        assert ("its blend of description and reference photos" in explain(store, row).score_text) == is_blend


def test_a_part_differs_only_if_no_look_is_shared() -> None:
    found = contrast("The crown is red. The wings are black and white.", "The crown is blue. The wings are white.")
    assert [(str(each.part), each.ours, each.theirs) for each in found.differing] == [("crown", ("red",), ("blue",))]
    assert [str(mark) for mark in found.only_ours] == ["red crown", "black wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["black wings"]


def test_females_are_compared_with_females_and_patches_not_at_all() -> None:
    found = contrast(
        "A red crown with white tips and a white wing patch. The female has a grey crown.",
        "A blue crown and black wings. The female has a green crown.",
    )
    assert [(str(each.part), each.ours, each.theirs) for each in found.differing] == [
        ("crown", ("red",), ("blue",)),
        ("crown of the female", ("grey",), ("green",)),
    ]
    patches = ["white tip of the crown", "white patch on the wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == patches
    assert [str(mark) for mark in found.elsewhere(found.only_theirs)] == ["black wings"]
    assert contrast("The crown is red.", "The female has a red crown.").differing == ()


def test_looks_of_different_kinds_are_not_compared() -> None:
    found = contrast("The tail is forked. The bill is long and red.", "The tail is short. The bill is short and black.")
    assert [(str(each.part), each.kind, each.ours, each.theirs) for each in found.differing] == [
        ("bill", "length", ("long",), ("short",)),
        ("bill", "colour", ("red",), ("black",)),
    ]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["forked tail"]
    assert contrast("Bare feet.", "Webbed feet.").differing == ()
    assert [each.kind for each in contrast("Plain wings.", "Barred wings.").differing] == ["pattern"]


def test_a_mark_is_of_one_text_only_if_no_word_of_the_other_can_mean_its_look() -> None:
    for ours, theirs, only in (
        ("A black head and white belly.", "The head and breast are black, the belly and sides white.", []),
        ("The bill is black.", "The bill is stout, straight and black.", []),
        ("A black bill.", "A dark bill.", []),
        ("A scarlet cap.", "All red, with a yellow bill.", []),
        ("A streaked breast.", "Breast with dusky streaking.", []),
        ("A slender bill.", "Its beak is slim.", []),
        ("A glossy tail.", "The wings are glossed with blue and the tail with green.", []),
        ("Bare green skin surrounds the eye, the back is mottled.", "A red bill.", []),
        ("Black wings and tail, grey inner wing feathers.", "A red bill.", ["black wings"]),
        ("The flanks are barred black and white.", "A red bill.", ["barred flanks"]),
        ("The wings are slate with one white bar, and the breast is red.", "A red bill.", ["slate wings"]),
        ("The wings are glossed with blue and the tail with green. The legs are black.", "A red bill.", ["black legs"]),
    ):
        found = contrast(ours, theirs)
        assert (found.differing, list(map(str, found.only_ours))) == ((), only), ours


def test_no_claim_of_200_pairs_of_look_alikes_that_ship_is_refuted_by_the_other_text() -> None:
    """Neighbours in a genus, drawn by chance; by words near words, without the reader of marks."""
    parts, n_claims = column("parts", "field_mark"), 0
    senses = [*column("colours", "field_mark").items(), *column("looks", "field_mark").items()]
    pairs = [each for each in pairwise(read_species()) if len({one.taxon.lineage["genus"] for one in each}) == 1]
    for pair in Random(32).sample(pairs, 200):
        ours, theirs = (" ".join(each.text) for each in pair)
        found = contrast(ours, theirs)
        for mark, other in [(each, theirs) for each in found.only_ours] + [(each, ours) for each in found.only_theirs]:
            looks = set(mark.look.split(" and "))
            looks |= {word for word, sense in senses if not looks.isdisjoint(sense.split("+"))}
            names = {word for word, part in parts.items() if part == mark.part} | {"all", "bird", "plumage"}
            words = re.findall("[a-z]+", other.lower())
            near = {each for at, word in enumerate(words) if word in names for each in words[max(0, at - 6) : at + 7]}
            assert looks.isdisjoint(near), (mark, other)
            n_claims += 1
    assert n_claims > 300, "it still tells look-alikes apart"
