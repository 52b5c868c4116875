"""Tokens and cost of replies that were cut off: counted by every method, in its rows or its report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from data.errors import CutOff
from data.event_loop import wait_for
from data.records import Article, Job, JobImage, RankedImage, Section, Source, Taxon
from kb.distill.model import ModelDistiller
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from rerank import DecomposeReranker, VisionJudge, VisionSettings
from rerank.cotrr.reranker import CotrrReranker
from rerank.decompose.questions import QuestionWriter
from rerank.settings import CotrrSettings, DecomposeSettings
from tests.rerank.scripted import QUESTIONS
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction
from tests.servers.test_conformance import jpeg, model

CUT = 2_048 + 8_192 + 32_768
"""Tokens of the tries beside four times those of the task."""


def cut_off_if(is_endless: Callable[[Call], bool]) -> Callable[[Call], Reaction]:
    return lambda call: cut_off(call) if is_endless(call) else counted(call)


def cut_off(call: Call) -> Answer:
    """End in hidden thoughts, at the limit of the request."""
    limit = call.payload["max_tokens"]
    usage = {"prompt_tokens": len(call.text.split()), "completion_tokens": limit}
    details = {"completion_tokens_details": {"reasoning_tokens": limit}}
    return Answer(text="", finish="length", more={"usage": usage | details})


def counted(call: Call) -> Answer:
    """Answer as the model does, with one token; of several questions at once the first two."""
    reaction = model(call)
    if "1. Does the photo" in call.text and isinstance(reaction, Answer):
        reaction = replace(reaction, text="1. Yes\n2. No\n")
    reply = Answer(text=reaction) if isinstance(reaction, str) else reaction
    return Answer(text=reply.text, logprobs=reply.logprobs, output_tokens=1)


@contextmanager
def connected(is_endless: Callable[[Call], bool]) -> Iterator[Connection]:
    """Connect to a model that costs a dollar per token of its replies."""
    with OpenAIServer(cut_off_if(is_endless)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=0, price_out=1e6)
        with Connection(endpoint) as chat:
            yield chat


def spent(chat: Connection) -> float:
    assert chat.budget.meter.spent_usd > CUT
    return chat.budget.meter.spent_usd


def job(folder: Path, *levels: int) -> Job:
    for level in levels:
        (folder / f"{level}.jpg").write_bytes(jpeg(level))
    images = tuple(JobImage(image_id=str(level), path=f"{level}.jpg", score=0.0) for level in levels)
    return Job(query_id="q", text="frogs", candidates=images)


def cost_of(rows: list[RankedImage]) -> float:
    return sum(row.cost_usd or 0.0 for row in rows)


def test_the_distiller_counts_them() -> None:
    text = "The red wren has a black crown."
    article = Article(
        source=Source(title="A"), text=text, sections=(Section(title="Description", level=2, start=0, end=len(text)),)
    )
    with connected(lambda _: True) as chat:
        distiller = ModelDistiller(chat)
        with pytest.raises(CutOff):
            wait_for(distiller.distil_async(article, Taxon(taxon_id="w", scientific_name="Wrena", rank="species")))
        assert distiller.account()["cost_usd"] == distiller.account()["output_tokens"] == spent(chat)


def test_written_questions_count_them(tmp_path: Path) -> None:
    with connected(lambda call: "questions" in str(call.payload.get("response_format"))) as chat:
        judge, settings = VisionJudge(chat), DecomposeSettings(context=False)
        with closing(DecomposeReranker(judge, settings=settings, writer=QuestionWriter(chat), root=tmp_path)) as one:
            rows = asyncio.run(one.rank(job(tmp_path, 90)))
            assert one.tally.plans["q"].source == "fallback"
        assert cost_of(rows) == spent(chat) - 2, "all but the two calls that probe the judge"


@pytest.mark.parametrize(
    ("settings", "is_endless"),
    [
        (VisionSettings(), lambda call: True),
        (VisionSettings(), lambda call: "1. Does the photo" not in call.text),
        (VisionSettings(samples=3), lambda call: call.payload.get("seed") == 1),
        (VisionSettings(reasons="before"), lambda call: f"seen in it: {QUESTIONS[1]}" in call.text),
    ],
    ids=["all questions together", "the third question, asked again", "one of three samples", "the second question"],
)
def test_rows_of_photos_count_them(
    tmp_path: Path, settings: VisionSettings, is_endless: Callable[[Call], bool]
) -> None:
    with connected(lambda call: bool(call.images) and "picture red" not in call.text and is_endless(call)) as chat:
        judge = VisionJudge(chat, settings=settings)
        decompose = DecomposeSettings(context=False)
        with closing(DecomposeReranker(judge, settings=decompose, writer=QuestionWriter(chat), root=tmp_path)) as one:
            rows = asyncio.run(one.rank(job(tmp_path, 90)))
        assert rows[0].status == "error"
        assert cost_of(rows) == spent(chat) - 2, "all but the two calls that probe the judge"


@pytest.mark.parametrize("stages", ["full", "ranking"])
def test_rows_of_lists_count_them(tmp_path: Path, stages: str) -> None:
    with connected(lambda call: len(call.images) < 2 or stages == "ranking") as chat:
        settings = CotrrSettings(stages=stages)  # type: ignore[arg-type]
        with closing(CotrrReranker(chat, settings=settings, root=tmp_path)) as one:
            rows = asyncio.run(one.rank(job(tmp_path, 40, 200)))
        assert cost_of(rows) == pytest.approx(spent(chat))
