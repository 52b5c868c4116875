"""Checklists with far more names than a wiki has pages: few requests, and none twice after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, CommandLine
from tests.servers.faulty_wiki import FaultyWiki

N_NAMES, N_PAGES = 6_000, 40
STEP = N_NAMES // N_PAGES


def name_of(i: int) -> str:
    letters = "abcdefghij"
    digits = f"{i:06}"
    genus, epithet = f"{i // 10:06}", "".join(letters[int(d)] for d in digits)
    return f"G{''.join(letters[int(d)] for d in genus)} {epithet}us"


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        for i in range(0, N_NAMES, STEP):
            name = name_of(i)
            wiki.pages[name] = f"<p><b>{name}</b> is a beetle. The elytra are black with red spots.</p>"
            wiki.wikitext[name] = f"{{{{Speciesbox|taxon={name}}}}}\n'''{name}''' is a beetle."
        yield wiki


@pytest.fixture
def names(tmp_path: Path) -> Path:
    rows = [f"{name_of(i)},Insecta,Coleoptera,F{'abcdef'[i // 1000]}idae,{name_of(i).split()[0]}"
            for i in range(N_NAMES)]  # fmt: skip
    file = tmp_path / "beetles.csv"
    file.write_text("\n".join(["scientific_name,class,order,family,genus", *rows]) + "\n")
    return file


def arguments(wiki: FaultyWiki, names: Path) -> list[str]:
    return ["build", "--taxon", "Insecta", "--checklist", str(names), "--kb", "b.kb", "--api-url", wiki.api_url]


def look_ups(wiki: FaultyWiki) -> int:
    return sum("titles" in request and request.get("prop") != "imageinfo" for request in wiki.requests)


@pytest.mark.integration
def test_a_large_wiki_is_asked_for_fifty_names_at_a_time_and_never_twice(
    cli: CommandLine, wiki: FaultyWiki, names: Path
) -> None:
    cli.call("checklist", "add", str(names), check=True)
    wiki.n_pages, wiki.delay_s = 60_000_000, 0.1
    program = [sys.executable, "-c", "from fieldmark import main; main()", *arguments(wiki, names)]
    running = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 120
    while look_ups(wiki) < 60 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    n_before = look_ups(wiki)
    assert 60 <= n_before < 120
    wiki.delay_s = 0
    done = cli.call(*arguments(wiki, names), check=True)
    # 120 for the names and 12 for their genera; the requests under way at the kill are repeated.
    assert look_ups(wiki) <= 120 + 13 + 6
    assert "40 of 6,000 species, in 6 of 6 families; least " in done.stdout
    rows = json.loads(cli.call("status", "--kb", "b.kb", "--by-family", "--format", "json", check=True).stdout)
    assert len(rows) == 6 and sum(row["species"] for row in rows) == N_NAMES
    assert sum(row["articles"] for row in rows) == sum(row["summaries"] for row in rows) == 40
    home = Path(os.environ["FIELDMARK_HOME"])
    assert not list((home / "look-ups").glob("*"))
    cli.call("verify", "--kb", "b.kb", check=True)
