"""Reference photos that a node of a cluster cannot read."""

from __future__ import annotations

import shutil
from pathlib import Path

import recognize
from data.engines.worker import Worker
from kb.pipeline.stages.encode_tasks import EncodeAnchors
from kb.store.layout import Layout


def test_a_run_that_resumes_reads_missing_reference_photos_again(built_kb: Path, tmp_path: Path) -> None:
    layout = Layout(shutil.copytree(built_kb, tmp_path / "a.kb"))
    task = EncodeAnchors(layout=layout, encoders=recognize.load_encoders("starter"))
    sha256, space = layout.anchors.hashes()[0], task.encoders.visual.space
    content = layout.anchors.path_of(sha256).read_bytes()
    worker = Worker({"encoders": "recognize.encoders.profiles:load_encoders"})
    layout.anchors.path_of(sha256).unlink()
    missing = worker.run(task.recipe, [[[sha256, [space]]]])
    layout.anchors.path_of(sha256).write_bytes(content)
    there = worker.run(task.recipe, [[[sha256, [space]]]])
    assert "is missing" in str(task.unpack(missing.results())[0][0])
    assert list(task.unpack(there.results())[0][0]) == [space]
    assert (missing.is_final, there.is_final) == (False, True)
