"""Rerank in `kb serve`: results with marks, a run from the page, and jobs over the API."""

import csv
import io
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.rerank.scripted import questions_reply
from tests.servers.openai_server import Answer, OpenAIServer

QUERY = "a red bird"
ID = "a-red-bird"


def test_a_result_is_shown_marked_and_ranked_again_over_the_api(
    serve: Any, cli: Any, built_kb: Path, drawings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("rerank", drawings, "--query", QUERY, "--judge", "encoder", "--kb", built_kb)
    cli.call(*command, "--output", drawings / "ranked", check=True)
    rows = [json.loads(line) for line in (drawings / "ranked.jsonl").read_text().splitlines()]
    best, worst = rows[0]["image_id"], rows[-1]["image_id"]
    marks = drawings / "ranked.relevant.jsonl"
    address = "/rerank/0/ranked.jsonl"

    def visit(client: httpx.Client) -> None:
        assert address in client.get("/rerank").text
        page = client.get(address).text
        places = [page.index(f'value="{row["image_id"]}"') for row in rows]
        assert places == sorted(places) and page.count("Does this image show a red bird?") == len(rows)
        chance = rows[0]["questions"][0]["probability"]
        assert f"yes {100 * chance:.0f} %" in page and f"before {rows[0]['first_stage_rank']}" in page
        picture = client.get(f"{address}/photo", params={"q": ID, "id": best})
        assert picture.content.startswith(b"\xff\xd8\xff")
        client.post(address, data={"photos": [best, worst]})
        given = {"photos": [best, "nobody.png"], "wrong": f"0 {best}"}
        kept = client.post(address, data=given, follow_redirects=True).text
        assert kept.count(" checked") == 2 and "1 relevant" in kept
        table = list(csv.DictReader(io.StringIO(client.get(f"{address}/relevant.csv").text)))
        assert [row["relevant"] for row in table] == ["True"] + ["False"] * (len(rows) - 1)
        assert [row["wrong_answers"] for row in table] == [table[0]["answers"]] + [""] * (len(rows) - 1)
        assert client.post(address, data={"photos": best}, follow_redirects=True).text.count(" checked") == 1
        answer = client.post("/api/v1/rerank?judge=encoder", content=marks.read_bytes())
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert [json.loads(line) for line in answer.text.splitlines()] == [{"schema": 1, **row} for row in rows]
        outside = marks.read_text().replace(str(drawings), "../..")
        for body, query, status, word in (
            ("nonsense", "", 400, "job.jsonl, line 1"), (outside, "", 400, "not below the folders"),
            (marks.read_text(), "?method=cotrr", 503, "vision"), (marks.read_text(), "?output=x", 400, "output"),
        ):  # fmt: skip
            error = client.post(f"/api/v1/rerank{query}", content=body)
            assert (error.status_code, error.headers["content-type"]) == (status, "application/problem+json")
            assert word in error.json()["title"]
        assert client.post("/rerank", data={"query": QUERY, "folder": "0"}).status_code == 503
        dies = [sys.executable, "-c", "print('{}'); exit(70)"]
        monkeypatch.setattr("cli.serve.rerank.command", lambda *_: dies)
        *_, last = client.post("/api/v1/rerank", content=marks.read_bytes()).text.splitlines()
        assert json.loads(last).items() >= {"schema": 1, "status": 503, "title": "The ranking failed."}.items()
        for gone in ("/rerank/0/fieldmark.jsonl", "/rerank/1/ranked.jsonl", f"{address}?q=x", f"{address}/photo?id=x"):
            assert client.get(gone).status_code in (400, 404), gone

    serve(visit, photos=drawings)
    said = map(json.loads, filter(None, (drawings / "ranked.corrections.jsonl").read_text().split("\n")))
    assert [(each["image_id"], each["question"][:4], each["is_right"]) for each in said] == [
        (best, "", True), (worst, "", True), (best, "Does", False), (worst, "", False), (best, "Does", True),
    ]  # fmt: skip
    measured = cli.call("eval", "rerank", drawings / "ranked.jsonl", "--jobs", marks, "-k", "3").stdout
    assert "ranked" in measured and "1.000" in measured


def test_a_run_starts_from_the_page_where_a_vision_model_is_set(
    serve: Any, drawings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yes = Answer(text="Yes", logprobs=(("Yes", math.log(0.9), (("Yes", math.log(0.9)), ("No", math.log(0.1)))),))

    def visit(client: httpx.Client) -> None:
        assert "Rank a folder" in client.get("/rerank").text
        assert client.post("/rerank", data={"query": QUERY, "folder": "0", "depth": "2"}).status_code == 303
        while client.get("/rerank/progress").json()["is_running"]:
            assert "Ranking:" in client.get("/rerank").text
            time.sleep(0.2)
        page = client.get(f"/rerank/0/rerank-{ID}.jsonl").text
        assert "yes 90 %" in page and page.count("not judged") == 2

    with OpenAIServer(lambda call: yes if call.images else questions_reply()) as server:
        for name, value in (("MODEL", "m"), ("BASE_URL", server.base_url), ("PRICE_IN", "1"), ("PRICE_OUT", "1")):
            monkeypatch.setenv(f"FIELDMARK_LLM_VISION_{name}", value)
        serve(visit, photos=drawings)
