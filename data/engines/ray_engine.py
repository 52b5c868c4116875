"""Tasks on a Ray cluster: shards go to workers, results come back in order, and no finished shard is repeated.

Workers only compute. This process alone writes: each result into its file, then what the caller makes of it, since a
ledger and its Chroma have one writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from data.engines.contract import ItemT, ResultT, ShardTask
from data.engines.input_errors import ItemsToError
from data.engines.ray_team import Team
from data.engines.result_files import ResultFiles
from data.engines.shards import Shard, shards_of
from data.engines.worker import Outcome
from data.errors import SourceUnavailable, UsageError

AHEAD: Final = 4
"""Shards per worker that may be finished or under way before their turn; bounds the memory."""
MOST_DEATHS: Final = 3
"""Workers that a shard may lose before the run stops."""


class RayEngine:
    """An engine on a Ray cluster, which is connected on first use; close it at the end.

    Args:
        address: `HOST:PORT` of the cluster, `auto` for the one on this machine, None to start one for this run.
        results: folder for the results of shards; a run that was interrupted finds them there.
        loaders: kind of models -> `module:function` that loads them by name.
    """

    def __init__(self, address: str | None, *, results: Path, loaders: Mapping[str, str]) -> None:
        self._address, self._results, self._loaders = address, results, loaders
        self._team: Team | None = None
        self._is_at_work = False

    def map(self, task: ShardTask[ItemT, ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
        """Yield the results of a task in the order of the items; an error comes after those of the shards before it.

        Raises:
            MissingDependency: if ray is not installed.
            MissingRequirement: if a node lacks Fieldmark, a file or a model.
            UsageError: while another task is under way.
            SourceUnavailable: if the cluster does not answer, has no free node, or loses three workers to one shard.
            Exception: what the task or the iterator of items raises.
        """
        if self._is_at_work:  # its shards have the same numbers
            raise UsageError("The Ray engine runs one task at a time.", hint="Take all results of the first before.")
        if self._team is None:
            self._team = Team(self._address, self._loaders)
        team, files = self._team, ResultFiles(self._results, task.recipe)
        until_error = ItemsToError(items)
        coming, todo = shards_of(task, until_error), list[Shard]()
        done: dict[int, Outcome] = {}
        deaths: Counter[int] = Counter()
        n_drawn = n_taken = 0
        has_more = self._is_at_work = True
        try:
            while has_more or n_taken < n_drawn:
                while has_more and n_drawn - n_taken < AHEAD * max(1, team.n_workers):
                    shard = next(coming, None)
                    has_more = shard is not None
                    if shard is not None:
                        n_drawn += 1
                        if (packed := files.read(shard.id)) is None:
                            todo.append(shard)
                        else:
                            done[shard.number] = Outcome(packed=packed)
                while todo and team.is_free:
                    team.submit(task.recipe, todo.pop(0))
                if n_taken in done:
                    yield from task.unpack(done.pop(n_taken).results())
                    n_taken += 1
                    continue
                for shard, outcome in team.wait() if n_taken < n_drawn else ():
                    deaths[shard.number] += outcome is None
                    if outcome is None and deaths[shard.number] < MOST_DEATHS:
                        todo.insert(0, shard)
                        continue
                    done[shard.number] = outcome = outcome or Outcome(raised=_too_many_deaths())
                    if outcome.is_error:  # raised in its turn; no shard behind it is begun
                        has_more, todo = False, [each for each in todo if each.number < shard.number]
                    elif outcome.is_final:
                        files.write(shard.id, outcome.packed)
        finally:
            self._is_at_work = False
            team.drop()  # an error, Ctrl-C, or a caller that stops early
        until_error.raise_error()  # the files stay for a run that resumes
        files.remove()

    def close(self) -> None:
        """Leave the cluster."""
        if self._team is not None:
            self._team.close()
            self._team = None


def _too_many_deaths() -> SourceUnavailable:
    return SourceUnavailable(
        f"{MOST_DEATHS} workers of the Ray cluster died at the same items.",
        hint="Their memory may be too small. Run the same command again to resume.",
    )
