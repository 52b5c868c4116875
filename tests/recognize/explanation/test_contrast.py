"""Differences between two descriptions, with the words that show them."""

from typing import Any

import pytest

from data.lexicon.marks import Mark, find_marks, mark_words
from recognize.explanation.contrast import contrast


def test_a_part_differs_only_if_no_look_is_shared() -> None:
    found = contrast("The crown is red. The wings are black and white.", "The crown is blue. The wings are white.")
    assert [(each.part, each.ours, each.theirs) for each in found.differing] == [("crown", ("red",), ("blue",))]
    assert [str(mark) for mark in found.only_ours] == ["red crown", "black wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["black wings"]


def test_synonyms_are_not_differences() -> None:
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
def test_only_words_that_name_a_mark_are_highlighted(text: str, marked: Any) -> None:
    pieces = mark_words(text, [Mark(look="red", part="crown")])
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_mark in pieces if is_mark] == marked


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("The wing bars are white, the tail is black.", ["white wing bars", "wing bars", "black tail"]),
        ("The crown is rufous and dark brown, the legs pink.", ["rufous crown", "brown crown", "pink legs"]),
        ("The back is grey with a white rump.", ["grey back", "white rump"]),
    ],
)
def test_looks_stay_with_their_part(text: str, marks: list[str]) -> None:
    assert sorted(map(str, find_marks(text))) == sorted(marks)


@pytest.mark.parametrize(
    "text", ["It has no streaks on the breast.", "They lack the white rump.", "Without any yellow, never barred."]
)
def test_negated_marks_are_ignored(text: str) -> None:
    assert find_marks(text) == ()


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("White-tipped wings and a tail tipped with buff.", ["white tips of the wings", "buff tip of the tail"]),
        ("The wings are edged buff, the tail is black with white spots.",
         ["buff edges of the wings", "black tail", "white spots on the tail", "spotted"]),
        ("The tail has white corners.", ["white corners of the tail"]),
        ("A white wing patch.", ["white patch on the wings"]),
        ("The wing patch is white.", ["white patch on the wings"]),
        ("The tips of the wings are black.", ["black tips of the wings"]),
        ("A patch of white on the rump.", ["white patch on the rump"]),
        ("A grey head and rufous spots on the belly.", ["grey head", "rufous spots on the belly", "spotted belly"]),
        ("A white face, and a black line through the eye.", ["white face", "black line"]),
        ("A grey-washed white breast.", ["grey wash on the breast", "white breast"]),
        ("The back is marked with white, with yellow underparts.", ["white markings on the back", "yellow underparts"]),
        ("A long tail with a band.", ["long tail"]),
        ("A long tail tip.", ["long tail"]),
        ("Males are well marked with yellow underparts.", ["yellow underparts"]),
        ("White patches on both sides of the neck.", ["white patches on the neck"]),
    ],
)  # fmt: skip
def test_the_colour_of_a_marking_is_not_given_to_the_part(text: str, marks: list[str]) -> None:
    assert [str(mark) for mark in find_marks(text)] == marks


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Black ear coverts.", "black face"),
        ("White uppertail coverts.", "white rump"),
        ("A yellow eye ring.", "yellow eye-ring"),
        ("A dark black eye-stripe.", "black eyestripe"),
        ("A white supercilium.", "white eyebrow"),
        ("A white collar.", "white collar"),
        ("A crested jay, blue above.", "blue back"),
        ("A bird with a tail, white below and small.", "white underparts"),
        ("White below the eye.", "white"),
        ("Grey sides of the neck.", "grey neck"),
        ("Two faint wing-bars.", "wing bars"),
    ],
)
def test_parts_of_two_words_are_read_as_one_part(text: str, mark: str) -> None:
    assert [str(found) for found in find_marks(text)] == [mark]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("The crown is red. Females have a brown crown. The rump is white.",
         ["red crown", "brown crown of the female", "white rump"]),
        ("The male has a red crown; the female has a yellow bill.",
         ["red crown", "yellow bill of the female"]),
        ("Females and young birds have brown backs and a grey belly, adult males a black belly.",
         ["brown back of the female and young", "grey belly of the female and young", "black belly"]),
        ("Male and female have a red cap.", ["red crown"]),
        ("Females and males alike have a red cap.", ["red crown"]),
        ("The young male has a grey head, the female adult a white head.",
         ["grey head of the young", "white head of the female"]),
        ("The breast is red in males and brown in young birds, unlike the female.",
         ["red breast", "brown (young)"]),
        ("Paler than the female, it has a red crown.", ["red crown"]),
        ("Young birds have a brown bill, but in adults the bill is red.", ["brown bill of the young", "red bill"]),
        ("In females the crown is grey.", ["grey crown of the female"]),
        ("Juveniles are streaked.", ["streaked (young)"]),
    ],
)  # fmt: skip
def test_marks_of_females_and_young_are_labelled(text: str, marks: list[str]) -> None:
    assert [str(mark) for mark in find_marks(text)] == marks


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("The bill is black (unlike in the yellow-billed kite).", ["black bill"]),
        ("The rump is blue rather than green and black.", ["blue rump"]),
        ("Grey legs instead of red.", ["grey legs"]),
        ("It is paler than the adult, white below.", ["white underparts"]),
        ("Unlike the female it has a red crown.", ["red crown"]),
    ],
)
def test_marks_of_a_compared_bird_are_ignored(text: str, marks: list[str]) -> None:
    assert [str(mark) for mark in find_marks(text)] == marks


def test_females_are_compared_with_females_and_patches_not_at_all() -> None:
    found = contrast(
        "A red crown with white tips and a white wing patch. The female has a grey crown.",
        "A blue crown and black wings. The female has a green crown.",
    )
    assert [(each.named, each.ours, each.theirs) for each in found.differing] == [
        ("crown", ("red",), ("blue",)),
        ("crown of the female", ("grey",), ("green",)),
    ]
    patches = ["white tip of the crown", "white patch on the wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == patches
    assert [str(mark) for mark in found.elsewhere(found.only_theirs)] == ["black wings"]
    assert contrast("The crown is red.", "The female has a red crown.").differing == ()


def test_looks_of_different_kinds_are_not_compared() -> None:
    found = contrast("The tail is forked. The bill is long and red.", "The tail is short. The bill is short and black.")
    assert [(each.part, each.kind, each.ours, each.theirs) for each in found.differing] == [
        ("bill", "length", ("long",), ("short",)),
        ("bill", "colour", ("red",), ("black",)),
    ]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["forked tail"]
    assert contrast("Bare feet.", "Webbed feet.").differing == ()
    assert [each.kind for each in contrast("Plain wings.", "Barred wings.").differing] == ["pattern"]


def test_bars_differ_only_by_colour() -> None:
    found = contrast("White wing bars.", "Two wing bars.")
    assert (list(map(str, found.only_ours)), found.only_theirs) == (["white wing bars"], ())
    assert list(map(str, contrast("White wing bars.", "A red crown.").only_ours)) == ["white wing bars"]
    (bars,) = contrast("White wing bars.", "Yellow wing bars.").differing
    assert (bars.part, bars.ours, bars.theirs) == ("wing bars", ("white",), ("yellow",))


def test_every_mark_has_a_highlighted_word() -> None:
    text = "Adults have a glossy black head, a hooked yellow bill and barred grey flanks! The tail is long."
    pieces = mark_words(text, find_marks(text))
    assert [piece for piece, is_mark in pieces if is_mark] == [
        "glossy", "black", "hooked", "yellow", "barred", "grey", "long",
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["red and ", "the side of ", "wing bar ", "in females ", "white-tipped "])
def test_a_very_long_sentence_is_read_to_its_end(words: str) -> None:
    """Texts are untrusted: repetition must not cause deep recursion or long run times."""
    assert "red crown" in map(str, find_marks(f"{words * 5_000}. A red crown."))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("The male is red all over. The bill is red.", "A red songbird."),
        ("The plumage is red.", "The bird is red all over."),
        ("The plumage is red. The crown is red.", "A bird that is red, with a red rump."),
    ],
)
def test_a_look_of_the_whole_bird_matches_in_any_wording(ours: str, theirs: str) -> None:
    for found in (contrast(ours, theirs), contrast(theirs, ours)):
        named = [mark for mark in (*found.only_ours, *found.only_theirs) if mark.part in ("", "plumage")]
        assert [mark.look for mark in named] == []


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (
            "A very large, thickset white owl. Legs and feet are covered in white feathers.",
            ["white plumage", "white feet"],
        ),
        ("A white owl with yellow eyes.", ["white plumage", "yellow eye"]),
        ("A red bird with black wings.", ["red plumage", "black wings"]),
        ("It is brown overall, with a white rump.", ["brown plumage", "white rump"]),
        ("It has neither streaks nor a white rump.", []),
    ],
)
def test_a_colour_of_the_bird_is_not_given_to_the_next_part(text: str, marks: Any) -> None:
    assert sorted(map(str, find_marks(text))) == sorted(marks)
