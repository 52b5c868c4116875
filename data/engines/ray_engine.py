"""Tasks on a Ray cluster: shards go to workers, results come back in order, and no finished shard is repeated.

A worker is an actor on each node, so that models are in memory once a node and its threads are those of a run on that
machine alone. Ray starts a worker again when it dies, on another node if its own is gone, and gives it the shard again.
Workers only compute. This process alone writes: each result into its file, then what the caller makes of it, since a
ledger and its Chroma have one writer. The only module that imports ray.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import fieldmark
from data.engines.contract import ItemsToError, ItemT, Recipe, ResultT, ShardTask
from data.errors import FieldmarkError, MissingDependency, MissingRequirement, SourceUnavailable
from data.files import sha256_hex, write_atomic
from fieldmark import fieldmark_version

KEPT_DAYS: Final = 14  # of runs that were interrupted and never resumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Some items of a task."""

    number: int
    id: str
    """Hash of the shipped items."""
    shipped: tuple[Any, ...]


def shards_of(task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[Shard]:
    """Yield the items in shards of about `task.shard_size`, at most twice as many.

    An item ends its shard by its own hash, so a list without its first part has the same shards from the next cut on.
    """
    number, shipped, texts = 0, list[Any](), list[str]()
    for item in items:
        shipped.append(task.ship(item))
        texts.append(json.dumps(shipped[-1], sort_keys=True))
        is_cut = int(sha256_hex(texts[-1])[:12], 16) % task.shard_size == 0
        if is_cut or len(shipped) >= 2 * task.shard_size:
            yield Shard(number=number, id=sha256_hex("\n".join(texts)), shipped=tuple(shipped))
            number, shipped, texts = number + 1, [], []
    if shipped:
        yield Shard(number=number, id=sha256_hex("\n".join(texts)), shipped=tuple(shipped))


class ResultFiles:
    """Results of one recipe, a file a shard, until the run has taken them in.

    A file ends with its checksum: one that is damaged counts as missing. Runs of one recipe may share a folder at the
    same time: each removes the files that it has taken in, and the folder stays.
    """

    def __init__(self, root: Path, recipe: Recipe) -> None:
        # Paths in shards may be relative.
        text = json.dumps([fieldmark_version(), str(Path.cwd()), asdict(recipe)], sort_keys=True)
        self._root, self._recipe = root, sha256_hex(text)[:24]
        self._taken: set[Path] = set()
        for path in root.glob("*"):
            with suppress(OSError):  # another run may remove it meanwhile
                if time.time() - path.stat().st_mtime > KEPT_DAYS * 86_400:
                    path.unlink()

    def read(self, shard_id: str) -> bytes | None:
        """Return the results of a shard, or None."""
        try:
            content = (path := self._path(shard_id)).read_bytes()
        except OSError:
            return None
        packed, digest = content[:-64], content[-64:]
        if sha256_hex(packed).encode() != digest:
            return None
        self._taken.add(path)
        return packed

    def write(self, shard_id: str, packed: bytes) -> None:
        """Store the results of a shard in one step."""
        write_atomic(path := self._path(shard_id), packed + sha256_hex(packed).encode(), is_durable=False)
        self._taken.add(path)

    def remove(self) -> None:
        """Delete the files that were read or written here: the run has taken them in."""
        for path in self._taken:
            path.unlink(missing_ok=True)

    def _path(self, shard_id: str) -> Path:
        return self._root / f"{self._recipe}-{shard_id}"


class Worker:
    """Runs shards of any task in this process."""

    def __init__(self, loaders: Mapping[str, str], *, folder: str = ".") -> None:
        """Keep the loaders: kind of models -> `module:function`, and work in the folder of relative paths."""
        if Path(folder).is_dir():
            os.chdir(folder)
        self._loaders = {kind: cache(named(loader)) for kind, loader in loaders.items()}
        self._tasks: dict[str, ShardTask[Any, Any]] = {}

    def hello(self) -> tuple[str, str]:
        """Return the name of this machine and its version of Fieldmark."""
        return socket.gethostname(), fieldmark_version()

    def run(self, recipe: Recipe, shard: Shard) -> tuple[Shard, bytes | Exception, bool]:
        """Return a shard, its packed results or error, and whether a run that resumes may take them."""
        try:
            key = json.dumps(asdict(recipe), sort_keys=True)
            if key not in self._tasks:
                self._tasks[key] = named(recipe.make)(self._loaders, **recipe.arguments)
            task = self._tasks[key]
            results = list(task.stream([task.receive(each) for each in shard.shipped]))
            return shard, task.pack(results), task.is_final(results)
        except Exception as error:
            if not isinstance(error, FieldmarkError):
                error.add_note(f"On node {socket.gethostname()}:\n{traceback.format_exc()}")
            return shard, error, False


def named(name: str) -> Callable[..., Any]:
    """Return the function or class `module:name`."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found


N_GIVEN: Final = 2
"""Shards that a worker has at a time: one under way, and one so that it need not wait for this process."""
AHEAD: Final = 4
"""Shards per worker that may be finished or under way before their turn; bounds the memory."""
MOST_DEATHS: Final = 3
"""Deaths of one worker at which the run stops."""
CONNECT_S: Final = 10.0
NO_WORKER_S: Final = 300.0
"""Wait for the first answers of the nodes before the run gives up."""

_LOOPBACK: Final = ("127.0.0.1:", "localhost:")
_ENVIRONMENT: Final = {
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # else it prints among the results on stdout that a worker died
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # else it waits a quarter of an hour for another program at the address
}
"""Settings of ray that hold unless they are set."""


class RayEngine:
    """An engine on a Ray cluster, which is connected on first use; close it at the end.

    Args:
        address: `HOST:PORT` of the cluster, `auto` for the one on this machine, None to start one for this run.
        results: folder for the results of shards; a run that was interrupted finds them there.
        loaders: kind of models -> `module:function` that loads them by name.
    """

    def __init__(self, address: str | None, *, results: Path, loaders: Mapping[str, str]) -> None:
        self._address, self._results, self._loaders = address, results, dict(loaders)
        self._ray: Any = None
        self._workers: list[Any] = []

    def map(self, task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
        """Yield the results of a task in the order of the items; an error comes after those of the shards before it.

        Raises:
            MissingDependency: if ray is not installed.
            MissingRequirement: if a node lacks Fieldmark, a file or a model.
            SourceUnavailable: if the cluster does not answer or has no node with a processor, or a worker dies thrice.
            Exception: what the task or the iterator of items raises.
        """
        pool, files, recipe = self._pool(), ResultFiles(self._results, task.recipe), task.recipe
        until_error = ItemsToError(items)
        coming = shards_of(task, until_error)
        done: dict[int, bytes | Exception] = {}
        n_drawn = n_taken = n_given = 0
        try:
            while True:
                while n_drawn - n_taken < AHEAD * len(self._workers) and (shard := next(coming, None)) is not None:
                    n_drawn += 1
                    if (stored := files.read(shard.id)) is not None:
                        done[shard.number] = stored
                    else:
                        n_given += 1
                        pool.submit(lambda worker, shard: worker.run.remote(recipe, shard), shard)
                if n_taken == n_drawn:
                    break
                while n_taken not in done:
                    shard, found, is_final = self._next_of(pool)
                    n_given -= 1
                    done[shard.number] = found
                    if is_final and isinstance(found, bytes):
                        files.write(shard.id, found)
                taken = done.pop(n_taken)
                if isinstance(taken, Exception):
                    raise taken
                n_taken += 1
                yield from task.unpack(taken)
        finally:
            if n_given:  # an error, Ctrl-C, or a caller that stops early
                self._stop_workers()
        until_error.raise_error()  # the files stay for a run that resumes
        files.remove()

    def close(self) -> None:
        """Leave the cluster."""
        if self._ray is not None:
            self._workers = []  # a generator that ends later finds none to stop
            self._ray.shutdown()
            self._ray = None

    def _pool(self) -> Any:  # noqa: ANN401  # a pool of ray
        """Return a pool of one worker a node; new workers are started when there are none."""
        if self._ray is None:
            self._ray = _connect(self._address)
        from ray.util import ActorPool

        if not self._workers:
            nodes = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
            if not nodes:
                raise SourceUnavailable(
                    "No node of the Ray cluster has a processor for this work.", hint="ray status shows its nodes."
                )
            self._workers = [self._worker_on(node) for node in nodes]
            self._check_versions()
        return ActorPool(self._workers * N_GIVEN)

    def _worker_on(self, node: Mapping[str, Any]) -> Any:  # noqa: ANN401  # an actor of ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        environment = {
            "OMP_NUM_THREADS": str(int(node["Resources"]["CPU"])),  # Ray would allow a single one
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # Ray would hide the accelerators
            **{name: os.environ[name] for name in fieldmark.NO_TELEMETRY},
        }
        actor = self._ray.remote(Worker).options(
            num_cpus=0,  # so that a worker finds room on another node when its own is gone
            max_restarts=MOST_DEATHS - 1,
            max_task_retries=-1,  # while it starts again
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=True),
            runtime_env={"env_vars": environment},
        )
        return actor.remote(self._loaders, folder=str(Path.cwd()))

    def _check_versions(self) -> None:
        errors = self._ray.exceptions
        try:
            answers = self._ray.get([worker.hello.remote() for worker in self._workers], timeout=NO_WORKER_S)
        except (errors.GetTimeoutError, errors.RayError) as error:
            self._stop_workers()
            if "No module named 'data" in str(error):
                raise MissingRequirement(
                    "Fieldmark is not installed on a node of the Ray cluster.",
                    hint="Install the same version on all nodes, with the extra scale.",
                ) from None
            raise SourceUnavailable(
                f"A node of the Ray cluster starts no worker: {str(error).partition(chr(10))[0]}",
                hint="ray status shows its nodes and who uses them. Run the same command again to resume.",
            ) from error
        for machine, version in answers:
            if version != fieldmark_version():
                self._stop_workers()
                raise MissingRequirement(
                    f"Node {machine} of the Ray cluster has Fieldmark {version}, this machine {fieldmark_version()}.",
                    hint="Install the same version on all nodes.",
                )

    def _next_of(self, pool: Any) -> Any:  # noqa: ANN401  # what `Worker.run` returns
        """Return the next answer of any worker."""
        try:
            return pool.get_next_unordered()
        except self._ray.exceptions.RayActorError as error:
            raise SourceUnavailable(
                f"A worker of the Ray cluster died {MOST_DEATHS} times.",
                hint="Their memory may be too small. Run the same command again to resume.",
            ) from error
        except self._ray.exceptions.RayError as error:
            raise SourceUnavailable(
                f"The Ray cluster failed: {str(error).strip().splitlines()[-1]}",
                hint="Run the same command again to resume.",
            ) from error

    def _stop_workers(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)
        self._workers = []


def _connect(address: str | None) -> Any:  # noqa: ANN401  # the module
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if address is not None and address != "auto":
        _check_answers(address)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingDependency("ray", extra="scale") from error
    if address is not None and address.startswith(_LOOPBACK):  # ray takes it for the machine's own address
        _check_answers(f"{ray.util.get_node_ip_address()}:{address.rpartition(':')[2]}")
    where: dict[str, Any] = {"address": address}
    if address is None:  # not another cluster that happens to run on this machine
        where = {"address": "local", "num_cpus": os.cpu_count(), "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        place = "" if address is None else f" at {address}"
        raise SourceUnavailable(
            f"The Ray cluster{place} cannot be used: {str(error).partition(chr(10))[0]}",
            hint="Start one with ray start --head, and run kb on one of its nodes.",
        ) from error
    return ray


def _check_answers(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    hint = "Expected HOST:PORT of a cluster, as ray start --head prints it, or auto."
    if not host or not port.isdecimal():
        raise SourceUnavailable(f'"{address}" is no address of a Ray cluster.', hint=hint)
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise SourceUnavailable(f"No Ray cluster answers at {address}.", hint=hint) from error
