"""Differences between two descriptions, with the words that show them."""

from recognize.explanation.contrast import contrast


def test_a_part_differs_only_if_no_look_is_shared() -> None:
    found = contrast("The crown is red. The wings are black and white.", "The crown is blue. The wings are white.")
    assert [(each.part, each.ours, each.theirs) for each in found.differing] == [("crown", ("red",), ("blue",))]
    assert [str(mark) for mark in found.only_ours] == ["red crown", "black wings"]
    assert [str(mark) for mark in found.elsewhere(found.only_ours)] == ["black wings"]
    same = contrast("A scarlet cap.", "The crown is red.")
    assert (same.differing, same.only_ours, same.only_theirs) == ((), (), ()), "synonyms are no differences"


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


def test_a_look_of_the_whole_bird_matches_in_any_wording() -> None:
    for texts in (
        ("The male is red all over. The bill is red.", "A red songbird."),
        ("The plumage is red. The crown is red.", "A bird that is red, with a red rump."),
    ):
        for found in (contrast(*texts), contrast(*texts[::-1])):
            marks = (*found.only_ours, *found.only_theirs)
            assert [mark for mark in marks if mark.part in ("", "plumage")] == [], texts
