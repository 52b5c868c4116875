from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from data.engines.contract import LOCAL
from data.engines.ray_engine import RayEngine, shards_of
from data.errors import BadInput, SourceUnavailable
from tests.data.engines.halves import Halves, numbers_and_error, worked_on
from tests.servers.ray_cluster import RayCluster

pytestmark = pytest.mark.integration

NUMBERS = range(60)
HALVES = [number / 2 for number in NUMBERS]


@pytest.fixture
def engine(ray_cluster: RayCluster, tmp_path: Path) -> Iterator[RayEngine]:
    with closing(RayEngine(ray_cluster.address, results=tmp_path / "shards", loaders={})) as opened:
        yield opened


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_results_order_and_errors_are_those_of_this_machine(engine: RayEngine, log: Path, tmp_path: Path) -> None:
    task = Halves(log=str(log))
    assert list(engine.map(task, NUMBERS)) == list(LOCAL.map(task, NUMBERS)) == HALVES
    assert list(engine.map(task, [])) == []
    assert list((tmp_path / "shards").iterdir()) == []
    for items, changed, kind in (
        (numbers_and_error(11), {}, OSError),
        (NUMBERS, {"bad": 13}, BadInput),
        (NUMBERS, {"odd": 13}, ZeroDivisionError),
    ):
        found = list[float]()
        with pytest.raises(kind):
            found.extend(engine.map(Halves(log=str(log), **changed), items))
        assert found == HALVES[: len(found)] and len(found) > 3


def test_a_killed_worker_repeats_its_shard_and_a_stopped_run_resumes(
    engine: RayEngine, log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task = Halves(log=str(log), die_at=21)
    assert list(engine.map(task, NUMBERS)) == HALVES
    [shard] = [shard.shipped for shard in shards_of(task, NUMBERS) if 21 in shard.shipped]
    counts = Counter(worked_on(log))
    assert counts[21] == 2
    assert {number for number, n in counts.items() if n > 1} >= set(shard[: shard.index(21) + 1])
    assert capfd.readouterr().out == "", "nothing of Ray's own reaches the results"

    again = Halves(log=str(log.with_name("again")))
    stopped = engine.map(again, NUMBERS)
    assert next(stopped) == 0
    stopped.close()
    stored = {file.name.rpartition("-")[2] for file in (tmp_path / "shards").glob("*-*")}
    done = {number for each in shards_of(again, NUMBERS) if each.id in stored for number in each.shipped}
    assert list(engine.map(again, NUMBERS)) == HALVES
    assert {Counter(worked_on(Path(again.log)))[number] for number in done} == {1}

    with pytest.raises(SourceUnavailable, match="A worker of the Ray cluster died 3 times"):
        list(engine.map(Halves(log=str(log), die_at=30, always_dies=True), NUMBERS))


def test_a_node_that_dies_loses_nothing_and_another_one_joins_the_next_run(
    ray_cluster: RayCluster, engine: RayEngine, log: Path, tmp_path: Path
) -> None:
    coming = engine.map(Halves(log=str(log)), NUMBERS)
    first = next(coming)
    ray_cluster.kill_node()
    try:
        assert [first, *coming] == HALVES
    finally:
        ray_cluster.add_node()
    engine.close()
    with closing(RayEngine(ray_cluster.address, results=tmp_path / "next", loaders={})) as again:
        assert list(again.map(Halves(log=str(log)), NUMBERS)) == HALVES
