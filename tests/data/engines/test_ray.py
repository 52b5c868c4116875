"""Tasks on a real Ray cluster of two nodes."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from data.engines.contract import map_shards
from data.engines.ray_engine import RayEngine
from data.engines.ray_team import Team
from data.engines.shards import shards_of
from data.errors import BadInput, SourceUnavailable, UsageError
from tests.data.engines.halves import MEETING_S, Halves, numbers_and_error, pids, wait_for, worked_on
from tests.servers.ray_cluster import RayCluster

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
NUMBERS = range(60)
HALVES = [number / 2 for number in NUMBERS]
SHARDS = [shard.shipped for shard in shards_of(Halves(log=""), NUMBERS)]
RUN = """
import json, sys
from contextlib import closing
from pathlib import Path
from data.engines.ray_engine import RayEngine
from tests.data.engines.halves import Halves
with closing(RayEngine(sys.argv[1], results=Path(sys.argv[2]), loaders={})) as engine:
    for half in engine.map(Halves(**json.loads(sys.argv[3])), range(60)):
        print(half, flush=True)
"""


@pytest.fixture
def engine(ray_cluster: RayCluster, tmp_path: Path) -> Iterator[RayEngine]:
    with closing(RayEngine(ray_cluster.address, results=tmp_path / "shards", loaders={})) as opened:
        yield opened


def stored_in(folder: Path) -> set[str]:
    """Return the ids of the shards with a stored result."""
    return {file.name.rpartition("-")[2] for file in folder.glob("[!.]*-*")}


def repeated(log: Path) -> dict[int, int]:
    """Return how often a number was worked on, of those more than once."""
    return {number: n for number, n in Counter(worked_on(log)).items() if n > 1}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_results_and_order_are_those_of_this_machine(engine: RayEngine, log: Path, tmp_path: Path) -> None:
    task = Halves(log=str(log), n_workers=2)
    assert list(map_shards(task, NUMBERS, engine)) == HALVES
    assert len(pids(log)) == 2  # an actor a node
    assert list(map_shards(task, NUMBERS)) == HALVES
    assert list(map_shards(task, [], engine)) == []
    assert list((tmp_path / "shards").iterdir()) == []


def test_an_actor_that_dies_costs_its_shard_alone(engine: RayEngine, log: Path) -> None:
    assert list(map_shards(Halves(log=str(log), die_at=31), NUMBERS, engine)) == HALVES
    [shard] = [shard for shard in SHARDS if 31 in shard]
    assert repeated(log) == {number: 2 for number in shard if number <= 31}


def test_a_shard_that_kills_every_worker_ends_the_run(engine: RayEngine, log: Path) -> None:
    with pytest.raises(SourceUnavailable, match="died at the same items"):
        list(map_shards(Halves(log=str(log), die_at=5, always_dies=True), NUMBERS, engine))


def test_a_task_raises_as_on_this_machine(engine: RayEngine, log: Path) -> None:
    with pytest.raises(BadInput, match="no half") as raised:
        list(map_shards(Halves(log=str(log), bad=9), NUMBERS, engine))
    assert raised.value.hint == "an even number"
    with pytest.raises(ZeroDivisionError, match="odd"):
        list(map_shards(Halves(log=str(log), odd=9), NUMBERS, engine))


def test_an_error_comes_after_the_results_before_it(engine: RayEngine, log: Path) -> None:
    """And these are not worked on again by the next run."""
    bad = SHARDS[3][0]
    task = Halves(log=str(log), n_workers=2, awaited=bad, bad=bad)
    for _ in range(2):
        found = list[float]()
        with pytest.raises(BadInput, match="no half"):
            found.extend(map_shards(task, NUMBERS, engine))
        assert found == HALVES[:bad]
    assert [worked_on(log).count(number) for number in range(bad + 1)] == [1] * bad + [2]


def test_an_error_of_the_items_comes_after_the_results_before_it(engine: RayEngine, log: Path) -> None:
    """Also after those of a shard that was not full yet; a run that resumes does not work on them again."""
    for _ in range(2):
        found = list[float]()
        with pytest.raises(OSError, match="unreadable folder"):
            found.extend(map_shards(Halves(log=str(log)), numbers_and_error(11), engine))
        assert found == HALVES[:11]
    assert sorted(worked_on(log)) == list(range(11))  # two workers: in any order, each once


def test_all_finished_shards_are_taken_at_once(ray_cluster: RayCluster, log: Path) -> None:
    """So that they are stored before an error of one of them ends the run."""
    task = Halves(log=str(log), n_workers=2)
    waiting = list(shards_of(task, NUMBERS))[:4]
    with closing(Team(ray_cluster.address, {})) as team:
        while waiting:
            if team.is_free:
                team.submit(task.recipe, waiting.pop(0))
            else:
                assert list(team.wait()) == []  # a worker begins when the other one has come
        wait_for(lambda: {SHARDS[1][0], SHARDS[3][0]} <= set(worked_on(log)))  # 0 and 2 are done
        arriving = [result for result, (*_, shard) in team._running.items() if shard.number in (0, 2)]
        team._ray.wait(arriving, num_returns=2, timeout=MEETING_S)
        assert {0, 2} <= {shard.number for shard, _ in team.wait()}


def test_an_unreadable_item_is_read_again_by_a_run_that_resumes(engine: RayEngine, log: Path) -> None:
    task = Halves(log=str(log), unreadable=2)
    first = map_shards(task, NUMBERS, engine)
    assert math.isnan([next(first) for _ in range(3)][2])
    first.close()
    assert list(map_shards(task, NUMBERS, engine)) == HALVES
    assert [worked_on(log).count(number) for number in (0, 1, 2)] == [1, 1, 2]


def test_a_second_task_waits_for_the_end_of_the_first(engine: RayEngine, log: Path) -> None:
    """Shards are numbered by task, and would be taken for one another."""
    first = map_shards(Halves(log=str(log)), NUMBERS, engine)
    assert next(first) == 0
    with pytest.raises(UsageError, match="one task at a time"):
        next(map_shards(Halves(log=str(log)), range(100, 160), engine))
    assert list(first) == HALVES[1:]
    assert list(map_shards(Halves(log=str(log)), NUMBERS, engine)) == HALVES


def test_a_node_that_dies_loses_nothing_and_another_one_joins(
    ray_cluster: RayCluster, engine: RayEngine, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(1) as pool:
        task = Halves(log=str(log), pause_s=0.1, holds=True, n_workers=2, n_later=3)
        results = pool.submit(lambda: list(map_shards(task, NUMBERS, engine)))
        held = Path(f"{log}.held")
        wait_for(held.exists)  # a node is at the second number of a shard
        ray_cluster.kill_node()
        ray_cluster.add_node()
        assert results.result() == HALVES
    lines = [line.split() for line in log.read_text().splitlines()]
    under_way = [int(number) for number, pid in lines if pid == held.read_text()][-2:]
    assert repeated(log) == dict.fromkeys(under_way, 2)
    assert len(pids(log)) == 3
    assert capsys.readouterr().out == ""  # of Ray, about the node


def test_ctrl_c_ends_a_run_and_the_next_one_resumes(ray_cluster: RayCluster, log: Path, tmp_path: Path) -> None:
    """Shards with a stored result are not repeated, and nothing of Ray's own reaches stderr."""
    folder = tmp_path / "shards"
    arguments = [ray_cluster.address, str(folder), json.dumps(asdict(Halves(log=str(log), pause_s=0.1)))]
    command, environment = [sys.executable, "-c", RUN, *arguments], {**os.environ, "PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None
    wait_for(lambda: len(stored_in(folder)) >= 4)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=300)
    assert first.returncode not in (0, None)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    stored = stored_in(folder)
    done = [number for shard in shards_of(Halves(log=""), NUMBERS) if shard.id in stored for number in shard.shipped]
    second = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert [float(line) for line in second.stdout.split()] == HALVES
    assert second.stderr == ""
    assert [worked_on(log).count(number) for number in done] == [1] * len(done)
