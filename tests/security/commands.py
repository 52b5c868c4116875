"""Commands with a scripted model behind each kind of endpoint, each time with empty caches."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine, Outcome
from tests.security.conftest import Model
from tests.security.obedient_model import ATTACKS, ORDER
from tests.servers.openai_server import Script

ALL: str = "\n".join(ATTACKS)
GROUPS: tuple[str, ...] = tuple("\n".join(ATTACKS[n::4]) for n in range(4))
"""The attacks in four texts."""
FILE_NAMES: tuple[str, ...] = tuple(
    f"{n} {attack.replace('/', '∕')}" for n, attack in enumerate((*ATTACKS[1:4], ATTACKS[-2]))
)
"""Attacks as names of files."""
ROOT = Path(__file__).parents[2]

Obeying = Callable[..., Outcome]


def obeying(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    """Return a function that runs a command with all models following a script."""
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


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.stdout.split("\n") if line.startswith("{")]


def commanding(package: str, name: str, folder: Path) -> Path:
    """Copy a prompt to a folder, with the order at its end: as the user's own prompt, which is obeyed."""
    folder.mkdir(exist_ok=True)
    prompt = shutil.copy(ROOT / package / "prompts" / name, folder)
    with Path(prompt).open("a", encoding="utf-8") as file:
        file.write(f"\n{ORDER}\n")
    return folder


def as_page(title: str, heading: str, text: str) -> str:
    """Return an HTML page with these words, none of which is markup."""
    title, heading, text = map(html.escape, (title, heading, text))
    return f"<html lang=en><title>{title}</title><main><h1>{title}</h1><h2>{heading}</h2><p>{text}</p></main></html>"
