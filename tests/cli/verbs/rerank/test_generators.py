"""Generators of `kb rerank --method visret` without an images API: a folder, anchors, and a local model."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.verbs.rerank.conftest import jobs_file

# Stand-ins for the packages of the extra `draw`: a picture whose colour tells the model, seed and arguments.
TORCH = """
float32 = bfloat16 = None
class cuda:
    is_available = staticmethod(lambda: False)
class backends:
    mps = cuda
class Generator:
    def __init__(self, device): pass
    def manual_seed(self, seed):
        self.seed = seed
        return self
"""
DIFFUSERS = """
from PIL import Image
class Made:
    pass
class DiffusionPipeline:
    @classmethod
    def from_pretrained(cls, model, dtype):
        made = cls()
        made.model = model
        return made
    def to(self, device): return self
    def set_progress_bar_config(self, disable): pass
    def __call__(self, prompt, generator, shade=200):
        made = Made()
        made.images = [Image.new("RGB", (40, 40), (shade, 200 if self.model == "green" else 0, generator.seed * 40))]
        made.nsfw_content_detected = [prompt.endswith("forbidden")]
        return made
"""


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


@pytest.mark.skipif(find_spec("diffusers") is not None, reason="diffusers is installed")
def test_without_diffusers_the_extra_is_named(cli: Any, photos: Path) -> None:
    run, _ = rows_of(cli, jobs_file(photos), "visret.generator=diffusers")
    assert run.exit_code == 3 and "diffusers is not installed" in run.stderr and "'.[draw]'" in run.stderr


@pytest.mark.skipif(find_spec("diffusers") is not None, reason="tests/kb/endpoints/drawing/test_pipeline.py has it")
def test_a_local_model_draws_by_its_settings(cli: Any, photos: Path, tmp_path: Path, monkeypatch: Any) -> None:
    for name, code in (("torch", TORCH), ("diffusers", DIFFUSERS)):
        (tmp_path / "packages").mkdir(exist_ok=True)
        (tmp_path / "packages" / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    file = jobs_file(photos)
    used = ("visret.generator=diffusers", "visret.model=red")
    run, rows = rows_of(cli, file, *used)
    assert run.exit_code == 0 and rows[0]["image_id"] == "3" and "3 drawings" in run.stderr
    seen = {rows[0]["evaluation"]}
    for change in ("visret.model=green", "visret.seed=3", 'visret.pipeline={"shade": 100}'):
        _, rows = rows_of(cli, file, *used, change)
        assert rows[0]["evaluation"] not in seen, change  # other files
        seen.add(rows[0]["evaluation"])
    run, rows = rows_of(cli, file, *used, "visret.template={instruction} forbidden")
    assert run.exit_code == 7 and "its filter removed a drawing" in rows[0]["evaluation"]
    for name in ("torch", "diffusers"):
        sys.modules.pop(name, None)
