"""Forty coloured photos in four folders, a home that keeps their index, and scripted captions."""

import itertools
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.servers.openai_server import Call, OpenAIServer

COLOURS = {
    "red": (200, 20, 30), "blue": (30, 40, 200), "green": (20, 140, 40), "white": (245, 245, 245),
    "black": (15, 15, 15), "yellow": (240, 220, 30),
}  # fmt: skip
QUERY = "a red bird with a white belly"


@pytest.fixture(scope="session")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos of an upper and a lower colour, in folders by the upper one."""
    folder = tmp_path_factory.mktemp("feedback") / "photos"
    rng = np.random.default_rng(3)
    names = list(COLOURS)
    for number in range(40):
        upper, lower = names[number % 4], names[int(rng.integers(len(names)))]
        pixels = np.zeros((60, 60, 3), dtype=np.uint8)
        pixels[:30], pixels[30:] = COLOURS[upper], COLOURS[lower]
        pixels = np.clip(pixels + rng.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8)
        (folder / f"{upper}_bird").mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{upper}_bird" / f"{number:02}.png")
    return folder


@pytest.fixture(scope="session")
def kept_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("feedback-home")


def answered(call: Call) -> str:
    """Caption a photo by its colours; denoise with the last caption, or with its words as a list."""
    if call.images:
        pixels = np.asarray(Image.open(BytesIO(call.images[0])).convert("RGB").resize((1, 2)), dtype=float)
        near = [min(COLOURS, key=lambda name: float(np.abs(np.array(COLOURS[name]) - row[0]).sum())) for row in pixels]
        return f"A {near[0]} bird with a {near[1]} belly."
    last = call.text.rpartition("\n- ")[2].splitlines()[0]
    return f"Keywords: bird\nDescription: {last}" if '"Description:"' in call.text else f"{last} with a blue tail"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server behind `[llm.vision]` and `[llm.text]`."""
    with OpenAIServer(answered) as server:
        values = {"MODEL": "m", "BASE_URL": server.base_url, "PRICE_IN": "1", "PRICE_OUT": "1"}
        for kind, name in itertools.product(("VISION", "TEXT"), values):
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_{name}", values[name])
        yield server


@pytest.fixture
def plain_encoders(kept_home: Path, toy_paper_profile: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrained encoders of colours, with an index that all tests share."""
    monkeypatch.setenv("FIELDMARK_HOME", str(kept_home))
    monkeypatch.setenv("FIELDMARK_PROFILE", "paper")


@pytest.fixture
def own_home(plain_encoders: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without the replies of other tests."""
    monkeypatch.setenv("FIELDMARK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def converse(cli: Any, coloured: Path, plain_encoders: None) -> Callable[..., Any]:
    """Return a function that runs a session with typed lines, and returns the run and the session file."""

    def run(typed: str, *more: str, file: str = "s.json", query: str = QUERY) -> Any:
        arguments = [query, "--images", str(coloured), "--session", file, *more]
        done = cli.call("feedback", *arguments, stdin=typed)
        path = cli.folder / file
        return done, json.loads(path.read_text()) if path.exists() else None

    return run
