"""The settings `engine` and `ray_address`: the same results on a cluster as on this machine."""

import json
import os
import shutil
from pathlib import Path

import pytest

import recognize
from cli.common.wiring import LOADERS
from data.engines import ray_engine
from data.engines.ray_engine import Shard, Worker
from data.errors import SourceUnavailable
from kb.pipeline.stages.encode import EncodeAnchors
from kb.store.layout import Layout
from tests.conftest import CommandLine
from tests.servers.ray_cluster import RayCluster


def on(cluster: RayCluster) -> list[str]:
    return ["--set", "engine=ray", "--set", f"ray_address={cluster.address}"]


def without_times(lines: str) -> list[dict[str, object]]:
    return [{**json.loads(line), "seconds": 0} for line in lines.splitlines()]


def test_the_engine_and_its_address_are_settings_of_all_verbs(
    cli: CommandLine, drawings: Path, built_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str, **_: object) -> None:
        raise SourceUnavailable(f"No Ray cluster answers at {address}.")

    monkeypatch.setattr(ray_engine, "RayEngine", refuse)
    monkeypatch.setenv("FIELDMARK_KB", str(built_kb))
    for verb in (
        ["identify", drawings],
        ["index-images", drawings],
        ["build", "--source", "starter", "--taxon", "Tyto alba", "--kb", "owl.kb"],
    ):
        run = cli.call(*verb, "--set", "engine=ray", "--set", "ray_address=127.0.0.1:1")
        assert (run.exit_code, "No Ray cluster answers at 127.0.0.1:1" in run.stderr) == (6, True), run.stderr
    run = cli.call("identify", drawings, "--set", "engine=slurm")
    assert run.exit_code == 2 and "expected one of local, ray" in run.stderr


def test_a_run_that_resumes_reads_missing_reference_photos_again(built_kb: Path, tmp_path: Path) -> None:
    layout = Layout(shutil.copytree(built_kb, tmp_path / "a.kb"))
    task = EncodeAnchors(layout=layout, encoders=recognize.load_encoders("starter"))
    sha256, space = layout.anchors.hashes()[0], task.encoders.visual.space
    content = layout.anchors.path_of(sha256).read_bytes()
    worker = Worker(LOADERS)
    layout.anchors.path_of(sha256).unlink()
    shard = Shard(number=0, id="f00", shipped=([[sha256, [space]]],))
    _, missing, is_final = worker.run(task.recipe, shard)
    assert isinstance(missing, bytes) and "is missing" in str(task.unpack(missing)[0][0]) and not is_final
    layout.anchors.path_of(sha256).write_bytes(content)
    _, there, is_final = worker.run(task.recipe, shard)
    assert isinstance(there, bytes) and list(task.unpack(there)[0][0]) == [space] and is_final


@pytest.mark.integration
def test_photos_are_identified_and_indexed_the_same_on_a_cluster(
    cli: CommandLine, drawings: Path, built_kb: Path, ray_cluster: RayCluster
) -> None:
    (drawings / "broken.jpg").write_bytes(b"no photo")
    for number in range(8):
        shutil.copy(drawings / "bubo-scandiacus.png", drawings / f"owl {number}.png")
    command = ["identify", drawings, "--kb", built_kb, "--format", "jsonl", "--group", "burst"]
    here, there = cli.call(*command), cli.call(*command, *on(ray_cluster))
    assert there.exit_code == here.exit_code == 7
    assert without_times(there.stdout) == without_times(here.stdout)
    found = []
    for more in ([], on(ray_cluster)):
        run = cli.call("index-images", drawings, *more, check=True)
        found.append([line for line in run.stdout.splitlines() if not line.startswith("seconds")])
        searched = cli.call("find", "a white owl", "--images", drawings, "--format", "jsonl", check=True)
        found[-1] += [json.dumps(row) for row in without_times(searched.stdout)]
        shutil.rmtree(Path(os.environ["FIELDMARK_HOME"]) / "collections")
    assert found[0] == found[1]
