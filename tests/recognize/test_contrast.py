"""What sets one description apart from another, and which words of it say so."""

import pytest

from recognize.contrast import contrast
from recognize.marks import Mark, find_marks, mark_words


def test_a_part_differs_only_where_no_look_is_shared():
    found = contrast("The crown is red. The wings are black and white.", "The crown is blue. The wings are white.")
    assert [(each.part, each.ours, each.theirs) for each in found.differing] == [("crown", ("red",), ("blue",))]
    assert [str(mark) for mark in found.only_ours] == ["red crown", "black wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["black wings"]


def test_equal_marks_in_other_words_set_nothing_apart():
    found = contrast("A scarlet cap.", "The crown is red.")
    assert (found.differing, found.only_ours, found.only_theirs) == ((), (), ())


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Red cap, white rump. The legs are red.", ["Red"]),
        ("A red-capped bird; its back is red.", ["red-capped"]),
        ("A CRIMSON crown\nand red legs", ["CRIMSON"]),
        ("The legs are red-brown, the cap is red.", ["red"]),
        ("", []),
        ("É! Ünïcode… red crown", ["red"]),
    ],
)
def test_only_the_words_that_name_a_mark_are_marked(text, marked):
    pieces = mark_words(text, [Mark(look="red", part="crown")])
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_mark in pieces if is_mark] == marked


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("The wing bars are white, the tail is black.", ["white wings", "barred wings", "black tail"]),
        ("The crown is rufous and dark brown, the legs pink.", ["rufous crown", "brown crown", "pink legs"]),
        ("The back is grey with a white rump.", ["grey back", "white rump"]),
    ],
)
def test_what_is_said_of_a_part_is_not_taken_for_the_next_one(text, marks):
    assert sorted(map(str, find_marks(text))) == sorted(marks)


@pytest.mark.parametrize(
    "text", ["It has no streaks on the breast.", "They lack the white rump.", "Without any yellow, never barred."]
)
def test_what_a_bird_lacks_is_no_mark(text):
    assert find_marks(text) == ()


def test_every_mark_that_is_found_has_a_word():
    text = "Adults have a glossy black head, a hooked yellow bill and barred grey flanks! The tail is long."
    pieces = mark_words(text, find_marks(text))
    assert [piece for piece, is_mark in pieces if is_mark] == [
        "glossy", "black", "hooked", "yellow", "barred", "grey", "long",
    ]  # fmt: skip
