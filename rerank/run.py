"""Runs: many jobs at once through one method, each result delivered when complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from data.errors import BadInput, NothingReadable
from data.event_loop import run
from data.records import Job, RankedImage
from rerank.ranked_images import error_rows
from rerank.reranker import Reranker, Tally
from rerank.scheduling import all_of

N_OPEN: Final = 4  # queries at a time: enough to fill the slots, few enough that the first results come soon
MOST_REASONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The ranked images of a run, and its counts."""

    rows: Mapping[str, list[RankedImage]]
    """Query id -> its images, best first."""
    tally: Tally

    @property
    def failed(self) -> list[RankedImage]:
        """The images that could not be judged."""
        return [row for rows in self.rows.values() for row in rows if row.status == "error"]

    @property
    def reasons(self) -> str:
        """The errors of these images, each once: the first few, and the number of others."""
        texts = list(dict.fromkeys(row.error or "no reason given" for row in self.failed))
        n_more = len(texts) - MOST_REASONS
        return "; ".join(texts[:MOST_REASONS]) + (f"; and {n_more:,} more" if n_more > 0 else "")

    @property
    def n_images(self) -> int:
        """All images."""
        return sum(map(len, self.rows.values()))

    @property
    def is_complete(self) -> bool:
        """Whether every image was judged, without fallbacks."""
        return not self.failed and self.tally.is_complete

    def raise_if_all_failed(self) -> None:
        """Raise the cause if no image was judged: the first error, those of single images last and together."""
        failed = self.failed
        if failed and len(failed) == self.n_images:
            causes = sorted(self.tally.failures, key=lambda error: isinstance(error, BadInput))
            if not causes or (len(causes) > 1 and isinstance(causes[0], BadInput)):
                raise NothingReadable(self.reasons)
            raise causes[0]


def run_jobs(
    jobs: Iterable[Job],
    reranker: Reranker,
    *,
    on_ranked: Callable[[Job, list[RankedImage]], None] = lambda _job, _ranked: None,
) -> RunResult:
    """Return the ranked images of all jobs; `on_ranked` is called as each job completes, in order of completion.

    A job that the method rejects becomes error rows; any other error ends the run. Closes the reranker.
    """
    rows: dict[str, list[RankedImage]] = {}

    async def work(waiting: Iterator[Job]) -> None:
        for job in waiting:  # shared: each worker takes the next one
            # A separate task, so that `current_query` is set for this query only.
            try:
                ranked = await asyncio.create_task(reranker.rank(job))
            except BadInput as error:
                ranked = error_rows(job, str(error))
            rows[job.query_id] = ranked
            on_ranked(job, ranked)

    async def main() -> None:
        waiting = iter(jobs)
        await all_of([work(waiting) for _ in range(N_OPEN)])

    try:
        run(main())
    finally:
        reranker.close()
    return RunResult(rows=rows, tally=reranker.tally)
