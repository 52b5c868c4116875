"""Review of a folder in `kb serve`: what a person says is kept, undone, and honoured by `kb identify`."""

import csv
import io
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from data.records import Answer
from recognize import Recognizer
from recognize.corrections import Corrections

CARDINAL, OWL = "cardinalis-cardinalis", "bubo-scandiacus"
JSON = {"Accept": "application/json"}


@pytest.fixture
def folder(drawings: Path) -> Path:
    """Photos of which two are of one bird each, and one is no photo."""
    for path in drawings.iterdir():
        if path.stem not in (CARDINAL, OWL):
            path.unlink()
    (drawings / "broken.jpg").write_bytes(b"no photo")
    return drawings


def keys(client: httpx.Client) -> dict[str, str]:
    """Return name of a photo -> key of its only bird."""
    page = client.get("/folders/0?tab=all").text
    return {Path(image).stem: key for key, image in re.findall(r'data-bird="(\w+)".*?title="([^"]+)"', page, re.DOTALL)}


def say(client: httpx.Client, what: str, *birds: str, **more: str) -> httpx.Response:
    return client.post("/folders/0/say", data={"say": what, "birds": [*birds], **more}, headers=JSON)


def run(client: httpx.Client, do: str = "identify") -> dict[str, Any]:
    """Run a verb on the folder to its end, and return its progress."""
    assert client.post("/folders/0/start", data={"do": do}).status_code == 303
    for _ in range(1200):
        state: dict[str, Any] = client.get("/folders/0/progress").json()
        if not state["is_running"]:
            return state
        time.sleep(0.1)
    raise AssertionError(f"kb {do} does not end")


def test_what_is_said_of_birds_is_kept_undone_and_honoured_by_the_next_run(
    serve: Any, cli: Any, built_kb: Path, folder: Path
) -> None:
    results = folder / "fieldmark.jsonl"
    command = ("identify", folder, "--kb", built_kb, "--output", results)
    cli.call(*command)

    def visit(client: httpx.Client) -> None:
        assert "3 birds and empty photos, 0 reviewed" in client.get("/folders").text
        at = keys(client)
        page = client.get("/folders/0").text
        assert page.count("data-bird=") == 2 and "broken" in client.get("/folders/0?tab=empty").text
        assert client.get(f"/folders/0/crops/{at[OWL]}").content.startswith(b"\xff\xd8\xff")
        assert "Snowy Owl" in client.get(f"/folders/0/birds/{at[OWL]}").text
        assert say(client, "confirm", at[OWL]).json() == {"said": 1, "name": ""}
        assert say(client, "name", at[CARDINAL], name="Rotkehlchen").json()["name"] == "European Robin"
        left = client.get("/folders/0").text
        assert left.count("data-bird=") == 0 and "All birds are reviewed" in left
        done = client.get("/folders/0?tab=done&order=species").text
        assert done.count("data-bird=") == 2 and "corrected" in done and "confirmed" in done
        assert {each["name"] for each in client.get("/names?q=snowy").json()} == {"Snowy Owl"}
        assert say(client, "majority", at[OWL], at[CARDINAL]).status_code == 200
        for wrong in (say(client, "name", at[OWL], name="Nobody"), say(client, "confirm"), say(client, "confirm", "99"),
                      say(client, "confirm", at["broken"]), say(client, "shout", at[OWL]),
                      say(client, "no bird", at["broken"]), say(client, "name", at[OWL], name="s")):  # fmt: skip
            assert wrong.status_code == 400
        assert say(client, "no bird", at[OWL]).status_code == say(client, "unknown", at[OWL]).status_code == 200
        undone = [say(client, "undo").json()["undone"] for _ in range(6)]
        assert undone == [1, 1, 2, 1, 1, 0], "as many steps as were made"
        say(client, "confirm", at[OWL])
        without_script = client.post(
            "/folders/0/say", data={"say": "name", "name": "European Robin", "birds": at[CARDINAL]}
        )
        assert without_script.status_code == 303
        table = {
            Path(row["image"]).stem: row
            for row in csv.DictReader(io.StringIO(client.get("/folders/0/fieldmark.csv").text))
        }
        assert table[CARDINAL]["answer_scientific_name"] == "Erithacus rubecula"
        assert table[CARDINAL]["answer_before"] == "Cardinalis cardinalis"
        for path in ("/folders/1", "/folders/0/crops/99", f"/folders/{'9' * 5_000}"):
            assert client.get(path).status_code == 404

    serve(visit, photos=folder)
    moved = folder / "moved.png"
    (folder / f"{CARDINAL}.png").rename(moved)
    assert cli.call(*command).exit_code == 7
    named = {Path(row["image"]).stem: row for row in map(json.loads, results.read_text().splitlines())}
    assert named["moved"]["answer"]["name"] == "Erithacus rubecula"
    assert named["moved"]["correction"]["answer"]["name"] == "Cardinalis cardinalis"
    assert (named[OWL]["answer"]["name"], named[OWL]["correction"]["status"]) == ("Bubo scandiacus", "identified")
    shown = cli.call("identify", moved.parent, "--kb", built_kb, "--quiet").stdout
    assert (
        "European Robin (Erithacus rubecula), corrected" in shown and "Snowy Owl (Bubo scandiacus), confirmed" in shown
    )


def test_nothing_is_said_of_another_bird_or_answer_than_the_page_shows(
    serve: Any, cli: Any, built_kb: Path, folder: Path, tmp_path: Path
) -> None:
    results = folder / "fieldmark.jsonl"
    cli.call("identify", folder, "--kb", built_kb, "--output", results)
    shutil.copy(folder / f"{OWL}.png", tmp_path / "private.png")

    def visit(client: httpx.Client) -> None:
        at = keys(client)
        rows = [json.loads(line) for line in results.read_text().splitlines()]
        owl = next(row for row in rows if OWL in row["image"])
        private = {**owl, "image": str(folder / ".." / ".." / tmp_path.name / "private.png")}
        owl |= {"answer": owl["answer"] | {"name": "Strix nebulosa"}, "date": "2024-05-04T06:00:00"}
        lines = [*map(json.dumps, [private, *reversed(rows)]), "{}", '{"image": "torn']
        results.write_text("\n".join(lines))
        assert say(client, "confirm", at[OWL]).status_code == 400
        assert say(client, "confirm", at[CARDINAL]).status_code == 200
        assert "of your answers are of photos" not in client.get("/folders/0").text
        page = client.get("/folders/0?tab=all").text
        assert page.count("data-bird=") == 3 and "2 more in fieldmark.jsonl cannot be read (rename" in page
        for days, n in (("since=2024-05-04&until=2024-05-04", 1), ("since=2024-05-05", 0), ("until=2024-05-03", 0)):
            assert client.get(f"/folders/0?tab=all&{days}").text.count("data-bird=") == n, days
        (folder / f"{OWL}.png").rename(folder / "moved.png")
        gone = say(client, "unknown", keys(client)[OWL])
        assert (gone.status_code, "not there any more" in gone.text) == (400, True)
        cardinal = (folder / f"{CARDINAL}.png").read_bytes()
        (folder / f"{CARDINAL}.png").write_bytes(cardinal + b"edited")
        results.touch()
        assert "1 of your answers are of photos that are not listed here" in client.get("/folders/0").text

    serve(visit, photos=folder)
    (line,) = map(json.loads, (folder / "corrections.jsonl").read_text().splitlines())
    assert (line["image"], line["label"]["name"]) == (f"{CARDINAL}.png", "Cardinalis cardinalis")


@pytest.mark.integration
def test_a_folder_is_identified_and_its_confirmed_birds_teach_the_knowledge_base_of_the_server(
    serve: Any, folder: Path, built_kb: Path, tmp_path: Path
) -> None:
    kb = tmp_path / "own.kb"
    shutil.copytree(built_kb, kb)

    def visit(client: httpx.Client) -> None:
        assert "No photo is identified yet" in client.get("/folders/0").text
        state = run(client)
        assert (state["done"], state["total"], state["said"]) == (3, 3, "3 of 3")
        assert client.get("/folders/0").text.count("data-bird=") == 2
        n = client.get("/species?q=owl").text.count("Common Raven")
        assert n == 0 and client.get("/species/corvus-corax").status_code == 404
        assert say(client, "name", keys(client)[OWL], name="Common Raven").status_code == 200
        run(client, do="learn")
        page = client.get("/folders/0").text
        assert "1 new reference photo of 1 species" in page, page[:3000]
        assert "Common Raven" in client.get("/species/corvus-corax").text
        run(client)
        assert "other parameters" in client.get("/folders/0").text
        run(client, do="again")
        assert "other parameters" not in client.get("/folders/0").text
        assert client.get("/folders/0?tab=done").text.count("data-bird=") == 1

    serve(visit, "--kb", kb, photos=folder)


def test_a_word_said_during_a_run_stands_in_its_rows(
    cli: Any, built_kb: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identify, file = Recognizer.identify, Corrections(folder / "corrections.jsonl")

    def reviewed(self: Recognizer, images: Any) -> Any:
        for row in identify(self, images):
            if row.status != "error":
                file.add([(row, Answer(rank="none", name="unknown"))])
            yield row

    monkeypatch.setattr(Recognizer, "identify", reviewed)
    shown = cli.call("identify", folder, "--kb", built_kb, "--format", "jsonl").stdout
    assert [json.loads(line)["status"] for line in shown.splitlines()] == ["error", "unknown", "unknown"]
