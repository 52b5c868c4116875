"""Update: find changed pages and photos at the sources of a knowledge base, and redo only what depends on them.

An unchanged page costs a fiftieth of a request; it is neither fetched nor distilled nor encoded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from data.codec import loads
from data.contracts import ChatModel, Encoders
from data.engines.contract import LOCAL, Engine
from data.errors import UsageError
from data.files import writer_lock
from data.records import Failure, PageRef, Progress, Stage, Taxon, Update
from kb.distill import DistillerName
from kb.distill.distillers import AnyDistiller, AsyncDistiller, distiller_for, kind_of, name_for
from kb.distill.model import ModelDistiller
from kb.pipeline.builder import begin, run_stages, write_manifest
from kb.pipeline.settings import DEFAULTS, BuildSettings
from kb.pipeline.stages.distil import distil_mark
from kb.pipeline.stages.fetch import fetched_pages
from kb.pipeline.stages.resolve import located_pages
from kb.pipeline.stages.run import BuildRun
from kb.pipeline.update_notes import FACT, Findings, Subject, all_changes, note
from kb.sources.article_source import ArticleSource, is_page, owner_of
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import FACT as DISTILLER
from kb.store.stage_outputs import AnchorOutput, read_origins

STAGES: tuple[Stage, ...] = ("fetch", "distil", "anchor", "encode", "index")


# Long: half of it documents the parameters and errors.
def update(
    path: str | Path,
    sources: Sequence[ArticleSource],
    encoders: Encoders,
    *,
    chat: ChatModel | None = None,
    distiller: AnyDistiller | DistillerName | None = None,
    settings: BuildSettings = DEFAULTS,
    progress: Callable[[Progress], None] | None = None,
    engine: Engine = LOCAL,
) -> Update:
    """Update the pages of a knowledge base and return the changes and their cost.

    The result is that of a new build for the same species; new species need a build. An update that is killed and
    called again continues, and reports all changes.

    Args:
        path: the knowledge base.
        sources: the sources of its pages, opened again (see `KnowledgeBase.origins`); other pages stay as they are.
        encoders: the encoders of the knowledge base.
        chat: the language model of the distiller, if it needs one.
        distiller: a distiller or its name; by default as in the last build.
        settings: further settings, as in the last build.
        progress: called at every step of every stage.
        engine: where texts and photos are encoded.

    Raises:
        MissingKnowledgeBase: if there is none.
        StoreError: if its ledger is missing or damaged.
        UsageError: if the sources gave no page, or if another distiller or model would distil unchanged pages again.
        MissingRequirement: if it was distilled by a model, and none is given.
        CostStop: if the cost limit of a model is reached; the next update continues.
        SpaceMismatch: if it has other encoders.
        KnowledgeBaseLocked: if another process is writing to it.
        SourceError: if a source fails for good; finished work is kept.
    """
    layout = Layout(Path(path))
    layout.require()
    started = time.monotonic()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        requests_before = _n_requests(sources)
        made = distiller_for(ledger.fact(DISTILLER), distiller, chat=chat)
        runs = [
            BuildRun(
                layout=layout,
                info=begin(layout, source, encoders),
                ledger=ledger,
                source=source,
                encoders=encoders,
                distiller=made,
                settings=settings,
                progress=progress,
                engine=engine,
            )
            for source in sources
        ]
        if not any(located_pages(run) for run in runs):
            given = ", ".join(source.name for source in sources) or "none"
            held = ", ".join(read_origins(ledger)) or "unknown"
            raise UsageError(f"{layout.root} has no page from these sources: {given}. Its sources: {held}.")
        checked = 0
        for run in runs:
            findings = _find_changes(run)
            checked += findings.checked
            _check_distiller(run, {before.subject_id for _, before, _ in findings.pages})
            note(run, findings)
        distilled_before = _distil_marks(ledger)
        try:
            for run in runs:
                run_stages(run, STAGES)
        finally:
            ledger.checkpoint()
        changes = all_changes(ledger)
        n_distilled = sum(distilled_before.get(key) != mark for key, mark in _distil_marks(ledger).items())
        ledger.drop_fact(FACT)
        ledger.checkpoint()
        failures = tuple(ledger.failures())
    for run in runs:
        write_manifest(run, seconds=time.monotonic() - started)
    requests, photos = (now - before for now, before in zip(_n_requests(sources), requests_before, strict=True))
    return Update(
        checked=checked,
        changes=changes,
        failures=failures,
        requests=requests,
        photos=photos,
        distilled=n_distilled,
        model_calls=made.n_calls if isinstance(made, ModelDistiller) else 0,
    )


def origins_to_update(store: KnowledgeBase, kinds: Sequence[str] = ()) -> list[Mapping[str, str]]:
    """Return the records of the sources of these kinds (of all if empty) to update from, for `kb.sources.reopen`.

    Raises:
        UsageError: if there is no such source, or only the shipped knowledge, which does not change.
    """
    known = store.origins()
    chosen = [origin for origin in known.values() if not kinds or origin["kind"] in kinds]
    if not store.taxon_ids:
        raise UsageError(
            f"{store.path} has no species, so there is nothing to update.", hint="Add species with kb build."
        )
    if not chosen:
        lacking = f"no source of kind {', '.join(kinds)}" if known else "no record of its sources"
        raise UsageError(f"{store.path} has {lacking}.", hint="Run the kb build that made it once more.")
    if all(origin["kind"] == "starter" for origin in chosen):
        raise UsageError(
            f"{store.path} holds the knowledge that ships with Fieldmark; it has no wiki or folder to update from.",
            hint="Build one from Wikipedia: kb build --taxon Aves --kb birds.kb",
        )
    return chosen


def _find_changes(run: BuildRun) -> Findings:
    taxa = {key: loads(Taxon, record) for key, record in run.ledger.subjects("taxon").items()}
    names = run.ledger.subject_names("term")
    # A web page that was left out is tried again by a build; it has no text to update.
    refused = {key for key, step in run.ledger.steps("fetch").items() if is_page(key) and step.status == "left-out"}
    held: list[tuple[Subject, PageRef]] = [
        (taxa[owner] if owner in taxa else names[owner], page)
        for key, page in located_pages(run).items()
        if key not in refused and ((owner := owner_of(key)) in taxa or owner in names)
    ]
    tracker = run.track("resolve", len(held))
    run.source.reuse_pages({key: page.properties for key, page in fetched_pages(run).items()})
    pages, failed = [], []
    for (subject, before), (_, now) in zip(held, run.source.newest(held), strict=True):
        tracker.add(failed=int(isinstance(now, Failure)))
        if isinstance(now, Failure):
            failed.append((before, now))
        elif now != before:
            pages.append((subject, before, now))
    unchanged = {page.subject_id for _, page in held} - {before.subject_id for _, before, _ in pages}
    photos = tuple(_stale_photos(run, unchanged))
    return Findings(checked=len(held), pages=tuple(pages), failed=tuple(failed), stale_photos=photos)


def _stale_photos(run: BuildRun, subject_ids: set[str]) -> Iterator[str]:
    outputs = run.ledger.outputs("anchor", AnchorOutput, "done")
    checked = {key: output.versions for key, output in outputs.items() if key in subject_ids}
    files = sorted({file for versions in checked.values() for file in versions})
    now = run.source.photo_versions(files) if files else {}
    for key, versions in checked.items():
        if any(now.get(file) != version for file, version in versions.items()):
            yield key


def _check_distiller(run: BuildRun, changed: set[str]) -> None:
    """Check that the distiller leaves the summaries of unchanged pages as they are.

    A new version of a distiller without a model is accepted, since it costs only seconds.
    """
    if not isinstance(run.distiller, AsyncDistiller) and run.ledger.fact(DISTILLER) == kind_of(run.distiller.name):
        return
    taxa, done = run.ledger.subjects("taxon"), _distil_marks(run.ledger)
    marks = {
        key: distil_mark(
            page, parser=run.source.parser, distiller=name_for(run.distiller, loads(Taxon, taxa[owner_of(key)]))
        )
        for key, page in fetched_pages(run).items()
        if owner_of(key) in taxa and key not in changed
    }
    again = [key for key, mark in marks.items() if done.get(key, "") not in ("", mark)]
    if again:
        raise UsageError(
            f"{run.distiller.name} would distil {len(again):,} unchanged pages again: another distiller or model made "
            "their summaries.",
            hint="kb update needs the distiller, model and prompts of the build; kb build accepts new ones.",
        )


def _distil_marks(ledger: Ledger) -> dict[str, str]:
    return {key: step.fingerprint for key, step in ledger.steps("distil").items()}


def _n_requests(sources: Sequence[ArticleSource]) -> tuple[int, int]:
    return sum(source.n_requests for source in sources), sum(source.n_photo_requests for source in sources)
