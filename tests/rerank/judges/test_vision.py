"""The vision judge against a real HTTP server: requests, parsed replies, and failing servers."""

from __future__ import annotations

import asyncio
import io
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import SourceUnavailable
from data.records import Job, JobImage, Question, QuestionAnswer
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retry import RetryPolicy
from rerank import DecomposeReranker, FairChat, JudgementCache, VisionJudge, VisionSettings
from rerank.decompose.questions import QuestionWriter
from rerank.judges.probe import plain_image
from rerank.settings import PRESETS
from tests.rerank.scripted import QUESTIONS, questions_reply
from tests.servers.openai_server import Answer, Cut, OpenAIServer, Raw, Status

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


def test_a_question_is_sent_with_photo_context_and_earlier_answers(photo: Any) -> None:
    earlier = (QuestionAnswer(question="Is there a bird?", answer="yes", probability=1.0, obtained_by="logprobs"),)
    with OpenAIServer(script(YES)) as server, judge_of(server) as judge:
        found = judged(judge, photo, context="A crest is a tuft.", earlier=earlier)
    call = server.calls[-1]
    assert found.probability == pytest.approx(0.9) and found.obtained_by == "logprobs"
    assert found.cost_usd == pytest.approx(401 / 1e6)
    for text in ("A crest is a tuft.", "a crested bird in snow", CREST.question, "- Is there a bird? Yes"):
        assert text in call.text
    assert call.images == [judge.look(photo).jpeg]
    payload = call.payload
    assert (payload["temperature"], payload["logprobs"], payload["top_logprobs"]) == (0.0, True, 20)


def test_the_direct_question_has_the_wording_of_the_paper(photo: Any) -> None:
    from rerank.decompose.plain_questions import direct_question

    with OpenAIServer(script(YES)) as server, judge_of(server) as judge:
        judged(judge, photo, direct_question("a red frog"), query="a red frog")
    assert server.calls[-1].text == "Does this image show a red frog? Answer with yes or no."


def test_a_written_question_that_equals_the_query_keeps_query_and_earlier_answers(photo: Any) -> None:
    same = Question(question="Does this image show a red frog?", statement="a red frog", negation="no frog")
    earlier = (QuestionAnswer(question="Is there a frog?", answer="yes", probability=1.0, obtained_by="logprobs"),)
    with OpenAIServer(script(YES)) as server, judge_of(server) as judge:
        judged(judge, photo, same, query="a red frog", earlier=earlier)
    text = server.calls[-1].text
    assert 'fit this description: "a red frog"' in text
    assert "- Is there a frog? Yes" in text


def test_reasons_after_the_answer_change_no_probability(photo: Any) -> None:
    said = scored("No", No=0.75, Yes=0.25)
    reply = replace(
        said,
        text="No. Yes, it is red. Answer it is.",
        logprobs=(*said.logprobs, (". Yes, it is red. Answer it is.", 0.0, ())),
    )
    with OpenAIServer(script(reply)) as server, judge_of(server, VisionSettings(reasons="after")) as judge:
        found = judged(judge, photo)
    assert (found.answer, found.note) == ("no", "Yes, it is red. Answer it is.")
    assert found.probability == pytest.approx(0.25)
    call = server.calls[-1]
    assert "Begin with the single word Yes or No" in call.text
    assert call.payload["max_tokens"] >= 200


def test_spellings_are_merged_by_default_or_exact(photo: Any) -> None:
    reply = scored("Yes", Yes=0.4, _no=0.4, NO=0.1)
    with OpenAIServer(script(reply)) as server:
        with judge_of(server) as judge:
            assert judged(judge, photo).probability == pytest.approx(0.4 / 0.9)
        with judge_of(server, VisionSettings(spelling="exact")) as judge:
            assert judged(judge, photo).probability == 1.0


def test_an_answer_without_yes_or_no_is_unclear_not_zero(photo: Any) -> None:
    reply = scored("Perhaps", Perhaps=0.9, It=0.1)
    with OpenAIServer(script(reply)) as server:
        for spelling in ("merged", "exact"):
            with judge_of(server, VisionSettings(spelling=spelling)) as judge:
                found = judged(judge, photo)
            assert (found.probability, found.answer, found.obtained_by) == (None, None, "unclear")


def test_little_yes_or_no_mass_is_unclear_except_with_exact_spelling(photo: Any) -> None:
    with OpenAIServer(script(scored("Hm", Hm=0.99, Yes=0.004))) as server:
        with judge_of(server) as judge:
            assert judged(judge, photo).probability is None
        with judge_of(server, VisionSettings(spelling="exact")) as judge:
            assert judged(judge, photo).probability == 1.0  # only Yes is among the alternatives
    with OpenAIServer(script(scored("Hm", Hm=0.9, Yes=0.06, No=0.02))) as server, judge_of(server) as judge:
        found = judged(judge, photo)
    assert found.probability == pytest.approx(0.75)
    assert (found.answer, found.obtained_by) == ("yes", "logprobs; yes and no have 8% of the mass")


def test_a_reason_without_a_final_answer_is_unclear(photo: Any) -> None:
    reasons = "No crest is to be seen from here, for the head is turned away."
    reply = Answer(text=reasons, logprobs=(("No", -0.1, (("No", -0.1), ("Yes", -3.0))), (reasons[2:], -0.1, ())))
    with OpenAIServer(script(reply)) as server, judge_of(server, VisionSettings(reasons="before")) as judge:
        found = judged(judge, photo)
    assert (found.probability, found.obtained_by) == (None, "unclear")


def test_the_answer_token_is_read_after_the_reasoning(photo: Any) -> None:
    tokens = [("No", -0.1, (("No", -0.1),)), (" crest", -0.1, ()), (".\nAnswer", -0.1, ()), (":", 0.0, ())]
    tokens.append((" Yes", math.log(0.7), ((" Yes", math.log(0.7)), (" No", math.log(0.3)))))
    reply = Answer(text="".join(t for t, _, _ in tokens), logprobs=tuple(tokens))
    with OpenAIServer(script(reply)) as server, judge_of(server, VisionSettings(reasons="before")) as judge:
        found = judged(judge, photo)
    assert (found.answer, found.note) == ("yes", "No crest.")
    assert found.probability == pytest.approx(0.7)
    assert "Answer: Yes" in server.calls[-1].text and server.calls[-1].payload["max_tokens"] >= 200


def test_a_reasoning_model_gets_more_tokens_and_its_answer_is_read(photo: Any) -> None:
    tokens = (
        ("<think>", 0.0, (("<think>", 0.0),)),
        ("Yes?", 0.0, (("Yes", -0.1), ("No", -3.0))),
        ("</think>", 0.0, ()),
        ("No", math.log(0.75), (("No", math.log(0.75)), ("Yes", math.log(0.25)))),
    )

    def think(call: Any) -> Answer:
        # With few tokens the reply is cut off in its reasoning, which a naive parser would score as zero.
        if call.payload["max_tokens"] < 100:
            return Answer(text="<think>Yes?", logprobs=tokens[:2], finish="length")
        return Answer(text="<think>Yes?</think>No", logprobs=tokens)

    with OpenAIServer(think) as server, judge_of(server) as judge:
        found = judged(judge, photo)
    assert found.answer == "no" and found.probability == pytest.approx(0.25)


@pytest.mark.parametrize("begins", ["<think>It is", "It is"])
def test_reasoning_is_detected_by_its_closing_tag_alone(photo: Any, begins: str) -> None:
    def think(call: Any) -> Answer:
        if call.payload["max_tokens"] < 100:
            return Answer(text=begins, logprobs=tuple((t, 0.0, ((t, 0.0),)) for t in (begins,)), finish="length")
        word = ("Yes" if is_red(call) else "No") if is_probe(call) else "Yes"
        other = "No" if word == "Yes" else "Yes"
        tokens = ((f"{begins} no wren.", 0.0, ()), ("</think>\n\n", 0.0, ()))
        tokens += ((word, math.log(0.7), ((word, math.log(0.7)), (other, math.log(0.3)))),)
        return Answer(text="".join(t for t, _, _ in tokens), logprobs=tokens)

    with OpenAIServer(think) as server, judge_of(server) as judge:
        abilities = asyncio.run(judge.abilities())
        assert (abilities.gives_logprobs, abilities.tells_colours) == (True, True)
        assert server.n_calls == 4
        found = judged(judge, photo)
    assert (found.answer, found.obtained_by) == ("yes", "logprobs") and found.probability == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("way", "reply", "expected"),
    [
        ("stated", '{"probability": 85}', (0.85, "yes", "stated")),
        ("stated", "Probability: 20", (0.2, "no", "stated")),
        ("stated", '{"probability": 850}', (None, None, "unclear")),
        ("stated", "between 20 and 40", (None, None, "unclear")),
        ("text", "No.", (0.0, "no", "text")),
        ("text", "I see a bird.", (None, None, "unclear")),
    ],
)
def test_a_server_without_log_probabilities_is_asked_another_way(
    photo: Any, way: str, reply: str, expected: tuple[None, None, str] | tuple[float, str, str]
) -> None:
    settings = VisionSettings(without_logprobs=way)
    with OpenAIServer(script(reply), gives_logprobs=False) as server, judge_of(server, settings) as judge:
        found = judged(judge, photo)
    assert (found.probability, found.answer, found.obtained_by) == expected


def test_a_server_refusing_log_probabilities_is_asked_without_them(photo: Any) -> None:
    def react(call: Any) -> Any:
        if "logprobs" in call.payload:
            return Status(status=400, error={"message": "Logprobs is not supported", "param": "logprobs"})
        return "Yes" if is_probe(call) else '{"probability": 70}'

    with OpenAIServer(react) as server, judge_of(server) as judge:
        assert judged(judge, photo).obtained_by == "stated"


def test_sampled_answers_give_their_share_as_probability(photo: Any) -> None:
    with OpenAIServer(
        script(lambda call: "Yes" if call.payload["seed"] < 4 else "No"), gives_logprobs=False
    ) as server, judge_of(server, VisionSettings(without_logprobs="samples")) as judge:  # fmt: skip
        found = judged(judge, photo)
    assert (found.probability, found.answer, found.obtained_by) == (0.8, "yes", "samples 4/5")
    votes = [call for call in server.calls if not is_probe(call)]
    assert {call.payload["temperature"] for call in votes} == {1.0}


def test_three_samples_give_majority_answer_and_mean_probability(photo: Any) -> None:
    replies = [YES, NO, scored("Yes", Yes=0.6, No=0.4)]
    with OpenAIServer(script(lambda call: replies[call.payload["seed"]])) as server, judge_of(
        server, VisionSettings(samples=3)
    ) as judge:  # fmt: skip
        found = judged(judge, photo)
    assert found.answer == "yes" and found.obtained_by == "logprobs; samples 2/3"
    assert found.probability == pytest.approx((0.9 + 0.2 + 0.6) / 3)


def test_a_question_missing_from_joint_answers_is_asked_again(photo: Any) -> None:
    def together(call: Any) -> Any:
        if "3. " in call.text:
            tokens = [
                ("1", 0.0, ()),
                (". ", 0.0, ()),
                ("Yes", math.log(0.9), (("Yes", math.log(0.9)), ("No", math.log(0.1)))),
            ]
            tokens += [("\n3. ", 0.0, ()), ("no", math.log(0.8), (("no", math.log(0.8)), ("yes", math.log(0.2))))]
            return Answer(text="1. Yes\n3. no", logprobs=tuple(tokens), input_tokens=500, output_tokens=9)
        return scored("Yes", Yes=0.6, No=0.4)

    questions = [Question(question=text, statement=text, negation="no") for text in QUESTIONS]
    with OpenAIServer(script(together)) as server, judge_of(server) as judge:
        found = asyncio.run(judge.judge_together(judge.look(photo), questions, query="frogs", context=""))
    assert [one.probability for one in found] == pytest.approx([0.9, 0.6, 0.2])
    assert [one.obtained_by for one in found] == ["logprobs; asked together", "logprobs", "logprobs; asked together"]
    again = server.calls[-1].text
    assert QUESTIONS[1] in again and f"- {QUESTIONS[0]} Yes" in again
    assert sum(one.cost_usd for one in found) == pytest.approx((509 + 401) / 1e6)


def test_a_refusal_is_a_missing_answer_not_an_error(photo: Any) -> None:
    with OpenAIServer(script(Answer(text=None, refusal="I cannot look at this."))) as server, judge_of(server) as judge:
        found = judged(judge, photo)
    assert (found.probability, found.obtained_by) == (None, "refused")
    assert "cannot look" in found.note


@pytest.mark.parametrize(
    "fault",
    [
        Status(status=429, headers={"retry-after": "0.05"}, error={"message": "slow down"}),
        Status(status=500, error="oops"),
        Status(status=503, error={"message": "busy"}),
        Cut(after_bytes=20),
        Cut(after_bytes=0),
        Raw(body=b"<html>a proxy</html>"),
    ],
    ids=["429", "500", "503", "cut", "cut at once", "html"],
)
def test_temporary_faults_are_retried(photo: Any, fault: Any) -> None:
    def react(call: Any) -> Any:
        mine = [other for other in server.calls if not is_probe(other)]
        return fault if len(mine) <= 2 else NO

    with OpenAIServer(script(react)) as server, judge_of(server) as judge:
        found = judged(judge, photo)
    assert found.answer == "no" and found.probability == pytest.approx(0.2)


# --- whole jobs --------------------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> Job:
    candidates = []
    for i in range(10):
        Image.new("RGB", (48, 48), (i * 20, 90, 90)).save(tmp_path / f"{i}.jpg")
        candidates.append(JobImage(image_id=str(i), path=str(tmp_path / f"{i}.jpg"), score=1 - i / 100))
    return Job(query_id="q", text="frogs in amplexus", candidates=tuple(candidates))


def test_a_reference_photo_is_shown_before_each_photo(job: Any) -> None:
    reference = job.candidates[0].path
    composed = replace(job, candidates=job.candidates[5:6], reference_image=reference, modification="wetter")
    for settings in (PRESETS["paper"].decompose, PRESETS["default"].decompose):
        with OpenAIServer(with_questions(lambda _: YES)) as server:
            rows, *_ = rank(server, composed, settings=settings)
        assert rows[0].status == "ok"
        asked = [call for call in server.calls if "with this change: wetter" in call.text and call.images]
        assert asked and all(len(call.images) == 2 for call in asked)
        for call in asked:
            red, _, _ = Image.open(io.BytesIO(call.images[0])).convert("RGB").getpixel((9, 9))
            assert red < 20  # the reference is the darkest photo
            labels = [part["text"] for m in call.payload["messages"][1:] for part in m["content"] if "text" in part]
            assert labels == ["Reference photo, which is not one of the photos to judge:", "Photo to judge:"]


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


def test_invalid_questions_are_requested_again(job: Any) -> None:
    written = iter(["{'questions': ...", questions_reply()])
    with OpenAIServer(script(lambda call: YES if call.images else next(written))) as server:
        _, tally, _ = rank(server, job)
    assert tally.plans["q"].source == "model"
    assert [question.question for question in tally.plans["q"].questions] == list(QUESTIONS)


def test_an_unreadable_photo_is_an_error_row_without_a_call(job: Any, tmp_path: Path) -> None:
    (tmp_path / "3.jpg").write_bytes((tmp_path / "3.jpg").read_bytes()[:200])
    with OpenAIServer(with_questions(lambda _: YES)) as server:
        ranked, _, meter = rank(server, job)
    assert [(row.image_id, row.status) for row in ranked if row.status == "error"] == [("3", "error")]
    assert ranked[-1].image_id == "3" and meter.calls == 2 + 1 + 9 * 3


def test_unclear_answers_fail_the_query_early(job: Any) -> None:
    with OpenAIServer(with_questions(lambda _: scored("Hm", Hm=1.0))) as server:
        ranked, tally, meter = rank(server, job, settings=replace(PRESETS["default"].decompose, together=False))
    assert {row.status for row in ranked} == {"error"} and "no usable answer" in ranked[0].error
    assert isinstance(tally.failures[0].exit_code, int) and meter.calls <= 3 + 20 + 4


@pytest.mark.parametrize("vision", [VisionSettings(samples=3), VisionSettings(reasons="before")])
def test_the_default_stops_at_a_confident_no_without_joint_questions(job: Any, vision: Any) -> None:
    no = Answer(text="Answer: No", logprobs=(("Answer: ", 0.0, ()), ("No", -0.001, (("No", -0.001), ("Yes", -7.0)))))
    with OpenAIServer(with_questions(lambda _: no)) as server:
        ranked, tally, meter = rank(server, job, settings=PRESETS["default"].decompose, vision=vision)
    assert {len(row.questions) for row in ranked} == {1} and tally.n_skipped == 20
    assert dict(tally.obtained_by) == {"logprobs; samples" if vision.samples > 1 else "logprobs": 10}
    assert meter.calls == 2 + 1 + 10 * vision.samples


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


def test_an_unavailable_server_is_not_asked_every_question(job: Any) -> None:
    def react(call: Any) -> Any:
        return Status(status=404, error={"message": "no such model"}) if call.images else questions_reply()

    with OpenAIServer(script(react)) as server:
        ranked, tally, _ = rank(server, job)
    assert {row.status for row in ranked} == {"error"}
    assert len([call for call in server.calls if not is_probe(call)]) <= 13
    assert all("no such model" in str(error) or isinstance(error, SourceUnavailable) for error in tally.failures)


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
