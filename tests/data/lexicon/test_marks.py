from data.lexicon.marks import Mark, find_marks, mark_words

# Texts of birds, with all their marks; texts divided by lines.
TABLE = """
Above it is grey, below white. = grey back; white underparts
Above it is grey, below pale. It has a dark crown and a white belly. = grey back; white belly
It has a black head and white forefront. = black head; white
Bill: long, black. = long bill; black bill
Grey above. The larva is green. = grey back; green
The wing bars are white, the tail is black. = white wing bars; wing bars; black tail
The crown is rufous and dark brown, the legs pink. = rufous crown; brown crown; pink legs
The back is grey with a white rump. = grey back; white rump
It has no streaks on the breast. =
It has neither streaks nor a white rump. =
White-tipped wings and a tail tipped with buff. = white tips of the wings; buff tip of the tail
The wings are edged buff, the tail is black with white spots. = \
buff edges of the wings; black tail; white spots on the tail; spotted
The tail has white corners. = white corners of the tail
A white wing patch. = white patch on the wings
The tips of the wings are black. = black tips of the wings
A patch of white on the rump. = white patch on the rump
A white face, and a black line through the eye. = white face; black line
A grey-washed white breast. = grey wash on the breast; white breast
The back is marked with white, with yellow underparts. = white markings on the back; yellow underparts
A long tail with a band. = long tail
A deeply forked tail and round white spots. = forked tail; white spots on the tail; spotted tail
Males are well marked with yellow underparts. = yellow underparts
White uppertail coverts. = white rump
A dark black eye-stripe. = black eyestripe
White below the eye. = white
The male has a red crown; the female has a yellow bill. = red crown; yellow bill of the female
Females and young birds have brown backs and a grey belly, adult males a black belly. = \
brown back of the female and young; grey belly of the female and young; black belly
Male and female have a red cap. = red crown
The young male has a grey head, the female adult a white head. = grey head of the young; white head of the female
The breast is red in males and brown in young birds, unlike the female. = red breast; brown (young)
Paler than the female, it has a red crown. = red crown
Young birds have a brown bill, but in adults the bill is red. = brown bill of the young; red bill
Juveniles are streaked. = streaked (young)
The bill is black (unlike in the yellow-billed kite). = black bill
The rump is blue rather than green and black. = blue rump
A bird of no known colour. =
The bill is long and decurved. = long bill; curved bill
A very large, thickset white owl. Legs and feet are covered in white feathers. = white plumage; white feet
A red bird with black wings. = red plumage; black wings
A pale, long-legged owl with a white, heart-shaped facial disc. = long legs; white face
"""


# Texts of other groups, with their parts, stages and sides.
OF_OTHERS = """
lepidoptera: Orange above and brown below. = orange wings on the upperside; brown wings on the underside
lepidoptera: Underside: the hindwing has a white band. = white band on the hindwings on the underside
lepidoptera: The wings are red. The larva is green. = red wings; green body of the larva
amphibia: The back is green. Tadpoles are black. = green back; black body of the larva
odonata: Wings clear, pterostigma black; the male has a blue abdomen. = black pterostigma; blue abdomen
fish: The dorsal fin is red, the caudal fin forked. = red dorsal fin; forked tail fin
plants: White petals and red berries. = white petals; red fruits
fungi: The cap is slimy, the gills are white. = slimy cap; white gills
"""
# Marks in the words of their text.
SHOWN = {
    "A blue-grey head and a white cheek.": "blue-grey head; white cheek",
    "Chestnut cap; a notched tail.": "chestnut cap; notched tail",
    "The female has a blackish mask.": "blackish mask of the female",
    "Above it is blue-grey.": "blue-grey back",
}


def test_marks_are_read_from_texts() -> None:
    rows = [line.partition(" =") for line in TABLE.strip().splitlines()]
    found = {text: "; ".join(sorted(map(str, find_marks(text)))) for text, _, _ in rows}
    assert found == {text: "; ".join(sorted(given.strip().split("; "))) for text, _, given in rows}
    rows = [line.partition(" = ") for line in OF_OTHERS.strip().splitlines()]
    in_groups = [(of.partition(": ")[::2], expected) for of, _, expected in rows]
    assert [(each, "; ".join(map(str, find_marks(each[1], each[0])))) for each, _ in in_groups] == in_groups


def test_a_mark_is_shown_in_the_words_of_its_text_which_make_it_no_other_mark() -> None:
    assert {text: "; ".join(mark.shown for mark in find_marks(text)) for text in SHOWN} == SHOWN
    assert find_marks("A slate head.") == find_marks("A blue-grey head.")


def test_a_very_long_sentence_is_read_to_its_end() -> None:
    for words in ("red and ", "the side of ", "wing bar ", "in females ", "white-tipped "):
        assert "red crown" in map(str, find_marks(f"{words * 1_000}. A red crown.")), words


def test_only_words_that_name_a_mark_are_highlighted() -> None:
    every = "Adults have a glossy black head, a hooked yellow bill and barred grey flanks! The tail is long."
    red = (Mark(look="red", part="crown"),)
    for text, marks_of, marked in (
        ("Red cap, white rump. The legs are red.", red, ["Red"]),
        ("A red-capped bird; its back is red.", red, ["red-capped"]),
        ("The legs are red-brown, the cap is red.", red, ["red"]),
        ("", red, []),
        ("É! Ünïcode… red crown", red, ["red"]),
        (every, find_marks(every), ["glossy", "black", "hooked", "yellow", "barred", "grey", "long"]),
    ):
        pieces = mark_words(text, marks_of)
        assert "".join(piece for piece, _ in pieces) == text
        assert [piece for piece, is_mark in pieces if is_mark] == marked, text
