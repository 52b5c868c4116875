"""A model that obeys an order within its block spoils at most its own photo: its replies name no other candidate."""

import io
import json
import re
from dataclasses import replace

import pytest
from PIL import Image

from data.records import Identification, Job, JobImage, RankedImage
from recognize.reader.reader import Reader, read_over
from rerank.cotrr.reranker import CotrrReranker
from rerank.reranker import run_jobs
from tests.security.conftest import LEVELS, Model
from tests.security.obedient_model import MARK, ORDER, gullible
from tests.security.test_prompt_blocks import JAY, jay
from tests.servers.openai_server import Call, Script

EVIL = 120  # grey level of the photo that shows an order in letters
PARTS = ("subject", "activity", "details", "environment", "ambiance")


def test_a_reader_answers_with_a_candidate(model: Model) -> None:
    """An unreadable answer leaves that of the ranking. No other photo is touched, nor any score."""
    cardinal = replace(JAY, taxon_id="c", scientific_name="Cardinalis", common_name="Cardinal", summary="Red.")
    evil = replace(cardinal, taxon_id="s", common_name="Bluebird", summary=ORDER)
    shown = [(JAY, cardinal), (JAY, evil), (cardinal, JAY)]
    rows = [Identification(image="a.jpg", status="identified", candidates=each) for each in shown]
    for zebra in (
        '{"reason": "zebra", "answer": "Equus quagga"}',
        '{"reason": "zebra", "answer": "A", "candidates": ["Equus quagga"]}{"answer": "B"}',
        "Equus quagga",
    ):
        reader = Reader(model.follows(gullible(jay, zebra)))
        found = list(read_over(rows, reader, lambda path, box: b"\xff\xd8\xff made up"))
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


def judging(note: str) -> Script:
    """CoTRR by grey level; the evaluation of the photo with letters quotes them as `note`."""

    def react(call: Call) -> str:
        properties = call.payload["response_format"]["json_schema"]["schema"]["properties"]
        if set(properties) == set(PARTS):
            return json.dumps(dict.fromkeys(PARTS, "") | {"subject": "a frog"})
        if "overall" in properties:
            level = level_of(call.images[0])
            reason = f"level {level} {note if level == EVIL else ''}"
            return json.dumps({name: {"judgement": "good match", "reason": reason} for name in properties})
        shown = re.findall(r"^\[\d+\].*overall: [\w ]+\(level (\d+)", call.text, re.MULTILINE)
        ranking = sorted(range(1, len(shown) + 1), key=lambda place: -int(shown[place - 1]))
        return json.dumps({"comparison": "by level", "ranking": ranking})

    return react


def cotrr(model: Model, script: Script, job: Job) -> list[RankedImage]:
    return run_jobs([job], CotrrReranker(model.follows(script))).rows["q"]


def test_a_ranking_names_only_candidates_and_each_once(model: Model, job: Job) -> None:
    """Where it names none, all rows are errors: the order of the first stage is not passed off as a ranking."""
    assert levels(cotrr(model, judging(ORDER), job)) == sorted(LEVELS, reverse=True)
    for ranking, status in (
        ([9, 99], "error"), ("zebra", "error"), ([2, 2, 2], "ok"), ([3, 99, -1, "zebra", 1], "ok"),
    ):  # fmt: skip
        honest, zebra = judging(ORDER), json.dumps({"comparison": "", "ranking": ranking})
        rows = cotrr(model, lambda call: honest(call) if call.images or MARK not in call.text else zebra, job)  # noqa: B023
        assert sorted(levels(rows)) == sorted(LEVELS)
        assert [(row.rank, row.status) for row in rows] == [(rank, status) for rank in (1, 2, 3, 4)], ranking
