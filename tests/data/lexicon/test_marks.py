"""Field marks read from descriptions: part and look that the text states, in its own words."""

from __future__ import annotations

import pytest

from data.lexicon.marks import find_marks


def marks(text: str) -> list[str]:
    """Return the marks with a part."""
    return [str(mark) for mark in find_marks(text) if mark.part]


@pytest.mark.parametrize(
    "text",
    [
        "Above it is grey, below white.",
        "Above grey, below white.",
        "It is grey above, white below.",
        "This seabird is grey above and white below.",
        "The bird is grey above with white below.",
    ],
)
def test_a_colour_belongs_to_the_side_that_the_sentence_gives_it(text: str) -> None:
    assert marks(text) == ["grey back", "white underparts"]


def test_a_side_without_a_known_colour_takes_none_from_the_other_side() -> None:
    assert marks("Above it is grey, below pale. It has a dark crown and a white belly.") == ["grey back", "white belly"]


@pytest.mark.parametrize(
    "text",
    [
        "It has a black head and white forefront.",
        "A hawk with a black head and white talons.",
        "The head is black.",
    ],
)
def test_a_look_of_an_unknown_noun_is_none_of_the_part_before_it(text: str) -> None:
    assert marks(text) == ["black head"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crown dull red and black.", ["red crown", "black crown"]),
        ("Bill: long, black.", ["long bill", "black bill"]),
        ("White belly and black spots.", ["white belly", "black spots on the belly"]),
    ],
)
def test_a_look_after_its_part_still_counts(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(marks(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A blue-grey head and a white cheek.", ["blue-grey head", "white cheek"]),
        ("Chestnut cap; a notched tail.", ["chestnut cap", "notched tail"]),
        ("Ear coverts grey.", ["grey face"]),
        ("The female has a blackish mask.", ["blackish mask of the female"]),
        ("Above it is blue-grey.", ["blue-grey back"]),
        ("Red-capped, with a barred tail.", ["red cap", "barred tail"]),
    ],
)
def test_a_mark_is_shown_in_the_words_of_its_text(text: str, expected: list[str]) -> None:
    assert [mark.shown for mark in find_marks(text)] == expected


def test_the_words_of_a_mark_do_not_make_it_another_mark() -> None:
    assert find_marks("A slate head.") == find_marks("A blue-grey head.")


@pytest.mark.parametrize(
    ("group", "text", "expected"),
    [
        (
            "lepidoptera",
            "Orange above and brown below.",
            "orange wings on the upperside; brown wings on the underside",
        ),
        ("lepidoptera", "Underside: the hindwing has a white band.", "white band on the hindwings on the underside"),
        ("lepidoptera", "The wings are red. The larva is green.", "red wings; green body of the larva"),
        (
            "lepidoptera",
            "A green caterpillar. It has a red head.",
            "green body of the larva; red head of the larva",
        ),
        ("amphibia", "The back is green. Tadpoles are black.", "green back; black body of the larva"),
        (
            "odonata",
            "Wings clear, pterostigma black; the male has a blue abdomen.",
            "black pterostigma; blue abdomen",
        ),
        ("fish", "The dorsal fin is red, the caudal fin forked.", "red dorsal fin; forked tail fin"),
        ("plants", "White petals and red berries.", "white petals; red fruits"),
        (
            "plants",
            "Leaves green above, white beneath.",
            "green leaves on the upperside; white leaves on the underside",
        ),
        ("fungi", "The cap is slimy, the gills are white.", "slimy cap; white gills"),
        ("mammalia", "The coat is brown, the tail long.", "brown coat; long tail"),
        ("reptilia", "A brown carapace and a yellow plastron.", "brown shell; yellow plastron"),
    ],
)
def test_marks_of_other_groups_have_their_parts_stages_and_sides(group: str, text: str, expected: str) -> None:
    assert "; ".join(str(mark) for mark in find_marks(text, group) if mark.part) == expected


def test_birds_have_no_sides_and_larvae_are_their_food() -> None:
    assert [str(mark) for mark in find_marks("Grey above. The larva is green.")] == ["grey back", "green"]
