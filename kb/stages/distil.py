"""Distil: a summary of the looks of each species, and the definition of each term, out of the articles."""

from __future__ import annotations

from dataclasses import dataclass

from data.codec import dumps, loads
from data.errors import StoreError
from data.records import Source, Summary, Taxon, Term
from kb.ledger import Step, fingerprint
from kb.stages.fetch import FetchOutput, fetched_pages, restore
from kb.stages.run import BuildRun, grouped
from kb.terms import term_from_article

GROUP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOutput:
    """What the ledger keeps: the summary or the term, and the plain text (in `articles/`) that evidence points into."""

    summary: Summary | None = None
    term: Term | None = None
    source: Source | None = None
    text_sha256: str | None = None


def distil(run: BuildRun) -> None:
    """Distil every fetched page whose body, parser or distiller is new."""
    pages = fetched_pages(run)
    taxa = {key: loads(Taxon, record) for key, record in run.ledger.subjects("taxon").items()}
    terms = run.ledger.subjects("term")
    given = {key: loads(Term, record) for key, record in terms.items() if record}
    done = run.ledger.steps("distil")
    marks = {
        key: fingerprint(page.sha256, page.source.revision, run.source.parser, run.distiller.name)
        for key, page in pages.items()
    }
    marks |= {key: fingerprint(dumps(term)) for key, term in given.items()}
    todo = [key for key, mark in marks.items() if key not in done or done[key].fingerprint != mark]
    tracker = run.track("distil", len(todo))
    names = dict(run.ledger.subject_names("term"))
    for group in grouped(todo, GROUP):
        steps = []
        for key in group:
            if key in given:
                output = DistilOutput(term=given[key], source=given[key].source)
                steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
                continue
            try:
                output = _distil_one(run, key, pages[key], taxa.get(key), names.get(key, ""))
            except StoreError as error:
                # The body is gone or damaged: forget that it was fetched, so that the next run fetches it.
                with run.ledger.transaction():
                    run.ledger.drop_steps([key], ["fetch"])
                steps.append(Step(subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error)))
                continue
            steps.append(Step(subject_id=key, stage="distil", fingerprint=marks[key], output=dumps(output)))
        with run.ledger.transaction():
            run.ledger.record(steps)
        tracker.add(len(group), failed=sum(step.status == "failed" for step in steps))


def _distil_one(run: BuildRun, key: str, page: FetchOutput, taxon: Taxon | None, name: str) -> DistilOutput:
    article = run.source.parse(restore(run, key, page))
    text = run.layout.articles.write(article.text.encode())
    if taxon is not None:
        return DistilOutput(summary=run.distiller.distil(article, taxon), source=page.source, text_sha256=text)
    return DistilOutput(term=term_from_article(name, article), source=page.source, text_sha256=text)


def distilled(run: BuildRun) -> dict[str, DistilOutput]:
    """Return subject_id -> what was distilled, of all subjects that were."""
    return {
        key: loads(DistilOutput, step.output)
        for key, step in run.ledger.steps("distil").items()
        if step.status == "done" and step.output is not None
    }
