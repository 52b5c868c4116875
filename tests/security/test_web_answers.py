"""Orders in a page that a search model read, by `kb context --web` and `kb rerank --web`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from PIL import Image

from tests.conftest import CommandLine
from tests.drawn_birds import drawn_bird
from tests.security.commands import ALL, Obeying, commanding, obeying, rows
from tests.security.conftest import Model
from tests.security.obedient_model import MARK, as_read, gullible, obedient
from tests.security.test_ranking_photos import LEVELS, yes_if_bright
from tests.servers.openai_server import Answer, Call, Reaction, Script
from tests.servers.ugly_site import Reply, UglySite

LOOKS = "It is blue above with a crest."
PAGES = {
    "zorblin": "A zorblin is a red gland of frogs.",
    "snood": "A snood is a flap of skin over the bill.",
    "cristata": "A jay of North America.",
}
ZEBRA = Answer(text="Zebra stripes.", more={"citations": ["javascript:alert('zebra')", "https://zebra.test/"]})


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    return obeying(cli, model, monkeypatch)


@pytest.fixture
def site() -> Iterator[UglySite]:
    """A page on each word."""
    with UglySite().running() as site:
        for word, text in PAGES.items():
            site.pages[f"/{word}"] = Reply(body=text)
        yield site


@pytest.fixture
def copy(cli: CommandLine) -> Iterator[str]:
    """A knowledge base that no answer was learnt into: the same one, as often as one is needed."""
    text, photo = cli.folder / "jay.txt", cli.folder / "jay.png"
    text.write_text(LOOKS)
    photo.write_bytes(drawn_bird("cyanocitta-cristata"))
    cli.call("add", "--kb", "a.kb", "--name", "Blue Jay", "--text", text, "--photo", photo, "--as-is", check=True)
    return (shutil.copytree("a.kb", f"{n}.kb") for n in range(10))


def searching(site: UglySite, otherwise: Script) -> Script:
    """Search the site for the last word of a query and answer with the page; other calls as `otherwise` says."""

    def react(call: Call) -> Reaction:
        query = re.search(r"judge photographs by this query: .*\b(\w+)$", call.text, re.MULTILINE)
        if query is None:
            return otherwise(call)
        url = site.url(f"/{query[1]}")
        with urlopen(url) as page:
            text = page.read().decode()
        return Answer(text=text, more={"search_results": [{"url": url, "title": text}]})

    return react


def write(call: Call) -> Reaction:
    """Write a passage from the first text."""
    return json.dumps({"sentences": [{"text": LOOKS, "sources": [1]}]})


def attacked(site: UglySite) -> None:
    site.pages["/zorblin"] = Reply(body=f"{PAGES['zorblin']} {ALL}")


def test_orders_of_a_page_change_neither_the_form_of_an_answer_nor_other_answers(
    cli: CommandLine, run: Obeying, model: Model, site: UglySite, copy: Iterator[str]
) -> None:
    (cli.folder / "queries.txt").write_text(
        "frog with a zorblin\nturkey with a snood\nCyanocitta cristata\nCyanocitta cristata with a zorblin\n"
    )
    script = searching(site, write)

    def explain(script: Script, kb: str, *more: str) -> list[dict[str, Any]]:
        return rows(run(script, "context", "--file", "queries.txt", "--kb", kb, *more, check=True))

    wanted = explain(script, next(copy))
    assert [row["passage"].count(PAGES["zorblin"]) for row in wanted] == [1, 0, 0, 1]
    assert wanted[2]["passage"].startswith(LOOKS)
    attacked(site)
    of_page = next(copy)
    found = explain(obedient(script, ZEBRA), of_page)
    assert found[1:3] == wanted[1:3]
    for row, before in zip(found, wanted, strict=True):
        assert {**row, "passage": "", "sources": []} == {**before, "passage": "", "sources": []}
        assert "Zebra" not in row["passage"]
    assert found[0]["passage"].startswith(PAGES["zorblin"])
    # The page is text of its own answer, and reaches no model: also when it was learnt.
    explain(obedient(script, ZEBRA), of_page, "--no-web")
    assert [call for call in model.calls if MARK in as_read(call.text)] == []
    assert model.calls != []
    always = explain(obedient(script, ZEBRA), next(copy), "--web")
    assert always[0] == found[0]
    assert PAGES["cristata"] in always[2]["passage"]

    # A search model that obeys the page spoils the answers that it read the page for.
    fooled = explain(lambda call: ZEBRA if "zorblin" in call.text else script(call), next(copy))
    assert fooled[1:3] == wanted[1:3]
    assert [list(row) for row in fooled] == [list(row) for row in wanted]

    # Without this, the rest would show nothing: an order of the user's own prompt is obeyed.
    own = commanding("kb", "search.md", cli.folder / "own")
    own_order = explain(obedient(script, ZEBRA), next(copy), "--set", f"prompts={own}")
    assert "Zebra" in own_order[1]["passage"]


def test_orders_of_a_page_are_not_obeyed_where_photos_are_judged(
    cli: CommandLine, run: Obeying, model: Model, site: UglySite, copy: Iterator[str]
) -> None:
    candidates = []
    for n, level in enumerate(LEVELS):
        Image.new("RGB", (40, 40), (level,) * 3).save(cli.folder / f"{level}.png")
        candidates.append({"image_id": f"{level}", "path": f"{level}.png", "score": 1 - n / 10})
    queries = ("frog with a zorblin", "turkey with a snood")
    jobs = [{"query_id": query.split()[-1], "text": query, "candidates": candidates} for query in queries]
    (cli.folder / "jobs.jsonl").write_text("\n".join(map(json.dumps, jobs)))
    script, zebra = searching(site, yes_if_bright), '{"probability": 50}'

    def judge(script: Script, *more: str) -> list[dict[str, Any]]:
        command = ("rerank", "jobs.jsonl", "--judge", "vision", "--web", "--format", "jsonl", "--kb", next(copy))
        found = rows(run(script, *command, *more))
        return [{**row, "cost_usd": 0} for row in sorted(found, key=lambda row: (row["query_id"], row["rank"]))]

    wanted = judge(script)
    assert [row["image_id"] for row in wanted] == ["120", "200", "40", "80"] * 2
    attacked(site)
    assert judge(obedient(script, zebra)) == wanted
    assert any(MARK in as_read(call.text) for call in model.calls if call.images)

    # A model that obeys the page within its block spoils its own query, and adds no photo to it.
    fooled = judge(gullible(script, zebra))
    n = len(LEVELS)  # rows of the first query, "snood"
    assert fooled[:n] == wanted[:n]
    assert fooled[n:] != wanted[n:]
    assert sorted(row["image_id"] for row in fooled[n:]) == sorted(map(str, LEVELS))
    assert [list(row) for row in fooled] == [list(row) for row in wanted]

    # Without this, the rest would show nothing: an order of the user's own prompts is obeyed.
    for name in ("direct.md", "question.md", "question_stated.md", "questions_together.md"):
        own = commanding("rerank", name, cli.folder / "own")
    assert judge(obedient(script, zebra), "--set", f"prompts={own}") != wanted
