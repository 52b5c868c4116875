import asyncio
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from benchmarks.memory_collection import MemoryCollection
from data.arrays import as_unit_rows
from data.errors import BadInput, NoEvidence, NothingReadable, Refused, UsageError
from rerank.captions import PhotoText
from rerank.feedback.queries import NamedSpecies, PhraseCaptioner, cut, query_in, sampled, shortened
from rerank.feedback.search import FeedbackSearch
from rerank.feedback.session import Caption, Session, Turn
from rerank.settings import FEEDBACK_PRESETS, FeedbackMethod, FeedbackSettings
from tests.rerank.scripted import ScriptedChat
from tests.toy.encoders import toy_encoders

METHODS: tuple[FeedbackMethod, ...] = get_args(FeedbackMethod)
QUERY = "a red bird with a white belly"
ENCODER = toy_encoders().text_image[0]
COLOURS = ("red", "blue", "green", "white", "black", "yellow", "brown", "grey")
N = 300
_RANDOM = np.random.default_rng(7)
TEXTS = [f"a {a} bird with a {b} belly and a {c} tail" for a, b, c in _RANDOM.choice(COLOURS, size=(N, 3))]
NOISE = _RANDOM.normal(0, 0.1, (N, ENCODER.dim))
IDS = [f"{i:03}.jpg" for i in range(N)]
PHOTOS = MemoryCollection(ENCODER.space, IDS, as_unit_rows(ENCODER.encode_texts(TEXTS) + NOISE))
RED = ENCODER.encode_texts([QUERY])[0]
RELEVANT = frozenset(
    np.array(IDS)[np.argsort(-(PHOTOS.scores(ENCODER.encode_texts([QUERY]))[0] + NOISE[:, 0] * 3))][:60:2]
)


class ByName:
    """A captioner that reads the name of the file."""

    async def caption(self, path: Path) -> PhotoText:
        return PhotoText(text=TEXTS[int(path.stem)], cost_usd=0.01)


CAPTIONER = ByName()


def denoised(request: Any) -> str:
    """Reply with the last caption, in the form that the prompt asks for."""
    last = request.messages[0].text.rpartition("\n- ")[2].splitlines()[0]
    return f"Keywords: {last}\nDescription: {last}" if '"Description:"' in request.messages[0].text else last


def search(
    method: FeedbackMethod, by: Any = denoised, captioner: Any = CAPTIONER, photos: Any = PHOTOS, **settings: Any
) -> FeedbackSearch:
    chat = by if isinstance(by, ScriptedChat) else ScriptedChat(by)
    given = FeedbackSettings(**settings)
    return FeedbackSearch(ENCODER, photos, method=method, captioner=captioner, text=chat, settings=given)


def run(method: FeedbackMethod, n_turns: int = 5, by: Any = denoised, made: Any = None, **settings: Any) -> Session:
    """Return the session of a user who marks the relevant images of each turn."""
    made = made or search(method, by, **settings)
    session = made.begin(QUERY)
    for _ in range(n_turns):
        session, following = asyncio.run(made.grow(made.mark(session, RELEVANT.intersection(session.turns[-1].ids))))
        session = made.search(session, following)
    return made.mark(session, RELEVANT.intersection(session.turns[-1].ids))


def best(vector: Any, n: int = 20) -> tuple[str, ...]:
    return tuple(np.array(IDS)[np.argsort(-PHOTOS.scores(vector[None, :])[0], kind="stable")][:n])


def test_turn_0_equals_a_single_search_and_no_image_returns() -> None:
    for method in METHODS:
        session = run(method)
        assert session.turns[0].ids == best(RED)
        assert len(set(session.seen)) == len(session.seen) == 120
        made = search(method)
        session, following = asyncio.run(made.grow(made.mark(made.begin(QUERY), ())))
        assert following == Turn(query=QUERY), "without relevant images the query stays"
        assert made.search(session, following).turns[1].ids == best(RED, 40)[20:]
    assert run("none").seen == best(RED, 120)


def test_a_model_denoises_the_original_query_and_all_captions_from_turn_2() -> None:
    chat = ScriptedChat(denoised)
    session = run("keywords", 3, chat)
    assert len(chat.requests) == 2
    asked = chat.requests[1].messages[0].text
    assert f"Query: {QUERY}\n" in asked
    assert [each.text in asked for turn in session.turns[:3] for each in turn.captions] == [True] * 6
    assert session.turns[2].query.startswith("Video or image of a ")
    assert chat.requests[0].temperature == 0


def rocchio_by_hand(session: Session, *, relevant: str, start: str) -> list[str]:
    """Return the ranking after two turns by the textbook's formula, written anew."""
    rows = {image_id: PHOTOS.vectors(np.array([row]))[0].astype(float) for row, image_id in enumerate(IDS)}
    vector = ENCODER.encode_texts([QUERY])[0].astype(float)
    groups = [session.turns[:1], session.turns[1:2]] if start == "previous" else [session.turns[:2]]
    for group in groups:
        good = [
            i for turn in group for i in (turn.relevant if relevant == "all" else [c.image_id for c in turn.captions])
        ]
        bad = [i for turn in group for i in turn.ids if i not in turn.relevant]
        assert good and bad
        vector = vector + 0.75 * np.mean([rows[i] for i in good], 0) - 0.15 * np.mean([rows[i] for i in bad], 0)
        vector = vector / np.linalg.norm(vector)
    scores = {i: float(rows[i] @ vector) for i in IDS if i not in session.turns[0].ids + session.turns[1].ids}
    return sorted(scores, key=lambda i: -scores[i])[:20]


def test_rocchio_is_the_textbook_formula_in_each_reading() -> None:
    for relevant, start in product(("all", "sampled"), ("original", "previous")):
        session = run("rocchio", 2, rocchio_relevant=relevant, rocchio_from=start)
        # The captions of a session of text name the sample of each turn, which is the same for all methods.
        named = tuple(
            replace(turn, captions=tuple(Caption(image_id=i, text="x") for i in sampled(session, number)))
            for number, turn in enumerate(session.turns[:2])
        )
        expected = rocchio_by_hand(replace(session, turns=named), relevant=relevant, start=start)
        assert list(session.turns[2].ids) == expected, (relevant, start)


def test_the_mixed_methods_move_first_and_then_search_by_text_or_do_both() -> None:
    rocchio, text = run("rocchio", n_turns=2), run("captions", n_turns=2)
    then = run("rocchio-then-text", n_turns=2, text="captions")
    assert then.turns[1].ids == rocchio.turns[1].ids != text.turns[1].ids
    captions = [each.text for turn in then.turns[:2] for each in turn.captions]
    assert then.turns[2].query == ". ".join([QUERY, *captions])
    both = run("rocchio-and-text", n_turns=1, text="captions")
    assert both.turns[1].query == text.turns[1].query and both.turns[1].ids != text.turns[1].ids


def test_refusals_are_counted_and_the_turn_goes_on() -> None:
    def no(_request: Any) -> str:
        raise Refused("not allowed")

    class Refusing:
        async def caption(self, _path: Path) -> PhotoText:
            raise Refused("declined")

    made = search("cot", captioner=Refusing())
    session = run("cot", 1, made=made)
    assert session.turns[1].query == QUERY and "declined" in session.turns[1].notes[0]
    assert made.tally.counts["refused_captions"] == 2 and not made.tally.is_complete
    assert "could not be captioned" in made.tally.warnings()[0]
    for by, reason in ((no, "not allowed"), (lambda _: "Keywords: red", "no description")):
        made = search("cot", by)
        session = run("cot", 2, made=made)
        assert session.turns[2].query.startswith(f"{QUERY}. a ")
        assert reason in session.turns[2].notes[0] and made.tally.counts["failed_rewrites"] == 1


def test_the_preset_of_the_paper_cuts_off_at_77_tokens_and_ours_reads_all() -> None:
    assert FEEDBACK_PRESETS["paper"] == FeedbackSettings(max_tokens=77, names="text")
    long = " ".join(["a red bird"] * 20 + ["with a blue tail"] * 1500)  # 6,060 words
    paper, ours = search("none", max_tokens=60), search("none")
    first = paper.begin(long)
    assert first.turns[0].ids == search("none").begin(" ".join(["a red bird"] * 20)).turns[0].ids
    assert first.turns[0].notes == ("6,000 words beyond 60 tokens left out of the query",)
    assert paper.tally.counts["truncated"] == 1
    assert ours.begin(long).turns[0].ids != first.turns[0].ids and ours.tally.counts["truncated"] == 0


def test_named_species_are_searched_by_their_vector_and_half_by_the_text_if_that_says_more() -> None:
    blue = ENCODER.encode_texts(["a blue bird"])[0]

    def turns(*, is_whole: bool, names: str = "knowledge", text: str = QUERY) -> Any:
        found = NamedSpecies(names="Blue Jay", vector=blue, is_whole=is_whole)
        settings = FeedbackSettings(names=names)  # type: ignore[arg-type]
        finder = FeedbackSearch(ENCODER, PHOTOS, method="rocchio", settings=settings, names=lambda _: (found, ("!",)))
        return finder.begin(text)

    assert turns(is_whole=True).turns[0].ids == best(blue) and turns(is_whole=True).turns[0].species == "Blue Jay"
    assert turns(is_whole=False).turns[0].notes == ("!",)
    assert turns(is_whole=False).turns[0].ids == best(as_unit_rows([RED + blue])[0])
    assert turns(is_whole=True, names="text").turns[0].ids == best(RED)
    assert turns(is_whole=True, text="qqq").turns[0].ids == best(blue), "the encoder knows no word of it"


def test_bad_input() -> None:
    with pytest.raises(NothingReadable, match="no readable photo"):
        FeedbackSearch(ENCODER, MemoryCollection(ENCODER.space, [], PHOTOS.vectors(np.array([0]))[:0]))
    with pytest.raises(UsageError, match="vectors of other"):
        FeedbackSearch(ENCODER, MemoryCollection("other", IDS, PHOTOS.vectors(np.arange(N))), method="none")
    with pytest.raises(UsageError, match="needs a captioner"):
        FeedbackSearch(ENCODER, PHOTOS, method="captions")
    with pytest.raises(UsageError, match="needs a text model"):
        FeedbackSearch(ENCODER, PHOTOS, method="cot", captioner=CAPTIONER)
    made = search("none")
    with pytest.raises(UsageError, match="empty"):
        made.begin("  ")
    with pytest.raises(NoEvidence, match='knows no word of the query "ein Vogel \u9e1f"'):
        made.begin("ein Vogel \u9e1f")
    with pytest.raises(BadInput, match="does not show"):
        made.mark(made.begin(QUERY), ["x.jpg"])
    with pytest.raises(UsageError, match="not marked"):
        asyncio.run(made.grow(made.begin(QUERY)))


def test_words_that_the_encoder_cannot_see_are_a_warning() -> None:
    from recognize import load_encoders

    pair = load_encoders("starter").text_image[0]
    photos = MemoryCollection(pair.space, ["a", "b"], pair.encode_texts(["a red bird", "a blue bird"]))
    made = FeedbackSearch(pair, photos, method="none")
    (note,) = made.begin("two birds standing in water").turns[0].notes
    assert "can see little of these words" in note and made.tally.counts["blind"] == 1
    assert "1 query has few words" in made.tally.warnings()[0]
    assert made.begin("a red bird").turns[0].notes == ()


class ByCharacter:
    """An encoder whose tokens are characters."""

    def count_tokens(self, text: str) -> int:
        return len(text)


def test_phrases_of_a_vocabulary_caption_an_image_and_long_captions_are_cut_off() -> None:
    captioner = PhraseCaptioner(ENCODER, ["red crown", "blue crown", "red tail", "zzz"], n=2)
    assert captioner.describe(ENCODER.encode_texts(["a red bird"])[0]) == "red crown, red tail"
    assert cut("\u9ce5" * 25 + " red", 10, ByCharacter()) == ("\u9ce5" * 10, "\u9ce5" * 15 + " red")  # type: ignore[arg-type]
    assert shortened("a red bird, " * 50).count(",") == 24 and len(shortened("\u9ce5" * 200)) == 99


def test_a_polite_model_and_numbered_lists_are_read() -> None:
    for form, reply, query in (
        ("summary", "Sure! Here's a sentence:\n\nA red bird.", "A red bird."),
        ("cot", "Certainly!\n\n1. Keywords: red\n4. **Description:** a red bird\n\nI hope this helps!", "a red bird"),
    ):
        assert query_in(reply, form) == query, reply  # type: ignore[arg-type]
