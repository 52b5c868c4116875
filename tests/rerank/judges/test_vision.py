"""The vision judge against a real HTTP server: requests, parsed replies, and failing servers."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.records import Job, JobImage, Question, QuestionAnswer
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retry import RetryPolicy
from rerank import DecomposeReranker, FairChat, JudgementCache, VisionJudge, VisionSettings
from rerank.decompose.plain_questions import direct_question
from rerank.decompose.questions import QuestionWriter
from rerank.judges.vision import plain_image
from rerank.settings import PRESETS
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Answer, OpenAIServer

QUICK = RetryPolicy(tries=4, first_wait_s=0.01)
CREST = Question(question="Does the bird have a crest?", statement="a crested bird", negation="a bird without a crest")


def scored(text: Any, **masses: Any) -> Answer:
    """Return a reply of one token with alternatives; `_` is a blank."""
    top = tuple((name.replace("_", " "), math.log(mass)) for name, mass in masses.items())
    return Answer(text=text, logprobs=((text, top[0][1], top),), input_tokens=400, output_tokens=1)


YES, NO = scored("Yes", Yes=0.9, No=0.1), scored("No", No=0.8, Yes=0.2)


def is_probe(call: Any) -> bool:
    return "Is this picture red?" in call.text


def is_red(call: Any) -> bool:
    return call.images[0] == plain_image("red")


def script(answer: Any) -> Any:
    """Return a script that answers the probe correctly and everything else with `answer`."""

    def react(call: Any) -> Any:
        if is_probe(call):
            return YES if is_red(call) else NO
        return answer(call) if callable(answer) else answer

    return react


@contextmanager
def judge_of(
    server: Any, settings: Any = None, *, cache: Any = None, finishes_first: bool = False, **more: Any
) -> Iterator[Any]:
    endpoint = Endpoint(model="m", base_url=server.base_url, price_in=1, price_out=1, max_concurrent=8)
    with Connection(endpoint, cache=cache, retry=QUICK, **more) as connection:
        yield VisionJudge(FairChat(connection, n_in_flight=4, finishes_first=finishes_first), settings=settings)


@pytest.fixture
def photo(tmp_path: Path) -> Any:
    Image.new("RGB", (64, 48), "green").save(tmp_path / "bird.jpg")
    return tmp_path / "bird.jpg"


def judged(judge: Any, photo: Any, question: Any = CREST, **more: Any) -> Any:
    given = {"query": "a crested bird in snow", "context": "", "earlier": ()} | more
    return asyncio.run(judge.judge(judge.look(photo), question, **given))


def test_the_direct_question_has_the_wording_of_the_paper_and_a_written_one_comes_with_query_and_answers(
    photo: Any,
) -> None:
    earlier = (QuestionAnswer(question="Is there a frog?", answer="yes", probability=1.0, obtained_by="logprobs"),)
    same = Question(question="Does this image show a red frog?", statement="a red frog", negation="no frog")
    with OpenAIServer(script(YES)) as server, judge_of(server) as judge:
        judged(judge, photo, direct_question("a red frog"), query="a red frog", earlier=earlier)
        found = judged(judge, photo, same, query="a red frog", earlier=earlier, context="Frogs are wet.")
    assert found.cost_usd == pytest.approx(401 / 1e6)
    direct, written = (call.text for call in server.calls[-2:])
    assert direct == "Does this image show a red frog? Answer with yes or no."
    for text in ('fit this description: "a red frog"', "- Is there a frog? Yes", "Frogs are wet.", same.question):
        assert text in written
    assert server.calls[-1].images == [judge.look(photo).jpeg]


def test_probabilities_come_from_the_spellings_and_the_place_that_the_settings_name(photo: Any) -> None:
    paper = VisionSettings(spelling="exact")
    head = "No crest is to be seen from here, for the head is turned away."
    turned_away = Answer(text=head, logprobs=(("No", -0.1, (("No", -0.1), ("Yes", -3.0))), (head[2:], -0.1, ())))
    yes_after_no = ("Yes", math.log(0.7), (("Yes", math.log(0.7)), ("No", math.log(0.3))))
    explained = (scored("No", No=0.75, Yes=0.25).logprobs[0], (". Yes, it is red. Answer it is.", 0.0, ()))
    for settings, reply, probability, answer, by, note in (
        (None, scored("Yes", Yes=0.4, _no=0.4, NO=0.1), 0.4 / 0.9, "yes", "logprobs", ""),
        (paper, scored("Yes", Yes=0.4, _no=0.4, NO=0.1), 1.0, "yes", "logprobs", ""),
        (None, scored("Perhaps", Perhaps=0.9, It=0.1), None, None, "unclear", "no yes or no in the reply"),
        (paper, scored("Perhaps", Perhaps=0.9, It=0.1), None, None, "unclear", "neither Yes nor No among"),
        (None, scored("Hm", Hm=0.99, Yes=0.004), None, None, "unclear", "no yes or no in the reply"),
        (paper, scored("Hm", Hm=0.99, Yes=0.004), 1.0, "yes", "logprobs; yes and no have 0% of the mass", ""),
        (None, scored("Hm", Hm=0.9, Yes=0.06, No=0.02), 0.75, "yes", "logprobs; yes and no have 8% of the mass", ""),
        (VisionSettings(reasons="before"), turned_away, None, None, "unclear", "no yes or no in the reply"),
        (VisionSettings(reasons="before"), Answer(text="No crest.\nAnswer: Yes", logprobs=(
            ("No crest.\nAnswer: ", 0.0, ()), yes_after_no)), 0.7, "yes", "logprobs", "No crest."),
        (VisionSettings(reasons="after"), Answer(text="No. Yes, it is red. Answer it is.", logprobs=explained), 0.25,
         "no", "logprobs", "Yes, it is red. Answer it is."),
    ):  # fmt: skip
        with OpenAIServer(script(reply)) as server, judge_of(server, settings) as judge:
            found = judged(judge, photo)
        assert found.probability == (None if probability is None else pytest.approx(probability)), by
        assert (found.answer, found.obtained_by) == (answer, by)
        assert found.note.startswith(note) and bool(found.note) == bool(note)


# --- whole jobs --------------------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> Job:
    candidates = []
    for i in range(10):
        Image.new("RGB", (48, 48), (i * 20, 90, 90)).save(tmp_path / f"{i}.jpg")
        candidates.append(JobImage(image_id=str(i), path=str(tmp_path / f"{i}.jpg"), score=1 - i / 100))
    return Job(query_id="q", text="frogs in amplexus", candidates=tuple(candidates))


def rank(
    server: Any,
    job: Any,
    *,
    settings: Any = None,
    judgements: Any = None,
    cache: Any = None,
    vision: Any = None,
    **more: Any,
) -> Any:
    async def main() -> Any:
        with judge_of(server, vision, cache=cache, **more) as judge:
            chat = judge._chat
            reranker = DecomposeReranker(
                judge, settings=settings or PRESETS["paper"].decompose, writer=QuestionWriter(chat), cache=judgements
            )
            try:
                return await reranker.rank(job), reranker.tally, chat._chat.budget.meter
            finally:
                reranker.close()

    return asyncio.run(main())


def with_questions(answer: Any) -> Any:
    return script(lambda call: answer(call) if call.images else questions_reply())


def test_unclear_answers_fail_the_query_early(job: Any) -> None:
    with OpenAIServer(with_questions(lambda _: scored("Hm", Hm=1.0))) as server:
        ranked, tally, meter = rank(server, job, settings=replace(PRESETS["default"].decompose, together=False))
    assert {row.status for row in ranked} == {"error"} and "no usable answer" in ranked[0].error
    assert isinstance(tally.failures[0].exit_code, int) and meter.calls <= 3 + 20 + 4


def test_reasons_are_shown_and_cached_with_the_answers(job: Any, tmp_path: Path) -> None:
    word = ("Yes", math.log(0.8), (("Yes", math.log(0.8)), ("No", math.log(0.2))))
    reasoned = Answer(text="A green back.\nAnswer: Yes", logprobs=(("A green back.\nAnswer: ", 0.0, ()), word))
    with (
        OpenAIServer(with_questions(lambda _: reasoned)) as server,
        JudgementCache(tmp_path / "judgements.sqlite") as judgements,
    ):
        vision = VisionSettings(reasons="before")
        ranked, _, _ = rank(server, job, judgements=judgements, vision=vision)
        assert {row.evaluation for row in ranked} == {"1. A green back.\n2. A green back.\n3. A green back."}
        again, tally, _ = rank(server, job, judgements=judgements, vision=vision)
    assert tally.n_cached == 10 and [row.evaluation for row in again] == [row.evaluation for row in ranked]


def test_a_repeated_run_uses_the_reply_cache_even_offline(job: Any, tmp_path: Path) -> None:
    def cache() -> ReplyCache:
        return ReplyCache(tmp_path / "replies.sqlite")

    with OpenAIServer(with_questions(lambda call: YES if len(call.images[0]) % 2 else NO)) as server:
        first, _, meter = rank(server, job, cache=cache())
        assert meter.calls == 2 + 1 + 30
        again, _, meter = rank(server, job, cache=cache())
        assert meter.calls == 0 and meter.cached == 33
    # The server is gone; cached replies still answer. Cached replies are free, so only the cost differs.
    replayed, _, _ = rank(server, job, cache=cache(), offline=True)
    assert [replace(row, cost_usd=0.0) for row in first] == replayed == again


def test_a_run_stopped_by_the_cost_limit_can_be_resumed(job: Any, tmp_path: Path) -> None:
    from kb.endpoints.budget import Budget

    with (
        OpenAIServer(with_questions(lambda _: YES)) as server,
        JudgementCache(tmp_path / "judgements.sqlite") as judgements,
    ):
        # Each call reserves 2,000 tokens for its photo and uses 400, so the budget covers only some calls.
        ranked, _, meter = rank(server, job, judgements=judgements, budget=Budget(0.012), finishes_first=True)
        n_errors = sum(row.status == "error" for row in ranked)
        assert 0 < n_errors < 10 and meter.spent_usd <= 0.012
        assert "limit" in ranked[-1].error
        spent = meter.calls
        ranked, tally, meter = rank(server, job, judgements=judgements, budget=Budget(10))
        assert {row.status for row in ranked} == {"ok"}
        assert tally.n_cached == 10 - n_errors and meter.calls < spent + 30


def test_queries_share_a_limited_number_of_calls_fairly(job: Any, tmp_path: Path) -> None:
    """Of two queries at once, the small one does not wait for the large one.

    No photo is answered before all photos of both queries have been read, so reading speed does not matter.
    """
    small = replace(job, query_id="small", text="a toad", candidates=job.candidates[:2])
    all_read = threading.Event()

    class Watched(VisionJudge):
        n_read = 0

        def look(self, path: Any) -> Any:
            found = super().look(path)
            self.n_read += 1
            if self.n_read == 12:
                all_read.set()
            return found

    def held(_: Any) -> Any:
        assert all_read.wait(60)
        return YES

    async def main(server: Any) -> Any:
        endpoint = Endpoint(model="m", base_url=server.base_url, max_concurrent=8)
        with Connection(endpoint, retry=QUICK) as connection:
            chat = FairChat(connection, n_in_flight=4)
            judge = Watched(chat)
            await judge.abilities()
            reranker = DecomposeReranker(judge, settings=PRESETS["paper"].decompose, writer=QuestionWriter(chat))
            ended = []

            async def one(job: Any) -> None:
                await reranker.rank(job)
                ended.append(job.query_id)

            large = asyncio.create_task(one(job))
            await asyncio.sleep(0)
            await asyncio.gather(large, asyncio.create_task(one(small)))
            reranker.close()
            return ended

    with OpenAIServer(with_questions(held)) as server:
        ended = asyncio.run(main(server))
    assert ended == ["small", "q"]
    assert server.most_at_once <= 4


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="samples: expected an odd number"):
        VisionSettings(samples=2)
    with pytest.raises(ValueError, match="stop_below"):
        replace(PRESETS["paper"].decompose, stop_below=2)
