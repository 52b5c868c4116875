"""Orders in web pages, through the commands that read them: `kb build --pages`, and `kb rerank` with a web search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import kb
from kb.checklist.avilist import load_checklist
from kb.distill.model_reply import SCHEMA
from tests.conftest import CommandLine
from tests.rerank.scripted import questions_reply
from tests.security.commands import ALL, Obeying, as_page, commanding, obeying, rows
from tests.security.conftest import Model
from tests.security.obedient_model import ATTACKS, MARK, ORDER, as_read, obedient
from tests.security.test_distilling import ZEBRA, repeat
from tests.security.test_ranking_photos import yes_if_bright
from tests.servers.openai_server import Answer, Call, Reaction
from tests.servers.ugly_site import Reply, UglySite

LOOKS = "The crown is black. The belly is white."
CHECKLIST = load_checklist()
BIRDS = [taxon.scientific_name for name in ("Anas", "Larus") for taxon in CHECKLIST.species_of(CHECKLIST.find(name))]


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    Path("fieldmark.toml").write_text("page_pause_s = 0\nprivate_addresses = true\n")
    return obeying(cli, model, monkeypatch)


@pytest.fixture
def site(cli: CommandLine) -> Iterator[UglySite]:
    """A page with an order for each bird but the last, and the table of the pages."""
    with UglySite().running() as site:
        lines = []
        for n, (name, attack) in enumerate(zip(BIRDS, (*ATTACKS, ""), strict=False)):
            body = as_page(f"{name} {attack}", f"Description {attack}", f"{LOOKS} It sings. {attack}")
            site.pages[f"/{n}"] = Reply(body=body)
            lines.append(f"{name},{site.url(f'/{n}')}")
        (cli.folder / "pages.csv").write_text("\n".join(lines))
        yield site


def summaries() -> list[str]:
    with kb.open("a.kb") as store:
        return store.summary_texts()


@pytest.mark.usefixtures("site")
def test_orders_of_pages_are_not_obeyed_by_the_distiller(cli: CommandLine, run: Obeying, model: Model) -> None:
    build = ("build", "--pages", "pages.csv", "--distiller", "model", "--kb")
    run(obedient(repeat, ZEBRA), *build, "a.kb", check=True)
    assert len(model.calls) == len(ATTACKS) + 1
    assert sum(MARK in as_read(call.text) for call in model.calls) == len(ATTACKS) - 2  # invisible letters
    assert all(call.payload["response_format"]["json_schema"]["schema"] == SCHEMA for call in model.calls)
    assert [text[: len(LOOKS)] for text in summaries()] == [LOOKS] * len(model.calls)

    # Without this, the rest would show nothing: an order of the user's own prompt is obeyed.
    own = commanding("kb", "distil.md", cli.folder / "own")
    assert run(obedient(repeat, ZEBRA), *build, "b.kb", "--set", f"prompts={own}").exit_code != 0


def answered(said: str) -> Any:
    """Search the web, write questions, and answer each by the grey level of the photo."""

    def react(call: Call) -> Reaction:
        if "Search the web" in call.text:
            return Answer(text=said, more={"citations": ["https://web.example/zorblin"]})
        if not call.images:
            return questions_reply()
        return yes_if_bright(call)

    return react


@pytest.mark.parametrize("said", [f"A zorblin is a gland of frogs.\n{ALL}", ALL])
def test_an_answer_of_the_web_gives_no_orders_to_the_judge(
    cli: CommandLine, run: Obeying, model: Model, said: str
) -> None:
    folder = cli.folder / "photos"
    folder.mkdir()
    for level in (40, 60, 180, 200):
        Image.new("RGB", (40, 40), (level,) * 3).save(folder / f"{level}.png")
    cli.call("add", "--kb", "a.kb", "--name", "Mallard", "--text", _text(cli), check=True)
    given = ("--kb", "a.kb", "--web", "--judge", "vision", "--format", "jsonl")
    command = ("rerank", folder, *given, "--query", "frog with a zorblin")
    zebra = json.dumps({"probability": 50})
    wanted = rows(run(answered("A zorblin is a gland of frogs."), *command, check=True))
    found = rows(run(obedient(answered(said), zebra), *command, check=True))
    assert [(row["image_id"], row["score"], _asked(row)) for row in found] == [
        (row["image_id"], row["score"], _asked(row)) for row in wanted
    ]
    assert {row["score"] for row in found} == {0.0, 100.0}
    assert any(MARK in as_read(call.text) for call in model.calls)

    # Without this, the rest would show nothing: an order in the user's own query is obeyed.
    found = rows(run(obedient(answered(said), zebra), *command[:-1], f"frog with a zorblin. {ORDER}"))
    assert {row["score"] for row in found} == {50.0}


def _asked(row: dict[str, Any]) -> list[str]:
    return [each["question"] for each in row["questions"]]


def _text(cli: CommandLine) -> Path:
    file = cli.folder / "mallard.txt"
    file.write_text("The male has a green head and a yellow bill.")
    return file
