"""Laws of all re-ranking methods."""

import json
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage, BadInput, UsageError
from data.records import ChatReply, Job, JobImage
from kb.endpoints.images import Drawings
from recognize import load_encoders
from rerank import METHODS, RerankResources, first_stage, rerank
from rerank.captions import SentenceScorer, VisionCaptioner
from rerank.jobs import located
from rerank.visret import PromptGenerator

COLOURS = ("red", "blue", "yellow", "green", "black", "white", "brown", "orange")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("images")
    for colour in COLOURS:
        Image.new("RGB", (40, 40), colour).save(root / f"{colour}.png")
    (root / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not much of a JPEG")
    (root / "empty.png").write_bytes(b"")
    return root


def job_of(names: Any, scores: Any, text: str = "a crimson bird", **options: Any) -> Job:
    candidates = tuple(
        JobImage(image_id=f"{name}-{i}", path=name if "." in name else f"{name}.png", score=score)
        for i, (name, score) in enumerate(zip(names, scores, strict=True))
    )
    return Job(query_id="q1", text=text, candidates=candidates, **options)


class AsShown:
    """A chat model that finds every photo as good as the next and ranks them as shown; there is no model behind it."""

    name = "as shown"

    async def reply(self, request: Any) -> ChatReply:
        if request.json_schema is None:
            return ChatReply(text="a red bird", model=self.name, cost_usd=0.0)
        properties = request.json_schema["properties"]
        if "ranking" in properties:
            n = int(re.match(r"\d+", request.messages[0].text)[0])
            payload = {"comparison": "", "ranking": list(range(1, n + 1))}
        elif "overall" in properties:
            payload = {key: {"judgement": "good match", "reason": ""} for key in properties}
        else:
            payload = dict.fromkeys(properties, "red")
        return ChatReply(text=json.dumps(payload), model=self.name, cost_usd=0.0)


def run(method: Any, job: Any, folder: Any) -> Any:
    encoder = load_encoders("starter").text_image[0]
    sentence = load_encoders("starter").sentence
    vision = AsShown() if method in ("cotrr", "captions", "visa") else None
    drawing = Drawings(paths=(folder / "red.png",))

    async def draw(_prompt: str, _n: int) -> Drawings:
        return drawing

    resources = RerankResources(
        encoders=(encoder,),
        text=AsShown() if method == "rewrite" else None,
        vision=vision,
        generator=PromptGenerator(draw),
        captioner=None if vision is None else VisionCaptioner(vision),
        scorer=SentenceScorer(sentence),
    )
    return rerank(located(job, folder), method, resources)


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_the_result_is_a_permutation_with_ranks_from_one_and_falling_scores(method: Any, folder: Any) -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 5, 70):
        job = job_of(rng.choice([*COLOURS, "broken.jpg"], n).tolist(), rng.random(n).round(1).tolist())
        before = repr(job)
        ranked = run(method, job, folder)
        assert repr(job) == before
        assert sorted(image.image_id for image in ranked) == sorted(image.image_id for image in job.candidates)
        assert [image.rank for image in ranked] == list(range(1, n + 1))
        assert [image.score for image in ranked] == sorted((image.score for image in ranked), reverse=True)
        assert {image.query_id for image in ranked} <= {"q1"}


def test_equal_photos_keep_the_order_of_the_first_stage_and_its_ties_that_of_the_job(method: Any, folder: Any) -> None:
    job = job_of(["blue"] * 40, [(i * 7) % 5 for i in range(40)])
    ranked = run(method, job, folder)
    assert [image.image_id for image in ranked] == [image.image_id for image in first_stage(job)]
    assert [image.first_stage_rank for image in ranked] == list(range(1, 41))
    # Not in the order of the ids, where blue-10 would come before blue-5.
    assert [image.image_id for image in ranked[:3]] == ["blue-2", "blue-7", "blue-12"]


def test_the_order_of_the_input_does_not_matter_where_the_first_stage_has_no_ties(method: Any, folder: Any) -> None:
    job = job_of(COLOURS, [0.1 * i for i in range(8)])
    other = Job(query_id="q1", text=job.text, candidates=job.candidates[::-1])
    assert run(method, job, folder) == run(method, other, folder)


def test_an_image_that_cannot_be_read_is_an_error_row_at_the_end(method: Any, folder: Any) -> None:
    job = job_of(["broken.jpg", "red", "missing.png", "blue", "empty.png"], [0.9, 0.8, 0.7, 0.6, 0.95])
    ranked = run(method, job, folder)
    assert [image.status for image in ranked] == ["ok", "ok", "error", "error", "error"]
    # Among themselves in first-stage order.
    assert [image.image_id for image in ranked[2:]] == ["empty.png-4", "broken.jpg-0", "missing.png-2"]
    assert all(image.error for image in ranked[2:])
    assert "does not exist" in ranked[4].error
    assert all(image.error is None for image in ranked[:2])


def test_an_image_named_twice_and_a_query_without_a_text_are_refused(method: Any, folder: Any) -> None:
    image = JobImage(image_id="a", path="red.png", score=1.0)
    with pytest.raises(BadInput, match="'a' is listed twice"):
        run(method, Job(query_id="q1", text="red", candidates=(image, image)), folder)
    with pytest.raises(BadInput, match="Job q1 has no text"):
        run(method, job_of(COLOURS, [0.5] * 8, text=" "), folder)


def test_a_reference_image_that_cannot_be_read_ends_the_job(method: Any, folder: Any) -> None:
    job = job_of(COLOURS, [0.5] * 8, reference_image="broken.jpg", modification="but with a red crown")
    with pytest.raises(
        BadImage if method in ("similarity", "cotrr") else UsageError, match=r"broken\.jpg|reference image"
    ):
        run(method, job, folder)
