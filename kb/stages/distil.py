"""Distil: a summary of the looks of each species, and the definition of each term, out of the articles."""

from __future__ import annotations

from dataclasses import dataclass

from data.codec import dumps, loads
from data.errors import StoreError
from data.records import Source, Summary, Taxon, Term
from kb.distilling.choosing import kind_of
from kb.ledger import Ledger, Step, fingerprint
from kb.stages.fetch import FetchOutput, fetched_pages, restore
from kb.stages.run import AsyncDistiller, BuildRun, grouped
from kb.terms import term_from_article

GROUP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOutput:
    """What the ledger keeps: the summary or the term, and the plain text (in `articles/`) that evidence points into."""

    summary: Summary | None = None
    term: Term | None = None
    source: Source | None = None
    text_sha256: str | None = None
    draft: Summary | None = None
    """What the first of two passes made."""


def distil(run: BuildRun) -> None:
    """Distil every fetched page whose body, parser or distiller is new.

    Raises:
        CostStop: when the next reply of a model could pass the limit of cost; what was distilled is kept.
        SourceUnavailable: when a model's endpoint fails for many pages in a row; what was distilled is kept.
    """
    from kb.stages.asking import distil_by_model

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


FACT = "distiller"
"""The fact of the ledger that names the kind of distiller of the last build."""


def distil_mark(page: FetchOutput, *, parser: str, distiller: str) -> str:
    """Return the fingerprint of what a page is distilled from and by."""
    return fingerprint(page.sha256, page.source.revision, parser, distiller)


def lost_body(ledger: Ledger, key: str, error: StoreError) -> Step:
    """Return the step of a page whose body is gone or damaged, and forget that it was fetched: the next run does."""
    with ledger.transaction():
        ledger.drop_steps([key], ["fetch"])
    return Step(subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error))


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
