"""Fetch: the body of every page, kept by its hash. A page whose revision is known and kept is never fetched again."""

from __future__ import annotations

from datetime import UTC, datetime

from data.codec import dumps, loads
from data.errors import SourceUnavailable, StoreError
from data.records import Failure, FetchedPage, LeftOut, PageRef
from kb.pipeline.stages.resolve import located_pages, page_mark, term_left_out
from kb.pipeline.stages.run import BuildRun
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step
from kb.store.stage_outputs import FetchOutput

# After so many failures in a row the wiki is down: going on would knock at a closed door eleven thousand times.
FAILURES_IN_A_ROW = 12


def fetch(run: BuildRun) -> None:
    """Fetch every page that is not kept yet, one transaction a page.

    Raises:
        SourceUnavailable: when many pages in a row fail; what was fetched is kept.
    """
    resolved = located_pages(run)
    kept = run.ledger.steps("fetch")
    marks = {subject_id: page_mark(run, page) for subject_id, page in resolved.items()}
    todo = [
        page
        for subject_id, page in resolved.items()
        if subject_id not in kept
        or kept[subject_id].fingerprint != marks[subject_id]
        or kept[subject_id].status == "failed"
    ]
    names = run.ledger.subject_names("taxon")
    terms = run.ledger.subject_names("term")
    tracker = run.track("fetch", len(todo))
    in_a_row = 0
    for page, result in run.source.fetch(todo):
        step, lost = _step(run.layout, page.subject_id, marks[page.subject_id], result)
        with run.ledger.transaction():
            run.ledger.record([step])
            if lost is not None:
                if page.subject_id in terms:
                    lost = term_left_out(terms[page.subject_id], lost)
                run.ledger.set_left_out([(names.get(page.subject_id, lost.name), lost.reason, lost.detail)])
        failed = isinstance(result, Failure)
        in_a_row = in_a_row + 1 if failed else 0
        tracker.add(failed=int(failed))
        if in_a_row >= FAILURES_IN_A_ROW:
            raise SourceUnavailable(
                f"{in_a_row} pages in a row failed, the last with: {step.error}",
                hint="what was fetched is kept; run the same command again when the wiki answers",
            )


def _step(
    layout: Layout, subject_id: str, mark: str, result: FetchedPage | LeftOut | Failure
) -> tuple[Step, LeftOut | None]:
    if isinstance(result, Failure):
        return Step(subject_id=subject_id, stage="fetch", fingerprint=mark, status="failed", error=result.reason), None
    if isinstance(result, LeftOut):
        step = Step(subject_id=subject_id, stage="fetch", fingerprint=mark, status="left-out", error=result.reason)
        return step, result
    output = FetchOutput(
        sha256=layout.articles.write(result.body.encode()),
        media_type=result.media_type,
        source=result.source,
        categories=result.categories,
        properties=result.properties,
        retrieved_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return Step(subject_id=subject_id, stage="fetch", fingerprint=mark, output=dumps(output)), None


def fetched_pages(run: BuildRun) -> dict[str, FetchOutput]:
    """Return subject_id -> what was fetched, of all subjects that this run's source has a page for."""
    own = located_pages(run)
    return {
        subject_id: loads(FetchOutput, step.output)
        for subject_id, step in run.ledger.steps("fetch").items()
        if subject_id in own and step.status == "done" and step.output is not None
    }


def restore(run: BuildRun, subject_id: str, output: FetchOutput) -> FetchedPage:
    """Return the page as it was fetched; see `restored`."""
    return restored(run.layout, subject_id, output)


def restored(layout: Layout, subject_id: str, output: FetchOutput) -> FetchedPage:
    """Return the page as it was fetched.

    Raises:
        StoreError: if its file is missing or damaged.
    """
    return FetchedPage(
        page=PageRef(subject_id=subject_id, title=output.source.title, revision=output.source.revision),
        body=layout.articles.read(output.sha256).decode(),
        media_type=output.media_type,
        source=output.source,
        categories=output.categories,
        properties=output.properties,
    )


def lost_body(ledger: Ledger, key: str, error: StoreError) -> Step:
    """Return the step of a page whose body is gone or damaged, and forget that it was fetched: the next run does."""
    with ledger.transaction():
        ledger.drop_steps([key], ["fetch"])
    return Step(subject_id=key, stage="distil", fingerprint="", status="failed", error=str(error))
