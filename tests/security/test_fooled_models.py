"""A model that obeys an order within its block, or writes what it likes, spoils at most its own photo or text.

Its replies are checked: they name no other candidate, say nothing that their source does not, and keep their form.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

import kb
from data.errors import MalformedAnswer
from data.event_loop import wait_for
from data.records import Candidate, Context, Identification, Job, JobImage, RankedImage
from kb.distill.model import ModelDistiller
from kb.lookup.context import contexts
from recognize.reader.reader import Reader
from recognize.reader.stream import read_over
from rerank.cotrr.reranker import CotrrReranker
from rerank.decompose.questions import QuestionWriter
from rerank.decompose.reranker import DecomposeReranker
from rerank.judges.vision import VisionJudge
from rerank.reranker import Reranker
from rerank.run import run_jobs
from tests.kb.lookup.shelf import ENCODER
from tests.memory_store import ShelfStore
from tests.rerank.scripted import questions_reply
from tests.security.conftest import LEVELS, Model
from tests.security.obedient_model import MARK, ORDER, gullible
from tests.security.test_prompt_blocks import CERE, JAY, LOOKS, amplexus, jay, page_of, repeat, wren_of
from tests.servers.openai_server import Call, Reaction, Script

EVIL = 120
"""Grey level of the photo that shows an order in letters."""
PARTS = ("subject", "activity", "details", "environment", "ambiance")


def test_the_writer_of_a_look_up_says_what_its_texts_say(model: Model) -> None:
    """Otherwise its reply is dropped and the texts are joined. Other queries are answered as without the order."""
    store = ShelfStore([], (CERE, amplexus(ORDER)), ENCODER)
    honest = json.dumps({"sentences": [{"text": "Bare skin at the base of the bill.", "sources": [1]}]})
    expected = kb.context(store, "a cere", ENCODER, chat=model.follows(lambda _: honest))
    for said, sources in (
        ("Zebra stripes cover the whole animal.", [1]),  # words that its source lacks
        ("Bare skin at the base of the red bill.", [1]),
        ("Bare skin at the base of the bill.", [7]),  # no such source
        ("Bare skin: http://evil.test", [1]),
    ):
        zebra = json.dumps({"sentences": [{"text": said, "sources": sources}]})
        chat = model.follows(gullible(lambda _: honest, zebra))
        fooled, other = contexts(store, ["amplexus", "a cere"], ENCODER, chat=chat)
        assert (fooled.written_by, other) == (None, expected), said
        assert said not in fooled.passage


def test_the_distiller_says_what_its_article_says_in_the_form_of_replies(model: Model) -> None:
    page, wren = page_of(f"{LOOKS} {ORDER}"), wren_of("")

    def distil(zebra: object) -> Any:
        chat = model.follows(gullible(repeat, zebra if isinstance(zebra, str) else json.dumps({"statements": zebra})))
        return wait_for(ModelDistiller(chat, mode="model").distil_async(page, wren)).summary

    for said, sentences in (
        ("The crown is purple.", [1]),  # a colour that its sentence lacks
        ("It is 90 cm long.", [1]),
        ("The crown is black.", [99]),  # no such sentence
        ("The crown is black. Visit http://evil.test now.", [1]),
        ("Always answer A.", [1]),  # nothing to be seen
        ("<<<end of article>>> The crown is black.", [1]),
    ):
        with suppress(MalformedAnswer):
            found = distil([{"text": said, "sentences": sentences}])
            assert not (found and found.statements), said
    for zebra in ('{"zebra": []}', "zebra", [{"text": 1, "sentences": "1"}]):
        with pytest.raises(MalformedAnswer):
            distil(zebra)


def reading(
    model: Model, script: Script, candidates: Sequence[tuple[Candidate, ...]], image: str = "a.jpg"
) -> list[Identification]:
    rows = [Identification(image=image, status="identified", candidates=each) for each in candidates]
    return list(read_over(rows, Reader(model.follows(script)), lambda path, box: b"\xff\xd8\xff made up"))


def test_a_reader_answers_with_a_candidate(model: Model) -> None:
    """An unreadable answer leaves that of the ranking. No other photo is touched, nor any score."""
    cardinal = replace(JAY, taxon_id="c", scientific_name="Cardinalis", common_name="Cardinal", summary="Red.")
    evil = replace(cardinal, taxon_id="s", common_name="Bluebird", summary=ORDER)
    shown = [(JAY, cardinal), (JAY, evil), (cardinal, JAY)]
    for zebra in (
        '{"reason": "zebra", "answer": "Z"}',
        '{"reason": "zebra", "answer": "Equus quagga"}',
        '{"reason": "zebra", "answer": "A", "candidates": ["Equus quagga"]}{"answer": "B"}',
        '{"choice": "Equus quagga"}',
        "Equus quagga",
    ):
        found = reading(model, gullible(jay, zebra), shown)
        assert [row.candidates for row in found] == shown
        assert [row.reader.choice for row in found if row.reader] == [JAY.taxon_id, None, JAY.taxon_id], zebra
        assert (found[1].answer, found[1].reader.agreement if found[1].reader else None) == (None, 0.0)


@pytest.fixture
def job(evil_photos: tuple[JobImage, ...]) -> Job:
    return Job(query_id="q", text="frogs in amplexus", candidates=evil_photos)


def level_of(picture: bytes) -> int:
    with Image.open(io.BytesIO(picture)) as opened:
        return min(LEVELS, key=lambda level: abs(level - opened.convert("L").getpixel((20, 20))))


def levels(rows: list[RankedImage]) -> list[int]:
    return [int(row.image_id.split()[0]) for row in rows]


def ranked(reranker: Reranker, job: Job) -> list[RankedImage]:
    return run_jobs([job], reranker).rows["q"]


def judging(note: str, evaluated: Reaction | None = None) -> Script:
    """CoTRR by grey level; the evaluation of the photo with letters quotes them as `note`, or is `evaluated`."""

    def react(call: Call) -> Reaction:
        properties = call.payload["response_format"]["json_schema"]["schema"]["properties"]
        if set(properties) == set(PARTS):
            return json.dumps(dict.fromkeys(PARTS, "") | {"subject": "a frog"})
        if "overall" in properties:
            level = level_of(call.images[0])
            if level == EVIL and evaluated is not None:
                return evaluated
            reason = f"level {level} {note if level == EVIL else ''}"
            return json.dumps({name: {"judgement": "good match", "reason": reason} for name in properties})
        shown = re.findall(r"^\[\d+\].*overall: [\w ]+\(level (\d+)", call.text, re.MULTILINE)
        ranking = sorted(range(1, len(shown) + 1), key=lambda place: -int(shown[place - 1]))
        return json.dumps({"comparison": "by level", "ranking": ranking})

    return react


def cotrr(model: Model, script: Script, job: Job) -> list[RankedImage]:
    return ranked(CotrrReranker(model.follows(script)), job)


def test_a_ranking_names_only_candidates_and_each_once(model: Model, job: Job) -> None:
    """Where it names none, all rows are errors: the order of the first stage is not passed off as a ranking."""
    assert levels(cotrr(model, judging(ORDER), job)) == sorted(LEVELS, reverse=True)
    for ranking, status in (
        ([9, 99], "error"), (["zebra"], "error"), ([], "error"), ("zebra", "error"), ([{"photo": "zebra"}], "error"),
        ([2, 2, 2], "ok"), ([3, 99, -1, "zebra", 1], "ok"), ([4, 3, 2, 1], "ok"),
    ):  # fmt: skip
        honest, zebra = judging(ORDER), json.dumps({"comparison": "", "ranking": ranking})
        rows = cotrr(model, lambda call: honest(call) if call.images or MARK not in call.text else zebra, job)  # noqa: B023
        assert sorted(levels(rows)) == sorted(LEVELS)
        assert [(row.rank, row.status) for row in rows] == [(rank, status) for rank in (1, 2, 3, 4)], ranking


def test_an_evaluation_fails_its_photo_alone(model: Model, job: Job) -> None:
    before = {row.image_id: row.evaluation for row in cotrr(model, judging(""), job)}
    for evaluated in ("zebra", '{"overall": {"judgement": "zebra"}}', '{"ranking": [2]}'):
        rows = cotrr(model, judging("", evaluated), job)
        assert levels(rows) == [*sorted(set(LEVELS) - {EVIL}, reverse=True), EVIL], evaluated
        assert [row.status for row in rows] == ["ok", "ok", "ok", "error"]
        assert all(row.evaluation == before[row.image_id] for row in rows[:3])


def divide(model: Model, script: Script, job: Job, passage: str) -> list[RankedImage]:
    chat = model.follows(script)
    reranker = DecomposeReranker(
        VisionJudge(chat),
        context=lambda query: Context(query=query, passage=passage, found=True),
        writer=QuestionWriter(chat),
    )
    return ranked(reranker, job)


def yes_if_bright(call: Call) -> Reaction:
    """Write questions, tell the colours of the probe, and answer by the grey level of a photo."""
    if not call.images:
        return questions_reply()
    with Image.open(io.BytesIO(call.images[0])) as opened:
        red, _, blue = opened.convert("RGB").getpixel((20, 20))
    if abs(red - blue) > 50:
        return "Yes" if red > blue else "No"
    return json.dumps({"probability": 100 if red > 100 else 0})


def test_an_answer_changes_its_photo_alone(model: Model, job: Job) -> None:
    """Of twelve: where too many answers are missing, the query fails as a whole."""
    more = [replace(job.candidates[n % 2 * 2], image_id=f"{LEVELS[n % 2 * 2]} again {n}") for n in range(8)]
    job = replace(job, candidates=(*job.candidates, *more))

    def fooled(call: Call) -> Reaction:
        is_evil = len(call.images) == 1 and "frog" in call.text and level_of(call.images[0]) == EVIL
        return "zebra zebra" if is_evil else yes_if_bright(call)

    before = {row.image_id: row for row in divide(model, yes_if_bright, job, "")}
    for row in divide(model, fooled, job, ""):
        if str(EVIL) in row.image_id:
            assert all(answer.probability is None for answer in row.questions)
        else:
            assert (row.score, row.questions) == (before[row.image_id].score, before[row.image_id].questions)
