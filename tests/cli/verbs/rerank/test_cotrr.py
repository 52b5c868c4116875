"""`kb rerank --method cotrr` from a job to a measured run, against a scripted server: mechanics, not quality."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.codec import dumps
from data.records import Job, JobImage
from tests.cli.verbs.rerank.conftest import BEST, LEVELS, brightest_first
from tests.conftest import CommandLine
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """A model behind `[llm.vision]`, and a job of grey photos."""
    candidates = []
    for i, level in enumerate(LEVELS):
        Image.new("RGB", (40, 40), (level,) * 3).save(tmp_path / f"{level}.png")
        candidates.append(JobImage(image_id=str(level), path=f"{level}.png", score=1 - i / 10))
    job = Job(query_id="q1", text="frogs", candidates=tuple(candidates), relevant=(BEST[0],))
    (tmp_path / "jobs.jsonl").write_text(dumps(job) + "\n")
    with OpenAIServer(brightest_first) as started:
        model = f'model = "m"\nbase_url = "{started.base_url}"\nprice_in = 1.0\nprice_out = 2.0\n'
        (tmp_path / "fieldmark.toml").write_text(f"[llm.vision]\n{model}")
        yield started


def test_a_job_is_ranked_measured_and_replayed_offline(cli: CommandLine, server: Any) -> None:
    done = cli.call("rerank", "jobs.jsonl", "--method", "cotrr", "--output", "lists", check=True)
    assert "6 evaluations; 2 rankings; 9 model calls" in done.stderr
    rows = [json.loads(line) for line in Path("lists.jsonl").read_text().splitlines()]
    assert [row["image_id"] for row in rows] == BEST
    assert rows[0]["evaluation"].startswith("subject: good match (level ")
    measured = cli.call("eval", "rerank", "lists.jsonl", "--jobs", "jobs.jsonl", "--format", "json", check=True)
    assert json.loads(measured.stdout)["runs"][1]["by_query"]["q1"]["MRR"] == 1.0
    replayed = cli.call("rerank", "jobs.jsonl", "--method", "cotrr", "--offline", check=True)
    assert replayed.stdout == Path("lists.trec").read_text()
    assert server.n_calls == 9
    authors = ("--preset", "authors", "--set", "cotrr.top=2")
    done = cli.call("rerank", "jobs.jsonl", "--method", "cotrr", *authors, check=True)
    ranked = [*BEST[:2], *(str(level) for level in LEVELS if str(level) not in BEST[:2])]  # the rest in its order
    assert ([line.split()[2] for line in done.stdout.splitlines()], server.n_calls) == (ranked, 10)


def test_a_dry_run_an_offline_one_and_one_over_its_limit_call_no_model(cli: CommandLine, server: Any) -> None:
    def estimate(*more: Any) -> Any:
        shown = cli.call("rerank", "jobs.jsonl", "--method", "cotrr", "--dry-run", *more, check=True).stdout
        n_calls = int(re.search(r"model calls, without retries +(\d+)", shown)[1])
        return n_calls, float(re.search(r"approximate cost, at most +\$([\d.]+)", shown)[1])

    n_calls, most_usd = estimate()
    assert n_calls == 9
    # Six photos of 2,000 tokens each at a dollar per million, and the text output.
    assert 0.012 < most_usd < 0.04
    assert estimate("--set", "cotrr.form=one-call", "--set", "cotrr.orders=1")[0] == 1
    assert estimate("--depth", "2")[0] == 1 + 2 + 2
    for more, exit_code in ((("--offline",), 3), (("--max-cost", "0.001"), 7)):
        assert cli.call("rerank", "jobs.jsonl", "--method", "cotrr", *more).exit_code == exit_code
    assert server.n_calls == 0
