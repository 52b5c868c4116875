"""A small knowledge base, coloured photos, a job over them, and endpoints for `kb rerank`."""

import json
import math
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.made_once import made_once
from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Answer, Call, OpenAIServer

COLOURS = ("red", "blue", "yellow", "green", "black", "white")


def answered(text: str, **masses: float) -> Answer:
    """A reply of one token, with the probabilities of its alternatives."""
    top = tuple((name, math.log(mass)) for name, mass in masses.items())
    return Answer(text=text, logprobs=((text, top[0][1], top),), input_tokens=400, output_tokens=1)


YES, NO = answered("Yes", Yes=0.9, No=0.1), answered("No", No=0.9, Yes=0.1)


def script(call: Call) -> Answer | str:
    """Answer yes for red photos and no for others, one question per call."""
    if not call.images:
        return questions_reply()
    red, _, blue = Image.open(BytesIO(call.images[0])).convert("RGB").resize((1, 1)).getpixel((0, 0))
    return YES if red > 150 > blue else NO


@pytest.fixture(scope="session")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small knowledge base of drawings."""
    import kb
    from kb.sources.starter import StarterSource
    from recognize import load_encoders

    def build(path: Path) -> None:
        source = StarterSource(with_vectors=False)
        kb.build(path, source.drawn_taxa()[:2], source, load_encoders("starter"))

    return made_once(tmp_path_factory, "birds.kb", build)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder of six photos, each of one colour."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for colour in COLOURS:
        Image.new("RGB", (40, 40), colour).save(folder / f"{colour} bird.png")
    return folder


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that configures a server as `[llm.KIND]`."""

    def connect(server: OpenAIServer, *, kind: str = "vision", **more: object) -> None:
        values = {"model": "m", "base_url": server.base_url, "price_in": 1, "price_out": 1} | more
        for name, value in values.items():
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind.upper()}_{name.upper()}", str(value))

    return connect


def jobs_file(folder: Path, *, n: int = 1) -> Path:
    """Write a file of jobs over the photos of a sibling folder, and return it."""
    candidates = [
        {"image_id": f"{i}", "path": str(path.relative_to(folder.parent)), "score": 1 - i / 10}
        for i, path in enumerate(sorted(folder.iterdir()))
    ]
    lines = [json.dumps({"query_id": f"q{i}", "text": f"a red bird, {i}", "candidates": candidates}) for i in range(n)]
    file = folder.parent / "jobs.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


PARTS = {"subject": "a frog", "activity": "clasping", "details": "", "environment": "water", "ambiance": ""}


def brightest_first(call: Call) -> str:
    """A model of CoTRR that ranks by the grey level in photos, or in the notes on them."""
    properties = call.payload["response_format"]["json_schema"]["schema"]["properties"]
    shown = [Image.open(BytesIO(picture)).convert("L").getpixel((20, 20)) for picture in call.images]
    if set(properties) == set(PARTS):
        return json.dumps(PARTS)
    if "overall" in properties:
        judged = {"judgement": "good match" if shown[0] > 128 else "poor match", "reason": f"level {shown[0]}"}
        return json.dumps(dict.fromkeys(properties, judged))
    if not shown:
        shown = [int(level) for level in re.findall(r"^\[\d+\].*\(level (\d+)\)", call.text, re.MULTILINE)]
    wanted = re.search(r"the best (\d+) of the", call.text)
    ranking = sorted(range(1, len(shown) + 1), key=lambda i: -shown[i - 1])[: int(wanted[1]) if wanted else None]
    notes = [{"photo": i, "judgement": "good match", "reason": f"level {x}"} for i, x in enumerate(shown, 1)]
    whole = {"query": PARTS, "evaluations": notes} if "evaluations" in properties else {"comparison": "by level"}
    return json.dumps({**whole, "ranking": ranking})
