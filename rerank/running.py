"""A run: many jobs at once through one method, each result handed on as soon as it is whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from data.contracts import QueryReranker
from data.errors import BadInput
from data.records import Job, RankedImage
from rerank.original_order import not_ranked
from rerank.scheduling import all_of

N_OPEN: Final = 4  # queries at a time: enough to fill the slots, few enough that the first results come soon


def run_jobs(
    jobs: Iterable[Job],
    reranker: QueryReranker,
    *,
    on_ranked: Callable[[Job, list[RankedImage]], None],
    n_open: int = N_OPEN,
) -> None:
    """Rank the images of all jobs; `on_ranked` is called as each job is whole, in the order in which they end.

    A job that the method cannot rank is error rows. Whatever else the method lets through ends the run; what was
    answered until then is kept where the method keeps it.
    """
    if n_open < 1:
        raise ValueError(f"expected n_open >= 1, got {n_open}")

    async def work(waiting: Iterator[Job]) -> None:
        for job in waiting:  # shared by all workers: each takes the next one
            # A task of its own, so that the query it works for is known to it alone.
            try:
                ranked = await asyncio.create_task(reranker.rank(job))
            except BadInput as error:
                ranked = not_ranked(job, str(error))
            on_ranked(job, ranked)

    async def main() -> None:
        waiting = iter(jobs)
        await all_of([work(waiting) for _ in range(n_open)])

    asyncio.run(main())
