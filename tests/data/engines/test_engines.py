import os
import pickle
import sys
import time
from pathlib import Path

import pytest

from data.engines.contract import LOCAL, Recipe, path_on_node, shipped_path
from data.engines.ray_engine import RayEngine, ResultFiles, Shard, Worker, shards_of
from data.errors import BadInput, MissingDependency, MissingRequirement, SourceUnavailable
from tests.data.engines.halves import Halves, numbers_and_error, worked_on


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_this_machine_takes_items_one_by_one(log: Path) -> None:
    """A stream may be endless; an error of the items comes after the results before it."""
    results = LOCAL.map(Halves(log=str(log)), iter([2, 3, 4]))
    assert next(results) == 1.0
    assert worked_on(log) == [2]
    assert list(results) == [1.5, 2.0]
    found = list[float]()
    with pytest.raises(OSError, match="unreadable folder"):
        found.extend(LOCAL.map(Halves(log=str(log)), numbers_and_error(3)))
    assert found == [0.0, 0.5, 1.0]


def test_shards_hold_all_items_in_order_and_are_found_again_by_a_run_that_resumes(log: Path) -> None:
    task = Halves(log=str(log))
    shards = list(shards_of(task, range(1000)))
    assert [item for shard in shards for item in shard.shipped] == list(range(1000))
    assert max(len(shard.shipped) for shard in shards) == 8
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert 150 < len(shards) < 400
    for n_done in (1, 7, 50):
        rest = [shard.id for shard in shards_of(task, range(n_done, 1000))]
        assert len(set(rest) - {shard.id for shard in shards}) <= 3
        assert rest[-20:] == [shard.id for shard in shards[-20:]]


def test_a_stored_result_is_that_of_its_recipe_and_folder_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ResultFiles(tmp_path, Recipe(make="a:b"))
    files.write("f00", b"results")
    assert files.read("f00") == b"results"
    assert ResultFiles(tmp_path, Recipe(make="a:b", arguments={"profile": "best"})).read("f00") is None
    with monkeypatch.context() as patched:  # paths may be relative
        patched.chdir(tmp_path)
        assert ResultFiles(tmp_path, Recipe(make="a:b")).read("f00") is None
    [file] = tmp_path.glob("*-f00")
    file.write_bytes(file.read_bytes().replace(b"results", b"resulte"))
    assert files.read("f00") is None
    files.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_run_removes_its_own_files_and_those_that_no_run_took_in_for_two_weeks(tmp_path: Path) -> None:
    """Another run of the recipe may still be under way."""
    recipe = Recipe(make="a:b")
    earlier, ends, goes_on = (ResultFiles(tmp_path, recipe) for _ in range(3))
    earlier.write("f00", b"of a run that was interrupted")
    assert ends.read("f00") == b"of a run that was interrupted"
    goes_on.write("f01", b"results")
    ends.remove()
    assert [ResultFiles(tmp_path, recipe).read(shard) for shard in ("f00", "f01")] == [None, b"results"]
    for shard_id, age_days in (("f02", 15), ("f03", 13)):
        ResultFiles(tmp_path, recipe).write(shard_id, b"results")
        [path] = tmp_path.glob(f"*-{shard_id}")
        os.utime(path, (time.time() - age_days * 86_400,) * 2)
    files = ResultFiles(tmp_path, recipe)
    assert (files.read("f02"), files.read("f03")) == (None, b"results")


def test_a_worker_returns_results_or_errors_that_come_back_whole(log: Path) -> None:
    task, worker = Halves(log=str(log), bad=3, odd=5), Worker({})

    def run(*shipped: int) -> object:
        shard = Shard(number=7, id="f00", shipped=shipped)
        same, found, is_final = pickle.loads(pickle.dumps(worker.run(task.recipe, shard)))
        assert same == shard and is_final is isinstance(found, bytes)
        return task.unpack(found) if isinstance(found, bytes) else found

    assert run(4, 6) == [2.0, 3.0]
    found = run(3)
    assert isinstance(found, BadInput) and (str(found), found.hint) == ("no half", "an even number")
    other = run(5)
    assert isinstance(other, ZeroDivisionError) and "On node" in other.__notes__[0]
    lacking = pickle.loads(pickle.dumps(MissingDependency("x", extra="models")))
    assert "x is not installed" in str(lacking) and "[models]" in lacking.hint


def test_a_file_that_a_node_lacks_is_an_error(tmp_path: Path) -> None:
    photo = tmp_path / "a.jpg"
    assert path_on_node(shipped_path(photo)) == str(photo)  # missing everywhere: an error row, as on this machine
    photo.write_bytes(b"four")
    shipped = shipped_path(photo)
    assert path_on_node(shipped) == str(photo)
    photo.write_bytes(b"other")
    with pytest.raises(MissingRequirement, match="is another file on node"):
        path_on_node(shipped)
    photo.unlink()
    with pytest.raises(MissingRequirement, match=r"a\.jpg does not exist on node"):
        path_on_node(shipped)


def test_a_missing_ray_and_an_address_that_does_not_answer_are_errors(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("127.0.0.1:1", "nowhere", "host:port"):
        with pytest.raises(SourceUnavailable, match=address) as raised:
            list(RayEngine(address, results=tmp_path, loaders={}).map(Halves(log=str(log)), [1]))
        assert "ray start --head" in str(raised.value.hint)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match="ray is not installed") as missing:
        list(RayEngine(None, results=tmp_path, loaders={}).map(Halves(log=str(log)), [1]))
    assert "[scale]" in str(missing.value.hint)
