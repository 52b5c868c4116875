"""Marks of ordinary adults, left out of passages on individuals that look different, such as an albino."""

from __future__ import annotations

import json

import kb
from data.records import ChatReply, ChatRequest, Source, Term
from kb.lookup.passages import NOT_ORDINARY
from kb.lookup.variants import Variant, sentences_without_looks, variant_of
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
STORE = ShelfStore([ROBIN, MALLARD, CROW, LOON, PUFFIN, GULL], [ALBINISM, SQUIRREL], ENCODER)
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


def test_a_variant_gets_its_own_sentences_and_no_mark_of_the_ordinary_adult() -> None:
    for said, queries in {
        "Leucistic birds show white patches.": ("leucistic American robin", "American Robin with leucism"),
        "The young have a spotted breast.": (
            "juvenile American robin",
            *(
                f"American robin {young}"
                for young in ("gosling", "cygnet", "poult", "owlet", "eaglet", "chick", "squab")
            ),
        ),
        "Females are duller.": ("female American robin", "American robin, female", "female or juvenile American robin"),
        "The female is mottled brown; a dark line runs through the eye.": ("female mallard",),
        "A large duck; a broad flat bill.": ("hybrid mallard", "a hybrid of mallard and American black duck"),
        "It has long ear tufts.": ("melanistic red squirrel",),
    }.items():
        for query in queries:
            found = passage(query)
            assert said in found, query
            # The others have looks of their own.
            assert (NOT_ORDINARY in found) == any(word in query for word in ("leucis", "hybrid")), query
            assert not [mark for mark in ORDINARY if mark in found], query


def test_marks_of_ordinary_adults_stay_where_they_hold() -> None:
    for said, queries in {
        "The breast is orange": (
            "American robin", "American robin feeding its chick", "American robin with chicks", "adult American robin",
            "an American robin in winter snow",
        ),
        "glossy green head": (
            "male mallard", "male and female mallard", "a mallard and a female goose", "mallard with ducklings",
            "a mallard under a lunar eclipse",
        ),
        "black all over": ("female American crow",),
        "reddish coat": ("red squirrel",),
        "The head is black": ("common loon in breeding plumage", "common loon in breeding plumage in winter"),
        "red feet": ("Atlantic puffin",),
    }.items():  # fmt: skip
        for query in queries:
            found = passage(query)
            assert said in found and NOT_ORDINARY not in found, query
    assert "mottled" not in passage("male mallard")
    first = "American Robin (Turdus migratorius): The breast is orange; the throat is white"
    assert passage("American robin with a white throat").startswith(first), "sentences on the query come first"


def test_no_mark_of_the_ordinary_adult_holds_for_another_plumage_or_age() -> None:
    for query in (
        "mallard duckling", "a downy mallard duckling", "mallard, newly hatched", "a mallard youngster",
        "a drake mallard in eclipse", "male mallard in eclipse plumage", "female mallard in winter plumage",
        "mallard in nonbreeding plumage", "non-breeding mallard", "mallard out of breeding plumage",
        "a moulting mallard", "mallard in molt", "xanthochromic mallard", "piebald mallard", "dilute mallard",
        "first-year mallard", "subadult mallard", "fledgling mallard", "1st winter mallard", "adult mallard in eclipse",
    ):  # fmt: skip
        found = passage(query)
        assert "A large duck; a broad flat bill." in found and NOT_ORDINARY in found, query
        assert not [mark for mark in ("green", "yellow", "orange", "mottled", "dark line") if mark in found], query


def test_in_winter_sentences_on_another_plumage_are_left_out() -> None:
    sentences = ["In summer the coat is red; it is grey in winter.", "The breeding male has red feet.", "It is shy."]
    winter = Variant(kinds=frozenset({"winter"}))
    assert sentences_without_looks(sentences, winter) == [sentences[0], sentences[2]]
    assert sentences_without_looks(sentences, Variant(kinds=frozenset({"male"}))) == sentences


def test_seasons_and_ages_lose_only_marks_that_do_not_hold_for_them() -> None:
    gull = "Ring-billed Gull (Larus delawarensis): First-winter birds have a pink bill with a black tip. "
    for query in ("first-winter ring-billed gull", "a ring-billed gull in its 1st winter"):
        assert passage(query) == f"{gull}A medium-sized gull.", "without a size in figures"
    assert "cm" not in passage("common loon chick")
    assert "66 to 91 cm" in passage("common loon in winter plumage")
    for query in ("common loon in winter", "winter plumage common loon", "winter common loon"):
        assert "black" not in passage(query) and passage(query).endswith(NOT_ORDINARY)
    found = passage("Atlantic puffin in winter")
    assert "In summer the bill is orange; it is duller in winter." in found and "The back is black." in found
    assert "red" not in found
    assert "black" not in passage("Atlantic puffin in winter plumage")
