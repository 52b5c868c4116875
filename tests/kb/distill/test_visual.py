"""Visual scores of examples and of hand-labelled sentences."""

from __future__ import annotations

from collections import Counter

from data.lexicon.word_groups import OTHER_GROUPS, VISUAL_GROUPS, group_of, groups
from kb.distill.subjects import is_about_another
from kb.distill.visual import WEIGHTS, part_pairs, visual_score

ADDED_WORDS = {"it", "they", "its", "their", "this", "these", "species", "bird", "birds", "of", "and", "the"} | {
    *("male", "males", "female", "females", "juvenile", "juveniles", "adult", "adults", "immatures")
}


def test_scores_of_sentences_of_birds_and_of_butterflies_in_a_section_on_looks() -> None:
    """Digests of knowledge bases depend on them."""
    scores = {
        "The forewing is orange with a black margin.": (4.12, 4.62),
        "It is 20 cm long and reaches 2 m.": (0.88, 2.58),
        "In 1872 Smith saw a small red bird in Zorbland, told from others by its call.": (0.05, 0.55),
        "It breeds in northern Asia and winters in India.": (-3.24, -2.74),
        "The eggs are white with brown spots.": (-0.22, 0.28),
        "The egg is 12 mm long.": (-1.0, -0.5),
        "Its call is a harsh, loud note.": (-4.02, -3.52),
        "The genus name is from Latin.": (-4.01, -3.51),
        "": (-1.2, -0.7),
    }
    found = {
        text: (
            round(visual_score(text), 3),
            round(visual_score(text, group="lepidoptera", in_section_on_looks=True), 3),
        )
        for text in scores
    }
    assert found == scores
    assert visual_score("The sexes are alike.", in_section_on_looks=True) > 0


def test_words_and_pairs_of_looks_are_recognised() -> None:
    others = {"The bill of the closely related species is black.": True, "The bill of the species is black.": False,
              "The grey francolin has a buff throat.": True, "The outer tail is black.": False}  # fmt: skip
    assert {sentence: is_about_another(sentence) for sentence in others} == others
    assert part_pairs("a red crown, a curved bill") == {("crown", "red"), ("bill", "curved")}
    for look in ("black", "black and white"):
        assert part_pairs(f"the head has a {look} stripe") == {("head", "stripe")}
    assert part_pairs("the head is black and white") == {("head", "black")}
    assert {group_of(word) for word in ("greyer", "whitish", "redder", "yellower", "blue")} == {"colour"}
    assert group_of("antennae") == group_of("wings") == group_of("flower") == "part"
    assert group_of("number") is None


def test_scored_groups_have_weights_and_do_not_overlap() -> None:
    assert set(WEIGHTS) == {*VISUAL_GROUPS, *OTHER_GROUPS}
    counted = Counter(word for name in WEIGHTS for word in groups()[name])
    assert [word for word, n in counted.items() if n > 1] == []
