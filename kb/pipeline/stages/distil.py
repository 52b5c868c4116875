"""Distil: a description of each species and a definition of each term, from their articles, by rules or a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from data import errors
from data.batches import grouped
from data.codec import dumps, loads
from data.event_loop import wait_for
from data.files import sha256_hex
from data.records import Taxon
from kb.distill.distillers import AsyncDistiller, kind_of, name_for
from kb.distill.terms import term_from_article
from kb.pipeline.stages.fetch import fetched_pages, lost_body, read_article
from kb.pipeline.stages.run import BuildRun, Tracker
from kb.sources.article_source import owner_of
from kb.store.ledger import Step, fingerprint
from kb.store.rows import term_of
from kb.store.stage_outputs import FACT, DistilOutput, FetchOutput

GROUP = 32  # subjects a transaction
_NO_TEXT = sha256_hex("")  # of a page with photos only


def distil(run: BuildRun) -> None:
    """Distil every fetched page with a new body, parser or distiller.

    Raises:
        CostStop: before the next reply of a model could pass the cost limit; finished summaries are kept.
        SourceUnavailable: if a model fails for many pages in a row; finished summaries are kept.
    """
    ledger = run.ledger
    pages = fetched_pages(run)
    taxa = {key: loads(Taxon, record) for key, record in ledger.subjects("taxon").items()}
    given = {key: term_of(record) for key, record in ledger.subjects("term").items() if record}
    names = ledger.subject_names("term")
    taxon_of = {key: taxa[owner_of(key)] for key in pages if owner_of(key) in taxa}
    marks = {
        key: distil_mark(page, parser=run.source.parser, distiller=name_for(run.distiller, taxon_of.get(key)))
        for key, page in pages.items()
    }
    marks |= {key: fingerprint(dumps(term)) for key, term in given.items()}
    todo = run.todo("distil", marks)
    ledger.set_fact(FACT, kind_of(run.distiller.name))
    tracker = run.track("distil", len(todo), kept=len(marks) - len(todo))
    by_model = {
        key: (pages[key], taxon_of[key], marks[key])
        for key in todo
        if key in taxon_of and isinstance(run.distiller, AsyncDistiller) and pages[key].sha256 != _NO_TEXT
    }
    for group in grouped([key for key in todo if key not in by_model], GROUP):
        steps = []
        for key in group:
            try:
                if key not in given and pages[key].sha256 == _NO_TEXT:
                    output = DistilOutput()
                elif key in given:
                    output = DistilOutput(term=given[key], source=given[key].source)
                else:
                    output = _distil_page(run, key, pages[key], taxon_of.get(key), names.get(owner_of(key), ""))
            except errors.StoreError as error:
                steps.append(lost_body(ledger, key, error))
                continue
            steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
        with ledger.transaction():
            ledger.record(steps)
        tracker.add(len(group), failed=sum(step.status == "failed" for step in steps))
    if by_model and isinstance(run.distiller, AsyncDistiller):
        wait_for(_ModelWork(run, run.distiller, by_model, tracker).run())


def distil_mark(page: FetchOutput, *, parser: str, distiller: str) -> str:
    """Return the fingerprint of a page and its distiller; another one means distilling again."""
    return fingerprint(page.sha256, page.source.revision, parser, distiller)


def _distil_page(run: BuildRun, key: str, page: FetchOutput, taxon: Taxon | None, name: str) -> DistilOutput:
    article = read_article(run.layout, run.source, key, page)
    text = run.layout.articles.write(article.text.encode())
    if taxon is None or isinstance(run.distiller, AsyncDistiller):  # species of the latter go to _ModelWork
        return DistilOutput(term=term_from_article(name, article), source=page.source, text_sha256=text)
    return DistilOutput(summary=run.distiller.distil(article, taxon), source=page.source, text_sha256=text)


N_WORKERS = 32  # more than an endpoint takes at once, so that it always has a request waiting

Todo = Mapping[str, tuple[FetchOutput, Taxon, str]]
"""Subject -> page, taxon and fingerprint."""


class _ModelWork:
    """Distilling by a model, one transaction per page.

    A page with a refusal or an unusable reply is a failure, keeps its earlier summary, and is tried again by the next
    run. Cached replies cost nothing then.
    """

    def __init__(self, run: BuildRun, distiller: AsyncDistiller, todo: Todo, tracker: Tracker) -> None:
        self._run, self._distiller, self._todo, self._tracker = run, distiller, todo, tracker
        self._keys = iter(todo)
        self._before = run.ledger.steps("distil")
        self._stop: errors.FieldmarkError | None = None
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
            except errors.CostStop as error:
                self._stop = error  # the last one has the final cost
                return
            except errors.MissingRequirement as error:
                self._stop = self._stop or error
                return
            with self._run.ledger.transaction():
                self._run.ledger.record([step])
            self._tracker.add(failed=int(step.status == "failed"))

    async def _step(self, key: str) -> Step:
        page, taxon, mark = self._todo[key]
        try:
            article = read_article(self._run.layout, self._run.source, key, page)
        except errors.StoreError as error:
            return lost_body(self._run.ledger, key, error)
        text = self._run.layout.articles.write(article.text.encode())
        try:
            made = await self._distiller.distil_async(article, taxon)
        except (errors.SourceError, errors.NotCached) as error:
            self._count_failure(error)
            before = self._before[key].output if key in self._before else None
            output = before or dumps(DistilOutput(source=page.source, text_sha256=text))
            return Step(
                subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error), output=output
            )
        self._in_a_row = 0
        output = dumps(DistilOutput(summary=made.summary, draft=made.draft, source=page.source, text_sha256=text))
        return Step(subject_id=key, stage="distil", fingerprint=mark, output=output)

    def _count_failure(self, error: errors.FieldmarkError) -> None:
        """Count failures of the endpoint in a row; those of a single page do not count."""
        if isinstance(error, errors.Refused | errors.MalformedAnswer | errors.NotCached):
            return
        self._in_a_row += 1
        if self._in_a_row >= self._run.settings.max_failures_in_a_row:
            self._stop = self._stop or errors.SourceUnavailable(
                f"Too many pages failed in a row ({self._in_a_row}). Last error: {error}",
                hint="Finished summaries are kept. Run the same command again when the model responds.",
            )
