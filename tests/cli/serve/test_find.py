"""Find in `kb serve`: a search in turns, in the same session as `kb feedback`."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

QUERY = "a red bird"


def shown(page: str) -> list[str]:
    return re.findall(r'name=photos value="([^"]+)"', page)


@pytest.mark.integration
def test_a_search_goes_on_by_the_marked_photos_and_is_that_of_kb_feedback(
    serve: Any, cli: Any, built_kb: Path, drawings: Path, tmp_path: Path
) -> None:
    (drawings / "a % b.png").write_bytes((drawings / "bubo-scandiacus.png").read_bytes())
    (drawings / "broken.jpg").write_bytes(b"no photo")
    settings = tmp_path / "settings.toml"
    settings.write_text("[feedback]\nk = 2\n")
    exported: list[str] = []

    def visit(client: httpx.Client) -> None:
        assert str(drawings) in client.get("/find").text
        while "are encoded first" in (first := client.get("/find", params={"q": QUERY}).text):
            assert client.get("/find/progress").json().keys() >= {"is_running"}
        assert "cannot exclude" in client.get("/find", params={"q": "a red bird, not a Snowy Owl"}).text
        photos = shown(first)
        assert len(photos) == 2 and "3 of 5 photos not shown" in first and "1 photos of the folder cannot" in first
        assert client.get(f"/find/photos/0/{photos[0]}").content.startswith(b"\xff\xd8\xff")

        def step(does: str, turn: int, *marks: str, query: str = "", status: int = 303) -> str:
            given = {"folder": "0", "q": QUERY, "do": does, "turn": str(turn), "photos": marks, "query": query}
            answer = client.post("/find", data={**given, "shown": QUERY}, follow_redirects=status == 303)
            assert answer.status_code == (200 if status == 303 else status)
            return answer.text

        step("undo", 1, status=400)
        step("next", 1, "nobody.png", status=400)
        second = step("next", 1, photos[0])
        assert len(shown(second)) == 2 and not set(shown(second)) & set(photos)
        assert "1 relevant so far" in second and "Relevant so far" in second
        step("next", 1, photos[1], status=400)  # the page of an earlier turn
        again = step("undo", 2)
        assert shown(again) == photos and again.count(" checked") == 1, "the mark can be mended"
        table = list(csv.DictReader(io.StringIO(step("csv", 1, photos[1], status=200))))
        assert [(Path(row["photo"]).name, row["relevant"]) for row in table] == [
            (photos[0], "False"), (photos[1], "True"),
        ]  # fmt: skip
        edited = step("next", 1, photos[0], query="a white owl")
        assert "a white owl" in edited and {shown(edited)[0]} <= {"a%20%25%20b.png", "bubo-scandiacus.png"}
        assert client.get("/find/photos/0/a%2520%2525%2520b.png").status_code == 200
        exported.append(step("jsonl", 2, shown(edited)[0], status=200))
        last = step("next", 2, shown(edited)[0])
        assert len(shown(last)) == 1 and "Keep marks" in last
        assert "All photos have been shown" in step("next", 3)
        for _ in range(2):
            step("undo", 3)
        for gone in ("/find?folder=7&q=x", "/find/photos/0/..%2F..%2Fetc%2Fpasswd"):
            assert client.get(gone).status_code in (400, 404)

    serve(visit, "--settings", settings, photos=drawings)
    job = tmp_path / "job.jsonl"
    command = ("feedback", QUERY, "--images", drawings, "--kb", built_kb, "--settings", settings, "--export", job)
    outcome = cli.call(*command, stdin="1\nq\n")
    assert "Resuming turn 1" in outcome.stderr and json.loads(job.read_text()) == json.loads(exported[0])
