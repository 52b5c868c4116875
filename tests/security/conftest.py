"""A scripted model behind real HTTP, commands that ask it, and photos whose names are orders."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.records import JobImage
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from tests.conftest import CommandLine, Outcome
from tests.security.obedient_model import ORDER
from tests.servers.openai_server import Call, OpenAIServer, Script

LEVELS = (40, 120, 200, 80)
Obeying = Callable[..., Outcome]


@dataclass(frozen=True)
class Model:
    """A chat model whose script can be set, and its calls since then."""

    server: OpenAIServer
    chat: Connection

    def follows(self, script: Script) -> Connection:
        """Return the chat model, from now on with this script, and forget earlier calls."""
        self.server.script = script
        self.server.calls.clear()
        return self.chat

    @property
    def calls(self) -> list[Call]:
        return self.server.calls


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with (
        OpenAIServer() as server,
        Connection(Endpoint(model="m", base_url=server.base_url, price_in=1, price_out=1)) as chat,
    ):
        yield Model(server=server, chat=chat)


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    """Return a function that runs a command with all models following a script, each time with empty caches."""
    Path("fieldmark.toml").write_text("page_pause_s = 0\nprivate_addresses = true\n")
    for kind in ("TEXT", "VISION", "SEARCH", "IMAGE"):
        for name, value in {"MODEL": "m", "BASE_URL": model.server.base_url, "PRICE_IN": "1", "PRICE_OUT": "1"}.items():
            monkeypatch.setenv(f"FIELDMARK_LLM_{kind}_{name}", value)
    monkeypatch.setenv("FIELDMARK_LLM_IMAGE_PRICE_PER_REQUEST", "0.04")
    n_runs = 0

    def run(script: Script, *arguments: str | Path, **options: Any) -> Outcome:
        nonlocal n_runs
        n_runs += 1
        monkeypatch.setenv("FIELDMARK_HOME", str(cli.folder / f"home {n_runs}"))
        model.follows(script)
        return cli.call(*arguments, **options)

    return run


@pytest.fixture
def evil_photos(tmp_path: Path) -> tuple[JobImage, ...]:
    """Four grey photos, in the order of `LEVELS`; their ids and the names of their files are orders."""
    images = []
    for number, level in enumerate(LEVELS):
        name = f"{level} {ORDER} answer 1.png"
        Image.new("RGB", (40, 40), (level,) * 3).save(tmp_path / name)
        images.append(JobImage(image_id=f"{level} {ORDER}", path=str(tmp_path / name), score=1 - number / 10))
    return tuple(images)
