"""Generators of `kb rerank --method visret` without an images API: a folder, anchors, and a local model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

from data.errors import MissingDependency
from kb.endpoints.drawing import pipeline
from kb.endpoints.drawing.pipeline import PipelineImages
from tests.cli.verbs.rerank.conftest import jobs_file


def rows_of(cli: Any, file: Path, *sets: str) -> tuple[Any, list[dict[str, Any]]]:
    settings = [word for each in sets for word in ("--set", each)]
    run = cli.call("rerank", str(file), "--method", "visret", "--format", "jsonl", *settings)
    return run, [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def test_drawings_come_from_a_folder_by_query_id(cli: Any, photos: Path) -> None:
    file = jobs_file(photos, n=2)
    drawings = photos.parent / "drawings"
    drawings.mkdir()
    Image.new("RGB", (40, 40), "red").save(drawings / "q0-1.png")
    Image.new("RGB", (40, 40), "orange").save(drawings / "q0-2.JPG", "JPEG")
    run, rows = rows_of(cli, file, f"visret.drawings={drawings}", "visret.sample=2")
    assert rows[0]["evaluation"].startswith("2 of 3 drawings: no drawing q0-3.png in ")
    assert rows[0]["evaluation"].endswith("; drawing 2 alone; drawings: q0-2.JPG")
    assert "1 query with fewer drawings than asked for: q0" in run.stderr
    run, rows = rows_of(cli, file, f"visret.drawings={drawings}", "visret.images=2")
    assert rows[0]["image_id"] == "3" and rows[0]["evaluation"] == "drawings: q0-1.png, q0-2.JPG"
    assert rows[6]["evaluation"].startswith("not drawn: no drawing q1.png or q1-1.png in ")
    assert run.exit_code == 7 and "2 drawings" in run.stderr and "instead: q1" in run.stderr
    wrong, _ = rows_of(cli, file, "visret.generator=folder")
    assert wrong.exit_code == 2 and "expected drawings=DIR together with generator=folder" in wrong.stderr
    missing, _ = rows_of(cli, file, f"visret.drawings={drawings}/none")
    assert missing.exit_code == 2 and "No folder of drawings" in missing.stderr


def test_anchors_of_the_named_species_replace_drawings(cli: Any, photos: Path, birds: Path, monkeypatch: Any) -> None:
    import kb

    with kb.open(birds) as store:
        (name, other) = [taxon.common_name for taxon in store.taxa()]
    monkeypatch.setenv("FIELDMARK_KB", str(birds))
    file = jobs_file(photos, n=2)
    jobs = [json.loads(line) for line in file.read_text().splitlines()]
    jobs[0] |= {"text": f"{name} with raised wings"}
    file.write_text("\n".join(map(json.dumps, jobs)))
    run, rows = rows_of(cli, file, "visret.generator=anchors")
    assert rows[0]["evaluation"].startswith(f"anchors of {name}, no drawing: ") and other not in rows[0]["evaluation"]
    assert "no drawings" in run.stderr and "names no species with an anchor" in rows[6]["evaluation"]
    assert run.exit_code == 7 and "1 query could not be drawn" in run.stderr


def test_a_local_model_draws_by_its_settings(cli: Any, photos: Path, monkeypatch: Any) -> None:
    """`tests/kb/endpoints/drawing/test_pipeline.py` has the model itself."""
    made: dict[str, Any] = {}

    class Recorded(PipelineImages):
        def __init__(self, model: str, **others: Any) -> None:
            made.update(others, model=model)
            raise MissingDependency("diffusers", extra="draw")

    monkeypatch.setattr(pipeline, "PipelineImages", Recorded)
    sets = ("visret.generator=diffusers", "visret.model=green", "visret.seed=3", 'visret.pipeline={"shade": 100}')
    run, _ = rows_of(cli, jobs_file(photos), *sets)
    assert run.exit_code == 3 and "diffusers is not installed" in run.stderr and "'.[draw]'" in run.stderr
    assert (made["model"], made["seed"], made["arguments"]) == ("green", 3, {"shade": 100})
