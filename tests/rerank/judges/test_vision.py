import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import BadRequest, NotCached
from data.records import ChatReply, Job, JobImage, Question, TokenLogprobs
from rerank import RerankResources, VisionJudge, VisionSettings, rerank
from rerank.judges.vision import plain_image, probe
from tests.rerank.scripted import ScriptedChat, token

CREST = Question(question="Does the bird have a crest?", statement="a crested bird", negation="a bird without a crest")


def reply(*tokens: TokenLogprobs) -> ChatReply:
    return ChatReply(text="".join(each.token for each in tokens), model="m", logprobs=tokens, cost_usd=0.25)


YES, NO = reply(token("Yes", Yes=0.9, No=0.1)), reply(token("No", No=0.8, Yes=0.2))


def judge_of(answer: ChatReply, settings: Any = None) -> tuple[VisionJudge, ScriptedChat]:
    """Return a judge of a model that answers the probe correctly and everything else with `answer`."""

    def react(request: Any) -> ChatReply:
        if "Is this picture red?" in request.messages[0].text:
            return YES if request.messages[0].images == (plain_image("red"),) else NO
        return answer

    chat = ScriptedChat(react)
    return VisionJudge(chat, settings=settings), chat


@pytest.fixture
def photo(tmp_path: Path) -> Any:
    Image.new("RGB", (64, 48), "green").save(tmp_path / "bird.jpg")
    return tmp_path / "bird.jpg"


def judged(judge: Any, photo: Any, question: Any = CREST, **more: Any) -> Any:
    given = {"query": "a crested bird in snow", "context": "", "earlier": ()} | more
    return asyncio.run(judge.judge(judge.look(photo), question, **given))


def test_probabilities_come_from_the_spellings_and_the_place_that_the_settings_name(photo: Any) -> None:
    paper, before = VisionSettings(spelling="exact"), VisionSettings(reasons="before")
    merged = reply(token("Yes", Yes=0.4, _no=0.4, NO=0.1))
    perhaps, unsure = reply(token("Perhaps", Perhaps=0.9, It=0.1)), reply(token("Hm", Hm=0.99, Yes=0.004))
    turned_away = reply(token("No", No=0.9, Yes=0.05), token(" crest is to be seen, for the head is turned away."))
    reasoned = reply(token("No crest.\nAnswer: "), token("Yes", Yes=0.7, No=0.3))
    explained = reply(token("No", No=0.75, Yes=0.25), token(". Yes, it is red. Answer it is."))
    for settings, given, probability, answer, by, note in (
        (None, merged, 0.4 / 0.9, "yes", "logprobs", ""),
        (paper, merged, 1.0, "yes", "logprobs", ""),
        (None, perhaps, None, None, "unclear", "no yes or no in the reply"),
        (paper, perhaps, None, None, "unclear", "neither Yes nor No among"),
        (None, unsure, None, None, "unclear", "no yes or no in the reply"),
        (paper, unsure, 1.0, "yes", "logprobs; yes and no have 0% of the mass", ""),
        (None, reply(token("Hm", Hm=0.9, Yes=0.06, No=0.02)), 0.75, "yes",
         "logprobs; yes and no have 8% of the mass", ""),
        (before, turned_away, None, None, "unclear", "no yes or no in the reply"),
        (before, reasoned, 0.7, "yes", "logprobs", "No crest."),
        (VisionSettings(reasons="after"), explained, 0.25, "no", "logprobs", "Yes, it is red. Answer it is."),
    ):  # fmt: skip
        found = judged(judge_of(given, settings)[0], photo)
        assert found.probability == (None if probability is None else pytest.approx(probability)), by
        assert (found.answer, found.obtained_by) == (answer, by)
        assert found.note.startswith(note) and bool(found.note) == bool(note)


def test_two_pictures_reveal_the_abilities_of_a_server() -> None:
    yes, no = replace(YES, logprobs=None), replace(NO, logprobs=None)
    for red, blue, abilities in (
        (YES, NO, (True, True)), (YES, YES, (True, False)), (NO, YES, (True, False)), (yes, no, (False, True)),
        (YES, no, (False, True)),  # log-probabilities in only one of the two replies do not count
        (ChatReply(text="I see a square.", model="m"), NO, (False, False)),
    ):  # fmt: skip
        chat = ScriptedChat(lambda request: red if request.messages[0].images == (plain_image("red"),) else blue)  # noqa: B023
        found = asyncio.run(probe(chat))
        assert ((found.gives_logprobs, found.tells_colours), len(chat.requests)) == (abilities, 2)
        stored = [asked.usable(given) for asked, given in zip(chat.requests, (red, blue), strict=True)]
        assert stored == [given.logprobs is not None for given in (red, blue)], (
            "else it would outlive the server's form"
        )

    def offline(_request: Any) -> ChatReply:
        raise NotCached("no reply")

    assert asyncio.run(VisionJudge(ScriptedChat(offline)).abilities()).gives_logprobs is False


def test_a_probe_that_fails_is_sent_once_in_a_run_and_again_in_the_next(photo: Any) -> None:
    def down(_request: Any) -> ChatReply:
        raise BadRequest("no images here")

    judge, chat = judge_of(YES)
    answers, chat.script = chat.script, down
    images = tuple(JobImage(image_id=f"{i}", path=str(photo), score=0.0) for i in range(4))
    ranked = partial(rerank, Job(query_id="q", text="a bird", candidates=images), "decompose")
    with pytest.raises(BadRequest, match="no images here"):
        ranked(RerankResources(judge=judge))
    assert len(chat.requests) == 2
    for _ in range(2):  # of asynchronous programs, each call is one of its own
        with pytest.raises(BadRequest):
            asyncio.run(judge.abilities())
    chat.script = answers
    assert asyncio.run(judge.abilities()).tells_colours
    assert {row.status for row in ranked(RerankResources(judge=judge))} == {"ok"}
