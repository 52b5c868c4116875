"""Distilling by a model: many pages at once, each kept as it comes, so that nothing that was paid for is lost."""

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
from kb.pipeline.stages.fetch import FAILURES_IN_A_ROW, lost_body, restore
from kb.pipeline.stages.run import BuildRun, Tracker
from kb.store.ledger import Step
from kb.store.stage_outputs import DistilOutput, FetchOutput

# More than an endpoint takes at once, so that it always has one waiting; the rest is the endpoint's matter.
N_WORKERS = 32

Todo = Mapping[str, tuple[FetchOutput, Taxon, str]]
"""Subject -> page, taxon and fingerprint."""


def distil_by_model(run: BuildRun, distiller: AsyncDistiller, todo: Todo, tracker: Tracker) -> None:
    """Distil these pages, one transaction a page.

    A page that the model refuses, or answers with nothing of use, is a failure and keeps the summary that it had; the
    next run tries it again (a kept reply is not asked for again).

    Raises:
        CostStop: when the limit of cost is reached; pages that are being waited for are still taken in.
        MissingRequirement: when the endpoint cannot be used at all.
        SourceUnavailable: when many pages in a row fail because of the endpoint.
    """
    wait_for(_Asking(run, distiller, todo, tracker).run())


class _Asking:
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
                self._stop = error  # the last one knows best what was spent
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
            article = self._run.source.parse(restore(self._run, key, page))
        except StoreError as error:
            return lost_body(self._run.ledger, key, error)
        text = self._run.layout.articles.write(article.text.encode())
        try:
            found = await self._distiller.distil_async(article, taxon)
        except (SourceError, NotCached) as error:
            self._count(error)
            bare = dumps(DistilOutput(source=page.source, text_sha256=text))
            before = self._before[key].output if key in self._before else None
            return Step(
                subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error), output=before or bare
            )
        self._in_a_row = 0
        output = DistilOutput(summary=found.summary, draft=found.draft, source=page.source, text_sha256=text)
        return Step(subject_id=key, stage="distil", fingerprint=mark, output=dumps(output))

    def _count(self, error: FieldmarkError) -> None:
        """Note that a page failed; what is the page's own fault says nothing of the endpoint."""
        if isinstance(error, Refused | MalformedAnswer | NotCached):
            return
        self._in_a_row += 1
        if self._in_a_row >= FAILURES_IN_A_ROW:
            self._stop = self._stop or SourceUnavailable(
                f"{self._in_a_row} pages in a row failed, the last with: {error}",
                hint="what was distilled is kept; run the same command again when the endpoint answers",
            )
