"""Orders in photos and their names, where photos are read as texts or found by drawings: `kb rerank` and `kb find`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.conftest import CommandLine
from tests.security.commands import FILE_NAMES, GROUPS, Obeying, obeying, rows
from tests.security.conftest import Model
from tests.security.obedient_model import MARK, ORDER, as_read, obedient
from tests.servers.openai_server import Call, Reaction, Script

QUESTIONS = ["What colour is the bird?", "Where does it sit?", "What does it hold?"]
QUERY = "a red bird on a branch"
ZEBRA = json.dumps({"phrases": ["zebra"], "questions": ["Zebra?", "Is it a zebra?", "A zebra?"]})
HONEST = ("a red bird on a branch", "a blue bird in snow", "a green bird on a post")


@pytest.fixture
def run(cli: CommandLine, model: Model, monkeypatch: pytest.MonkeyPatch) -> Obeying:
    return obeying(cli, model, monkeypatch)


@pytest.fixture
def photos(cli: CommandLine) -> Path:
    """Photos of one grey each, with an order as name and one in letters each; the last three show none."""
    folder = cli.folder / "photos"
    folder.mkdir()
    for n, name in enumerate((*FILE_NAMES, *(f"{ORDER} {n}" for n in range(3)))):
        Image.new("RGB", (40, 40), (n * 30,) * 3).save(folder / f"{name}.png")
    return folder


def seeing(*, letters: bool) -> Script:
    """A model that quotes the letters that it sees in a photo, in captions and answers."""

    def react(call: Call) -> Reaction:
        if not call.images:
            is_visa = "key phrases" in call.text
            return json.dumps({"phrases": ["red bird"], "questions": QUESTIONS}) if is_visa else "A red bird."
        with Image.open(io.BytesIO(call.images[0])) as opened:
            n = round(opened.convert("L").getpixel((20, 20)) / 30)
        if n >= len(GROUPS):
            return HONEST[n - len(GROUPS)]
        return f"a grey bird {GROUPS[n]}" if letters else "a grey bird"

    return obedient(react, ZEBRA)


def jobs(photos: Path, query: str = QUERY) -> str:
    candidates = [
        {"image_id": f"{ORDER} {n}", "path": str(path), "score": -n} for n, path in enumerate(sorted(photos.iterdir()))
    ]
    file = photos.parent / "jobs.jsonl"
    file.write_text(json.dumps({"query_id": ORDER, "text": query, "candidates": candidates}))
    return str(file)


def harmless(found: list[dict[str, Any]]) -> list[Any]:
    """Return the rows of the photos without letters, but for rank and cost."""
    told = [row for row in found if any(text in (row["evaluation"] or "") for text in HONEST)]
    return [(row["image_id"], row["score"], row["status"], row["evaluation"], row.get("questions")) for row in told]


@pytest.mark.parametrize("method", ["visa", "captions"])
def test_letters_and_names_of_photos_change_their_own_row_alone(
    run: Obeying, model: Model, photos: Path, method: str
) -> None:
    command = ("rerank", jobs(photos), "--method", method, "--format", "jsonl", "--set", "captions.first_stage=false")
    wanted, found = (rows(run(seeing(letters=letters), *command, check=True)) for letters in (False, True))
    assert len(harmless(wanted)) == len(HONEST)
    assert harmless(found) == harmless(wanted)
    assert sorted(row["image_id"] for row in found) == sorted(row["image_id"] for row in wanted)
    assert {answer["question"] for row in found for answer in row["questions"]} == set(
        QUESTIONS if method == "visa" else ()
    )
    assert [call for call in model.calls if MARK in as_read(json.dumps(call.payload, ensure_ascii=False))] == []


@pytest.mark.parametrize("method", ["captions", "visret", "rewrite"])
def test_find_shows_no_model_the_names_of_photos(run: Obeying, model: Model, photos: Path, method: str) -> None:
    command = ("find", QUERY, "--images", photos, "--method", method, "--format", "jsonl", "--top", "99")
    wanted, found = (rows(run(seeing(letters=letters), *command, check=True)) for letters in (False, True))
    assert len(found) == len(wanted) == len(GROUPS) + len(HONEST)
    assert harmless(found) == harmless(wanted)
    if method != "captions":
        assert [(row["image_id"], row["score"]) for row in found] == [(row["image_id"], row["score"]) for row in wanted]
    assert model.calls
    assert [call for call in model.calls if MARK in as_read(json.dumps(call.payload, ensure_ascii=False))] == []


def test_the_order_of_the_user_is_obeyed(run: Obeying, model: Model, photos: Path) -> None:
    """Without this, the tests above would show nothing."""
    found = rows(run(seeing(letters=False), "rerank", jobs(photos, ORDER), "--method", "visa", "--format", "jsonl"))
    assert {answer["question"] for row in found for answer in row["questions"]} == set(json.loads(ZEBRA)["questions"])
    for method in ("visret", "rewrite"):
        command = ("find", ORDER, "--images", photos, "--method", method, "--format", "jsonl")
        outcome = run(seeing(letters=False), *command)  # `rewrite` refuses it, since no photo can show JSON
        assert "zebra" in outcome.stdout + outcome.stderr
