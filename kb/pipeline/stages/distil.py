"""Distil: a description of each species and a definition of each term, from their articles."""

from __future__ import annotations

from data.batches import grouped
from data.codec import dumps, loads
from data.errors import StoreError
from data.files import sha256_hex
from data.records import Taxon
from kb.distill.distillers import AsyncDistiller, kind_of, name_for
from kb.distill.terms import term_from_article
from kb.pipeline.stages.distil_by_model import distil_by_model
from kb.pipeline.stages.fetch import fetched_pages, lost_body, read_article
from kb.pipeline.stages.run import BuildRun
from kb.sources.page_keys import owner_of
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
    tracker = run.track("distil", len(todo))
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
            except StoreError as error:
                steps.append(lost_body(ledger, key, error))
                continue
            steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
        with ledger.transaction():
            ledger.record(steps)
        tracker.add(len(group), failed=sum(step.status == "failed" for step in steps))
    if by_model and isinstance(run.distiller, AsyncDistiller):
        distil_by_model(run, run.distiller, by_model, tracker)


def distil_mark(page: FetchOutput, *, parser: str, distiller: str) -> str:
    """Return the fingerprint of a page and its distiller; another one means distilling again."""
    return fingerprint(page.sha256, page.source.revision, parser, distiller)


def _distil_page(run: BuildRun, key: str, page: FetchOutput, taxon: Taxon | None, name: str) -> DistilOutput:
    article = read_article(run.layout, run.source, key, page)
    text = run.layout.articles.write(article.text.encode())
    if taxon is None or isinstance(run.distiller, AsyncDistiller):  # species of the latter go to distil_by_model
        return DistilOutput(term=term_from_article(name, article), source=page.source, text_sha256=text)
    return DistilOutput(summary=run.distiller.distil(article, taxon), source=page.source, text_sha256=text)
