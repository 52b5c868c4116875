"""Marks of ordinary adults, left out of passages on albino, juvenile, female and hybrid individuals."""

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
