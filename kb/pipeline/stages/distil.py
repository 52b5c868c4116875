"""Distil: a summary of the looks of each species, and the definition of each term, out of the articles."""

from __future__ import annotations

from data.codec import dumps, loads
from data.errors import StoreError
from data.records import Taxon, Term
from kb.distill.distillers import AsyncDistiller, kind_of
from kb.distill.terms import term_from_article
from kb.pipeline.stages.distil_by_model import distil_by_model
from kb.pipeline.stages.fetch import fetched_pages, lost_body, restore
from kb.pipeline.stages.run import BuildRun, grouped
from kb.store.ledger import Step, fingerprint
from kb.store.stage_outputs import FACT, DistilOutput, FetchOutput

GROUP = 32


def distil(run: BuildRun) -> None:
    """Distil every fetched page whose body, parser or distiller is new.

    Raises:
        CostStop: when the next reply of a model could pass the limit of cost; what was distilled is kept.
        SourceUnavailable: when a model's endpoint fails for many pages in a row; what was distilled is kept.
    """
    pages = fetched_pages(run)
    taxa = {key: loads(Taxon, record) for key, record in run.ledger.subjects("taxon").items()}
    terms = run.ledger.subjects("term")
    given = {key: loads(Term, record) for key, record in terms.items() if record}
    done = run.ledger.steps("distil")
    marks = {
        key: distil_mark(page, parser=run.source.parser, distiller=run.distiller.name) for key, page in pages.items()
    }
    marks |= {key: fingerprint(dumps(term)) for key, term in given.items()}
    todo = [key for key, mark in marks.items() if key not in done or done[key].fingerprint != mark]
    run.ledger.set_fact(FACT, kind_of(run.distiller.name))
    tracker = run.track("distil", len(todo))
    names = dict(run.ledger.subject_names("term"))
    by_model = [key for key in todo if key in taxa and key not in given] if _asks_model(run) else []
    at_once = set(by_model)
    for group in grouped([key for key in todo if key not in at_once], GROUP):
        steps = []
        for key in group:
            if key in given:
                output = DistilOutput(term=given[key], source=given[key].source)
                steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
                continue
            try:
                output = _distil_one(run, key, pages[key], taxa.get(key), names.get(key, ""))
            except StoreError as error:
                steps.append(lost_body(run.ledger, key, error))
                continue
            steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
        with run.ledger.transaction():
            run.ledger.record(steps)
        tracker.add(len(group), failed=sum(step.status == "failed" for step in steps))
    if isinstance(run.distiller, AsyncDistiller) and by_model:
        distil_by_model(run, run.distiller, {key: (pages[key], taxa[key], marks[key]) for key in by_model}, tracker)


def distil_mark(page: FetchOutput, *, parser: str, distiller: str) -> str:
    """Return the fingerprint of what a page is distilled from and by."""
    return fingerprint(page.sha256, page.source.revision, parser, distiller)


def _asks_model(run: BuildRun) -> bool:
    return isinstance(run.distiller, AsyncDistiller)


def _distil_one(run: BuildRun, key: str, page: FetchOutput, taxon: Taxon | None, name: str) -> DistilOutput:
    article = run.source.parse(restore(run, key, page))
    text = run.layout.articles.write(article.text.encode())
    if taxon is None:
        return DistilOutput(term=term_from_article(name, article), source=page.source, text_sha256=text)
    if isinstance(run.distiller, AsyncDistiller):
        raise TypeError(f"{run.distiller.name} is asked elsewhere")  # species of such a distiller never come here
    return DistilOutput(summary=run.distiller.distil(article, taxon), source=page.source, text_sha256=text)


def distilled(run: BuildRun) -> dict[str, DistilOutput]:
    """Return subject_id -> what was distilled, of all subjects that were.

    A page that a model failed at keeps what it had, or is there without a summary.
    """
    return {
        key: loads(DistilOutput, step.output)
        for key, step in run.ledger.steps("distil").items()
        if step.status in ("done", "failed") and step.output is not None
    }
