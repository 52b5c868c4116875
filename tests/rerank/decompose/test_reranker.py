import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.contracts import SeenImage
from data.errors import SourceUnavailable, UsageError
from data.records import Context, Job, JobImage, Judgement
from rerank import DecomposeReranker, RerankResources, rerank
from rerank.decompose.questions import QuestionWriter
from rerank.settings import PRESETS, DecomposeSettings
from tests.rerank.scripted import QUESTIONS, ScriptedChat, questions_reply

NAMES = ("a", "b", "c", "d")
PASSAGE = "Amplexus is a grip."


class TableJudge:
    """Answers by image and question number out of a table."""

    name = "table"
    costs_money = True
    sees_references = True

    def __init__(self, table: Any, *, failing: tuple[()] = ()) -> None:
        self.table, self.failing = table, failing
        self.asked = []

    def look(self, path: Any) -> SeenImage:
        return SeenImage(jpeg=path.stem.encode())

    async def judge_together(self, image: Any, questions: Any, *, query: Any, context: Any) -> None:
        return None

    async def judge(self, image: Any, question: Any, *, query: Any, context: Any, earlier: Any) -> Judgement:
        image_id = image.jpeg.decode()
        if image_id in self.failing:
            raise SourceUnavailable("down")
        self.asked.append((image_id, question.question, context, tuple((e.question, e.answer) for e in earlier)))
        numbers = {text: i for i, text in enumerate(QUESTIONS)}
        probability = self.table[image_id][numbers.get(question.question, 0)]
        if probability is None:
            return Judgement(probability=None, answer=None, obtained_by="unclear", note="mumbled", cost_usd=0.5)
        answer = "yes" if probability > 0.5 else "no"
        return Judgement(probability=probability, answer=answer, obtained_by="table", cost_usd=0.5)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    for i, name in enumerate(NAMES):
        Image.new("RGB", (32, 32), (i * 40, 0, 0)).save(tmp_path / f"{name}.png")
    candidates = tuple(
        JobImage(image_id=name, path=str(tmp_path / f"{name}.png"), score=1.0 - i / 10) for i, name in enumerate(NAMES)
    )
    return Job(query_id="q", text="frogs in amplexus", candidates=candidates)


def run(job: Any, judge: Any, settings: Any, *, chat: Any = None, passage: Any = PASSAGE, **more: Any) -> Any:
    def context(query: Any) -> Context:
        return Context(query=query, passage=passage, found=True)

    writer = QuestionWriter(chat or ScriptedChat(lambda _: questions_reply()))
    reranker = DecomposeReranker(judge, settings=settings, context=context, writer=writer, **more)
    return asyncio.run(reranker.rank(job)), reranker


TABLE = {"a": (0.2, 0.1, 0.3), "b": (0.9, 0.8, 1.0), "c": (0.9, 0.1, 0.2), "d": (0.9, 0.8, 1.0)}


def test_encoders_get_no_passage_that_leaves_a_name_unexplained_or_is_of_the_web(job: Any) -> None:
    for more, passed in (({}, PASSAGE), ({"unexplained": ("Kea",)}, ""), ({"asked_on": "2026-01-01"}, "")):
        judge = TableJudge(TABLE)
        judge.sees_references = False  # as encoders
        reranker = DecomposeReranker(
            judge,
            settings=DecomposeSettings(direct=True),
            context=lambda query: Context(query=query, passage=PASSAGE, found=True, **more),  # noqa: B023
        )
        asyncio.run(reranker.rank(job))
        assert {asked[2] for asked in judge.asked} == {passed}


def test_questions_are_skipped_below_the_limit_alone_and_where_answers_cost_money(job: Any) -> None:
    for stop_below, is_paid, probability, n in ((None, False, 0.0, 3), (0.0, True, 0.0, 3), (0.05, True, 0.05, 3),
                                                (0.05, True, 0.04, 1), (None, True, 0.04, 1)):  # fmt: skip
        judge = TableJudge(TABLE | {"a": (probability, 0.06, 0.9)})
        judge.costs_money = is_paid
        ranked, _ = run(job, judge, replace(PRESETS["paper"].decompose, stop_below=stop_below))
        assert sum(image == "a" for image, *_ in judge.asked) == n
        expected = 100 * (probability + (0.96 if n == 3 else 0)) / 3
        assert {row.image_id: row.score for row in ranked}["a"] == pytest.approx(expected, abs=1e-5)


def test_a_query_with_too_many_missing_answers_fails_but_not_with_the_papers_preset(job: Any) -> None:
    table = TABLE | {"b": (None, None, None)}
    ranked, reranker = run(job, TableJudge(table), PRESETS["paper"].decompose)
    assert {row.image_id: row.score for row in ranked}["b"] == 0
    assert (reranker.tally.counts["unscored"], reranker.tally.failures) == (3, [])
    ranked, reranker = run(job, TableJudge(table), PRESETS["default"].decompose)
    assert {row.status for row in ranked} == {"error"}
    assert "no usable answer to 3 of 12 questions (mumbled); at most" in ranked[0].error
    assert len(reranker.tally.failures) == 1


def test_the_library_logs_what_went_another_way(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    rerank(job, "decompose", RerankResources(judge=TableJudge(TABLE), text=ScriptedChat(lambda _: "Sure!")))
    (record,) = caplog.records
    assert record.levelname == "WARNING" and record.getMessage().startswith("query q was asked whole, not decomposed:")


@pytest.mark.parametrize("more", [{"modification": "one alone"}, {"dialogue": ("frogs", "two? yes")}])
def test_a_rule_divides_neither_changes_nor_dialogues_but_they_can_be_asked_whole(job: Any, more: Any) -> None:
    reference = {"reference_image": job.candidates[0].path} if "modification" in more else {}
    other = replace(job, **more, **reference)
    with pytest.raises(UsageError, match="The rule that writes questions cannot divide"):
        asyncio.run(DecomposeReranker(TableJudge(TABLE)).rank(other))
    judge = TableJudge({name: probabilities[:1] for name, probabilities in TABLE.items()})
    asyncio.run(DecomposeReranker(judge, settings=DecomposeSettings(direct=True)).rank(other))
    assert len({question for _, question, _, _ in judge.asked}) == 1
