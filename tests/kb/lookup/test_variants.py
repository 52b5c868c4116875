"""Marks of ordinary adults, left out of passages on individuals that look different, such as an albino."""

from __future__ import annotations

import json

import pytest

import kb
from data.records import ChatReply, ChatRequest, Source, Term
from kb.lookup.passages import NOT_ORDINARY
from kb.lookup.variants import variant_of
from tests.kb.lookup.shelf import entry
from tests.memory_store import BagOfWords, ShelfStore

ENCODER = BagOfWords()
ROBIN = entry(
    "Turdus migratorius",
    "American Robin",
    "A plump thrush with a grey back and a thin, pointed bill.",
    "The breast is orange; the throat is white with dark streaks.",
    "Females are duller.",
    "The young have a spotted breast.",
    "Leucistic birds show white patches.",
    "Length 23 to 28 cm.",
    family="Turdidae",
    order="Passeriformes",
)
MALLARD = entry(
    "Anas platyrhynchos",
    "Mallard",
    "A large duck with a broad flat bill and orange legs.",
    "The male has a glossy green head; his bill is yellow.",
    "The female is mottled brown; a dark line runs through the eye.",
    family="Anatidae",
    order="Anseriformes",
)
CROW = entry(
    "Corvus brachyrhynchos",
    "American Crow",
    "The sexes are alike.",
    "It is black all over.",
    family="Corvidae",
    order="Passeriformes",
)
ALBINISM = Term(
    term_id="term:albinism",
    name="albinism",
    definition="A lack of all pigment, which leaves feathers white and eyes pink.",
    aliases=("albino",),
)
SQUIRREL = Term(
    term_id="term:red-squirrel",
    name="red squirrel",
    definition="The red squirrel is a rodent of woods.",
    look_for="It has a reddish coat. It has long ear tufts.",
    source=Source(title="Red squirrel", url="https://wiki.example/squirrel"),
)
STORE = ShelfStore([ROBIN, MALLARD, CROW], [ALBINISM, SQUIRREL], ENCODER)
ORDINARY = ("orange", "grey back", "white with dark", "green", "yellow", "reddish")


def passage(query: str) -> str:
    return kb.context(STORE, query, ENCODER).passage


def test_an_albino_robin_keeps_its_shape_and_bill_but_no_colour() -> None:
    found = passage("albino American robin")
    assert found == (
        "Albinism: A lack of all pigment, which leaves feathers white and eyes pink. "
        "American Robin (Turdus migratorius): Leucistic birds show white patches. "
        f"A plump thrush; a thin, pointed bill; length 23 to 28 cm. {NOT_ORDINARY}"
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("leucistic American robin", "Leucistic birds show white patches."),
        ("American Robin with leucism", "Leucistic birds show white patches."),
        ("juvenile American robin", "The young have a spotted breast."),
        ("an American robin chick", "The young have a spotted breast."),
        ("female American robin", "Females are duller."),
        ("American robin, female", "Females are duller."),
        ("female or juvenile American robin", "Females are duller."),
        ("female mallard", "The female is mottled brown; a dark line runs through the eye."),
        ("hybrid mallard", "A large duck; a broad flat bill."),
        ("a hybrid of mallard and American black duck", "A large duck; a broad flat bill."),
        ("melanistic red squirrel", "It has long ear tufts."),
    ],
)
def test_a_variant_gets_its_own_sentences_and_no_mark_of_the_ordinary_adult(query: str, said: str) -> None:
    found = passage(query)
    assert said in found
    assert (NOT_ORDINARY in found) == any(word in query for word in ("leucis", "hybrid"))  # the others have own looks
    assert not [mark for mark in ORDINARY if mark in found]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("American robin", "The breast is orange"),
        ("American robin feeding its chick", "The breast is orange"),
        ("American robin with chicks", "The breast is orange"),
        ("adult American robin", "The breast is orange"),
        ("male mallard", "glossy green head"),
        ("male and female mallard", "glossy green head"),
        ("a mallard and a female goose", "glossy green head"),
        ("female American crow", "black all over"),
        ("red squirrel", "reddish coat"),
    ],
)
def test_marks_of_ordinary_adults_stay_where_they_hold(query: str, said: str) -> None:
    assert said in passage(query)
    assert NOT_ORDINARY not in passage(query)


def test_a_male_gets_no_sentence_on_females() -> None:
    assert "mottled" not in passage("male mallard")


def test_sentences_on_the_query_come_first() -> None:
    assert passage("American robin with a white throat").startswith(
        "American Robin (Turdus migratorius): The breast is orange; the throat is white"
    )


def test_a_model_that_writes_the_passage_sees_no_ordinary_marks() -> None:
    requests: list[ChatRequest] = []

    class Writer:
        name = "writer"

        async def reply(self, request: ChatRequest) -> ChatReply:
            requests.append(request)
            return ChatReply(text=json.dumps({"sentences": []}), model="writer")

    kb.context(STORE, "albino American robin", ENCODER, chat=Writer())
    assert "orange" not in requests[0].messages[0].text


def test_a_word_for_age_belongs_to_the_name_beside_it() -> None:
    text = "male robin and female finch"
    assert variant_of(text, "robin", text.index("robin")).kinds == {"male"}
    assert variant_of(text, "finch", text.index("finch")).kinds == {"female"}


LOON = entry(
    "Gavia immer",
    "Common Loon",
    "A large waterbird with a pointed bill.",
    "The head is black, the underparts are white.",
    "Length 66 to 91 cm.",
    family="Gaviidae",
    order="Gaviiformes",
)
PUFFIN = entry(
    "Fratercula arctica",
    "Atlantic Puffin",
    "The back is black.",
    "In summer the bill is orange; it is duller in winter.",
    "The breeding male has red feet.",
    family="Alcidae",
    order="Charadriiformes",
)
GULL = entry(
    "Larus delawarensis",
    "Ring-billed Gull",
    "A medium-sized gull.",
    "It is grey above.",
    "First-winter birds have a pink bill with a black tip.",
    family="Laridae",
    order="Charadriiformes",
)
PLUMAGES = ShelfStore([ROBIN, MALLARD, LOON, PUFFIN, GULL], [], ENCODER)


def passage_on_plumage(query: str) -> str:
    return kb.context(PLUMAGES, query, ENCODER).passage


@pytest.mark.parametrize(
    "query",
    [
        *("mallard duckling", "a downy mallard duckling", "mallard, newly hatched", "a mallard youngster"),
        *("a drake mallard in eclipse", "male mallard in eclipse plumage", "female mallard in winter plumage"),
        *("mallard in nonbreeding plumage", "non-breeding mallard", "mallard out of breeding plumage"),
        *("a moulting mallard", "mallard in molt", "xanthochromic mallard", "piebald mallard", "dilute mallard"),
        *(
            "first-year mallard",
            "subadult mallard",
            "fledgling mallard",
            "1st winter mallard",
            "adult mallard in eclipse",
        ),
    ],
)
def test_no_mark_of_the_ordinary_adult_holds_for_another_plumage_or_age(query: str) -> None:
    found = passage_on_plumage(query)
    assert "A large duck; a broad flat bill." in found
    assert NOT_ORDINARY in found
    assert not [mark for mark in ("green", "yellow", "orange", "mottled", "dark line") if mark in found]


@pytest.mark.parametrize("word", ["gosling", "cygnet", "poult", "owlet", "eaglet", "chick", "squab"])
def test_a_word_for_young_birds_gets_the_sentences_on_them(word: str) -> None:
    assert "The young have a spotted breast." in passage_on_plumage(f"American robin {word}")
    assert "orange" not in passage_on_plumage(f"American robin {word}")


@pytest.mark.parametrize("query", ["first-winter ring-billed gull", "a ring-billed gull in its 1st winter"])
def test_a_first_winter_bird_gets_its_sentence_and_no_size_in_figures(query: str) -> None:
    assert passage_on_plumage(query) == (
        "Ring-billed Gull (Larus delawarensis): First-winter birds have a pink bill with a black tip. "
        "A medium-sized gull."
    )


def test_measurements_of_adults_do_not_hold_for_the_young() -> None:
    assert "cm" not in passage_on_plumage("common loon chick")
    assert "66 to 91 cm" in passage_on_plumage("common loon in winter plumage")


@pytest.mark.parametrize("query", ["common loon in winter", "winter plumage common loon", "winter common loon"])
def test_in_winter_a_species_of_two_plumages_has_no_breeding_marks(query: str) -> None:
    assert "black" not in passage_on_plumage(query)
    assert passage_on_plumage(query).endswith(NOT_ORDINARY)


def test_a_text_that_tells_the_plumages_apart_loses_only_the_other_one_in_winter() -> None:
    found = passage_on_plumage("Atlantic puffin in winter")
    assert "In summer the bill is orange; it is duller in winter." in found
    assert "The back is black." in found
    assert "red" not in found
    assert "black" not in passage_on_plumage("Atlantic puffin in winter plumage")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("an American robin in winter snow", "The breast is orange"),
        ("common loon in breeding plumage", "The head is black"),
        ("common loon in breeding plumage in winter", "The head is black"),
        ("mallard with ducklings", "glossy green head"),
        ("a mallard under a lunar eclipse", "glossy green head"),
        ("Atlantic puffin", "red feet"),
    ],
)
def test_a_season_or_another_animal_takes_no_mark_away(query: str, said: str) -> None:
    assert said in passage_on_plumage(query)
    assert NOT_ORDINARY not in passage_on_plumage(query)
