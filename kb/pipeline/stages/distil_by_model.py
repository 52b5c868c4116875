"""Distilling by a model: many pages at once, each stored on arrival, so that no paid reply is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from data.codec import dumps
from data.errors import (
    CostStop,
    FieldmarkError,
    MalformedAnswer,
    MissingRequirement,
    NotCached,
    Refused,
    SourceError,
    SourceUnavailable,
    StoreError,
)
from data.event_loop import wait_for
from data.records import Taxon
from kb.distill.distillers import AsyncDistiller
from kb.pipeline.stages.fetch import lost_body, read_article
from kb.pipeline.stages.run import BuildRun, Tracker
from kb.store.ledger import Step
from kb.store.stage_outputs import DistilOutput, FetchOutput

N_WORKERS = 32  # more than an endpoint takes at once, so that it always has a request waiting

Todo = Mapping[str, tuple[FetchOutput, Taxon, str]]
"""Subject -> page, taxon and fingerprint."""


def distil_by_model(run: BuildRun, distiller: AsyncDistiller, todo: Todo, tracker: Tracker) -> None:
    """Distil these pages, one transaction per page.

    A page with a refusal or an unusable reply is a failure, keeps its earlier summary, and is tried again by the next
    run. Cached replies cost nothing then.

    Raises:
        CostStop: if the cost limit is reached; replies in flight are still stored.
        MissingRequirement: if the endpoint cannot be used at all.
        SourceUnavailable: if the endpoint fails for `max_failures_in_a_row` pages.
    """
    wait_for(_ModelWork(run, distiller, todo, tracker).run())


class _ModelWork:
    def __init__(self, run: BuildRun, distiller: AsyncDistiller, todo: Todo, tracker: Tracker) -> None:
        self._run, self._distiller, self._todo, self._tracker = run, distiller, todo, tracker
        self._keys = iter(todo)
        self._before = run.ledger.steps("distil")
        self._stop: FieldmarkError | None = None
        self._in_a_row = 0

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._work()) for _ in range(min(N_WORKERS, len(self._todo)))]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        if self._stop is not None:
            raise self._stop

    async def _work(self) -> None:
        for key in self._keys:  # shared by all workers
            if self._stop is not None:
                return
            try:
                step = await self._step(key)
            except CostStop as error:
                self._stop = error  # the last one has the final cost
                return
            except MissingRequirement as error:
                self._stop = self._stop or error
                return
            with self._run.ledger.transaction():
                self._run.ledger.record([step])
            self._tracker.add(failed=int(step.status == "failed"))

    async def _step(self, key: str) -> Step:
        page, taxon, mark = self._todo[key]
        try:
            article = read_article(self._run.layout, self._run.source, key, page)
        except StoreError as error:
            return lost_body(self._run.ledger, key, error)
        text = self._run.layout.articles.write(article.text.encode())
        try:
            made = await self._distiller.distil_async(article, taxon)
        except (SourceError, NotCached) as error:
            self._count_failure(error)
            before = self._before[key].output if key in self._before else None
            output = before or dumps(DistilOutput(source=page.source, text_sha256=text))
            return Step(
                subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error), output=output
            )
        self._in_a_row = 0
        output = dumps(DistilOutput(summary=made.summary, draft=made.draft, source=page.source, text_sha256=text))
        return Step(subject_id=key, stage="distil", fingerprint=mark, output=output)

    def _count_failure(self, error: FieldmarkError) -> None:
        """Count failures of the endpoint in a row; those of a single page do not count."""
        if isinstance(error, Refused | MalformedAnswer | NotCached):
            return
        self._in_a_row += 1
        if self._in_a_row >= self._run.settings.max_failures_in_a_row:
            self._stop = self._stop or SourceUnavailable(
                f"Too many pages failed in a row ({self._in_a_row}). Last error: {error}",
                hint="Finished summaries are kept. Run the same command again when the model responds.",
            )
