"""A worker on each node of a Ray cluster; the only module that imports ray.

A worker is an actor with all processors of its node, so that its threads are those of a run on that machine alone,
and models are in memory once a node. A worker whose node dies is replaced as soon as there is a node without one; nodes
that join get one too.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from data.engines.contract import Recipe
from data.engines.shards import Shard
from data.engines.worker import Outcome, Worker
from data.errors import MissingDependency, MissingRequirement, SourceUnavailable
from data.version import fieldmark_version

CONNECT_S: Final = 10.0
NO_WORKER_S: Final = 300.0
"""Wait for a free node before the run gives up."""
LOOK_S: Final = 2.0  # between two looks at the nodes
N_GIVEN: Final = 2
"""Shards that a worker has at a time: one under way, and one so that it need not wait for this process."""

_LOOPBACK: Final = ("127.0.0.1:", "localhost:")
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",  # else it reports its use
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # else it waits a quarter of an hour for another program at the address
}
"""Settings of ray that hold unless they are set."""


class Team:
    """The workers of a cluster; close it at the end."""

    def __init__(self, address: str | None, loaders: Mapping[str, str]) -> None:
        """Connect to the cluster at an address, or start one on this machine.

        Raises:
            MissingDependency: if ray is not installed.
            SourceUnavailable: if no cluster answers.
        """
        self._ray = _connect(address)
        self._loaders, self._folder = dict(loaders), str(Path.cwd())
        self._workers: dict[str, Any] = {}  # node -> actor
        self._greetings: dict[Any, tuple[str, Any]] = {}
        self._ready: list[str] = []
        self._running: dict[Any, tuple[str, Any, Shard]] = {}
        self._idle_since = time.monotonic()
        self._looked = float("-inf")

    @property
    def is_free(self) -> bool:
        """Whether a worker waits for a shard."""
        return bool(self._ready)

    @property
    def n_workers(self) -> int:
        """Nodes with a worker."""
        return len(self._workers)

    def submit(self, recipe: Recipe, shard: Shard) -> None:
        """Give a shard to a free worker."""
        node = self._ready.pop(0)
        actor = self._workers[node]
        self._running[actor.run.remote(recipe, shard.shipped)] = node, actor, shard

    def wait(self) -> Iterator[tuple[Shard, Outcome | None]]:
        """Yield all finished shards with their outcomes, None where the worker died; none if nothing happened yet.

        Raises:
            SourceUnavailable: if no node had room for a worker for `NO_WORKER_S`.
            MissingRequirement: if Fieldmark is missing on a node, or of another version; after the finished shards.
        """
        self._hire()
        waiting = [*self._running, *self._greetings]
        if not waiting:
            time.sleep(LOOK_S)
        for ref in sorted(self._ended(waiting), key=self._greetings.__contains__):
            if ref in self._greetings:
                self._greet(ref)
                continue
            node, actor, shard = self._running.pop(ref)
            try:
                outcome: Outcome | None = self._get(ref)
            except Exception as error:  # of the task, which the caller raises in its turn
                outcome = Outcome(raised=error)
            if outcome is None:
                self._dismiss(node, actor)
            elif self._workers.get(node) is actor:  # its node may have died since
                self._ready.append(node)
            yield shard, outcome
        if self._running or self._ready:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > NO_WORKER_S:
            raise SourceUnavailable(
                f"No node of the Ray cluster had free processors for {NO_WORKER_S:g} s.",
                hint="ray status shows its nodes and who uses them. Run the same command again to resume.",
            )

    def _ended(self, waiting: list[Any]) -> list[Any]:
        """Return all calls that have ended, once one has; empty after `LOOK_S`."""
        ended, others = self._ray.wait(waiting, timeout=LOOK_S) if waiting else ([], [])
        if ended and others:
            ended += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        return list(ended)

    def drop(self) -> None:
        """Stop the workers that are at work; others come in their places."""
        for node, actor, _ in self._running.values():
            self._dismiss(node, actor)
        self._running.clear()

    def close(self) -> None:
        """Leave the cluster; its workers end."""
        self._workers.clear()  # a generator that ends later finds none to stop
        self._running.clear()
        self._ray.shutdown()

    def _hire(self) -> None:
        """Start a worker on each node without one."""
        if time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        alive = {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}
        for node in [node for node in self._workers if node not in alive]:
            self._dismiss(node, self._workers[node])
        for node, resources in alive.items():
            if node in self._workers or resources.get("CPU", 0) < 1:
                continue
            there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            actor = self._ray.remote(Worker).options(
                num_cpus=int(resources["CPU"]), num_gpus=int(resources.get("GPU", 0)), scheduling_strategy=there
            )
            self._workers[node] = actor.remote(self._loaders, folder=self._folder)
            self._greetings[self._workers[node].hello.remote()] = node, self._workers[node]

    def _dismiss(self, node: str, actor: Any) -> None:  # noqa: ANN401  # an actor of ray
        """Forget a worker that died, or end one; its shards are given out again."""
        if self._workers.get(node) is actor:  # not another one that came in its place
            del self._workers[node]
            self._ready = [each for each in self._ready if each != node]
            self._ray.kill(actor)

    def _greet(self, ref: Any) -> None:  # noqa: ANN401  # a reference of ray
        node, actor = self._greetings.pop(ref)
        greeting = self._get(ref)
        if greeting is None:
            self._dismiss(node, actor)
            return
        machine, version = greeting
        if version != fieldmark_version():
            raise MissingRequirement(
                f"Node {machine} of the Ray cluster has Fieldmark {version}, this machine {fieldmark_version()}.",
                hint="Install the same version on all nodes.",
            )
        if self._workers.get(node) is actor:
            self._ready += [node] * N_GIVEN

    def _get(self, ref: Any) -> Any:  # noqa: ANN401  # what the worker returned
        """Return the value of a finished call; None if its worker or node died."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ModuleNotFoundError) and (cause.name or "").split(".")[0] == "data":
                raise _not_installed() from None
            raise cause from None
        except errors.ActorDiedError as error:
            if "No module named 'data" in str(error):
                raise _not_installed() from None
            return None
        except (
            errors.RayActorError,
            errors.ActorUnschedulableError,
            errors.ObjectLostError,
            errors.NodeDiedError,
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,  # of a node that ended its worker
        ):
            return None


def _not_installed() -> MissingRequirement:
    return MissingRequirement(
        "Fieldmark is not installed on a node of the Ray cluster.",
        hint="Install the same version on all nodes, with the extra scale.",
    )


def _connect(address: str | None) -> Any:  # noqa: ANN401  # the module
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if address is not None and address != "auto":
        _check_answers(address)
    try:
        import ray
        import ray.util.scheduling_strategies
    except ModuleNotFoundError as error:
        raise MissingDependency("ray", extra="scale") from error
    if address is not None and address.startswith(_LOOPBACK):  # ray takes it for the machine's own address
        own_address: Any = ray.util.get_node_ip_address
        _check_answers(f"{own_address()}:{address.rpartition(':')[2]}")
    where: dict[str, Any] = {"address": address}
    if address is None:  # not another cluster that happens to run on this machine
        where = {"address": "local", "num_cpus": os.cpu_count(), "include_dashboard": False}
    # Ray has no setting for it: else it prints among the results on stdout that a node died.
    ray._private.worker._worker_logs_enabled = False
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
