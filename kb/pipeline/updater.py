"""Update: ask where the pages of a knowledge base came from what is new, and do again what hangs on that alone.

A page that did not change costs a fiftieth of a request; its text is neither fetched nor distilled nor encoded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from data.codec import loads
from data.contracts import ArticleSource, ChatModel, Encoders
from data.errors import UsageError
from data.files import writer_lock
from data.records import Change, LeftOut, PageRef, Progress, Stage, Taxon, Update
from kb.distill.distillers import AnyDistiller, AsyncDistiller, distiller_for, kind_of
from kb.distill.model import ModelDistiller
from kb.distill.names import DistillerName
from kb.pipeline.builder import ANCHORS_PER_SPECIES, begin, run_stages, status_of, write_manifest
from kb.pipeline.stages.distil import distil_mark
from kb.pipeline.stages.fetch import fetched_pages
from kb.pipeline.stages.resolve import located_pages
from kb.pipeline.stages.run import BuildRun
from kb.pipeline.update_notes import FACT, Findings, Subject, all_changes, note
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import FACT as DISTILLER
from kb.store.stage_outputs import anchors_of, read_origins

STAGES: tuple[Stage, ...] = ("fetch", "distil", "anchor", "encode", "index")


def update(
    path: str | Path,
    sources: Sequence[ArticleSource],
    encoders: Encoders,
    *,
    chat: ChatModel | None = None,
    distiller: AnyDistiller | DistillerName | None = None,
    anchors_per_species: int = ANCHORS_PER_SPECIES,
    progress: Callable[[Progress], None] | None = None,
) -> Update:
    """Update the pages of a knowledge base and return the changes and their cost.

    It ends where a new build for the same species would. Species that the knowledge base does not hold are not looked
    for: that is what a build does. Killed at any moment and called again, it goes on, and reports all of it.

    Args:
        path: the knowledge base.
        sources: where its pages came from, opened again (`KnowledgeBase.origins` says which they are); pages of other
            sources stay as they are.
        encoders: those that it was built with.
        chat: the language model that distils, where the knowledge base was built with one.
        distiller: what makes summaries, or its name; without it the one that it was last built with.
        anchors_per_species: how many photos a species gets at most.
        progress: called at every step of every stage.

    Raises:
        MissingKnowledgeBase: if there is none.
        UsageError: if no page of it came from one of the sources; if the distiller or its model is another one than
            made the summaries, so that pages which did not change would be distilled, and paid for, again.
        MissingRequirement: if it was distilled by a model, and none is given.
        CostStop: when a model's limit of cost is reached; the next update goes on.
        SpaceMismatch: if it was built with other encoders.
        KnowledgeBaseLocked: if another process is writing to it.
        SourceError: if a source fails for good; what was done is kept.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> owls = [taxon for taxon in source.taxa() if taxon.common_name in ("Snowy Owl", "Western Barn Owl")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/owls.kb", owls, source, encoders)
        ...     found = kb.update(f"{folder}/owls.kb", [source], encoders)
        >>> found.checked, found.changes
        (2, ())
    """
    layout = Layout(Path(path))
    layout.require()
    started = time.monotonic()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        asked_before = [_asked(source) for source in sources]
        made = distiller_for(ledger.fact(DISTILLER), distiller, chat=chat)
        runs = [
            BuildRun(
                layout=layout,
                info=begin(layout, source, encoders),
                ledger=ledger,
                source=source,
                encoders=encoders,
                distiller=made,
                anchors_per_species=anchors_per_species,
                report=progress or (lambda _: None),
            )
            for source in sources
        ]
        if not any(located_pages(run) for run in runs):
            given = ", ".join(source.name for source in sources) or "none"
            held = ", ".join(read_origins(ledger)) or "none on record"
            raise UsageError(f"{layout.root} has no page of the sources given ({given}); its sources: {held}")
        checked = 0
        for run in runs:
            findings = _ask(run)
            checked += findings.checked
            _check_distiller(run, {before.subject_id for _, before, _ in findings.pages})
            note(run, findings)
        distilled_before = _marks(ledger, "distil")
        try:
            for run in runs:
                run_stages(run, STAGES)
        finally:
            ledger.checkpoint()
        changes = all_changes(ledger)
        n_distilled = sum(distilled_before.get(key) != mark for key, mark in _marks(ledger, "distil").items())
        ledger.drop_fact(FACT)
        ledger.checkpoint()
        failures = tuple(ledger.failures())
    for run in runs:
        write_manifest(layout, run, status_of(layout), seconds=time.monotonic() - started)
    asked = [_asked(source) for source in sources]
    return Update(
        checked=checked,
        changes=changes,
        failures=failures,
        requests=sum(now[0] - before[0] for now, before in zip(asked, asked_before, strict=True)),
        photos=sum(now[1] - before[1] for now, before in zip(asked, asked_before, strict=True)),
        distilled=n_distilled,
        model_calls=made.n_calls if isinstance(made, ModelDistiller) else 0,
    )


# --- asking ------------------------------------------------------------------------------------------------------


def origins_to_update(store: KnowledgeBase, kinds: Sequence[str] = ()) -> list[Mapping[str, str]]:
    """Return the records of the sources that an update can ask, for `kb.sources.reopen`.

    Args:
        store: the knowledge base.
        kinds: `wikipedia`, `folder`, `starter`; all if empty.

    Raises:
        UsageError: if there is no such source, or only the shipped knowledge, which does not change.
    """
    known = store.origins()
    chosen = [origin for origin in known.values() if not kinds or origin["kind"] in kinds]
    if not known and not store.taxon_ids:
        raise UsageError(f"{store.path} has no species yet, so there is nothing to update.", hint="Run kb build first.")
    if not chosen:
        lacking = f"no source of kind {', '.join(kinds)}" if known else "no record of its sources"
        raise UsageError(f"{store.path} has {lacking}.", hint="Run the kb build that made it once more.")
    if all(origin["kind"] == "starter" for origin in chosen):
        raise UsageError(
            f"{store.path} holds the knowledge that ships with Fieldmark; it has no wiki or folder to update from.",
            hint="Build one from Wikipedia: kb build --taxon Aves --kb birds.kb",
        )
    return chosen


def _ask(run: BuildRun) -> Findings:
    """Return what changed at the pages that this run's source gave; nothing is written."""
    taxa = {key: loads(Taxon, record) for key, record in run.ledger.subjects("taxon").items()}
    names = run.ledger.subject_names("term")
    located = located_pages(run)
    held: list[tuple[Subject, PageRef]] = [
        (taxa[key] if key in taxa else names[key], page) for key, page in located.items() if key in taxa or key in names
    ]
    tracker = run.track("resolve", len(held))
    changes: dict[str, Change] = {}
    pages: list[tuple[Subject, PageRef, PageRef | LeftOut]] = []
    for (subject, before), (_, now) in zip(held, run.source.newest(held), strict=True):
        tracker.add()
        if now != before:
            pages.append((subject, before, now))
            changes[before.subject_id] = _change(subject, before, now)
    new_texts = {before.subject_id for _, before, _ in pages}
    return Findings(
        checked=len(held),
        changes=changes,
        pages=tuple(pages),
        stale_photos=tuple(_stale_photos(run, {page.subject_id for _, page in held} - new_texts)),
    )


def _change(subject: Subject, before: PageRef, now: PageRef | LeftOut) -> Change:
    name = subject.scientific_name if isinstance(subject, Taxon) else subject
    if isinstance(now, LeftOut):
        return Change(name=name, kind="taken out", detail=now.reason)
    if now.title != before.title:
        return Change(name=name, kind="moved", detail=f"{before.title} -> {now.title}")
    return Change(name=name, kind="new revision", detail=f"{before.revision} -> {now.revision}")


def _stale_photos(run: BuildRun, subject_ids: set[str]) -> Iterator[str]:
    """Yield those of the subjects of which a photo that was looked at is another now, or owed to somebody else."""
    looked_at = {
        key: anchors_of(step).versions
        for key, step in run.ledger.steps("anchor").items()
        if key in subject_ids and step.status == "done"
    }
    files = sorted({file for versions in looked_at.values() for file in versions})
    now = run.source.photo_versions(files) if files else {}
    for key, versions in looked_at.items():
        if any(now.get(file) != version for file, version in versions.items()):
            yield key


def _check_distiller(run: BuildRun, changed: set[str]) -> None:
    """Do nothing unless pages that did not change would lose what another distiller, or another model, made of them.

    A new version of a distiller that asks no model is welcome: it costs nothing but seconds.

    Raises:
        UsageError: if they would.
    """
    if not isinstance(run.distiller, AsyncDistiller) and run.ledger.fact(DISTILLER) == kind_of(run.distiller.name):
        return
    taxa, done = run.ledger.subjects("taxon"), run.ledger.steps("distil")
    marks = {
        key: distil_mark(page, parser=run.source.parser, distiller=run.distiller.name)
        for key, page in fetched_pages(run).items()
        if key in taxa and key not in changed
    }
    again = [key for key, mark in marks.items() if key in done and done[key].fingerprint not in ("", mark)]
    if again:
        raise UsageError(
            f"{run.distiller.name} would distil {len(again):,} pages again that did not change, since something else "
            "made their summaries",
            hint="kb update goes on with the distiller, model and prompts of the build; kb build takes new ones",
        )


def _marks(ledger: Ledger, stage: str) -> dict[str, str]:
    return {key: step.fingerprint for key, step in ledger.steps(stage).items()}


def _asked(source: ArticleSource) -> tuple[int, int]:
    """Return the API requests and the photos that a source has asked for so far."""
    return source.n_requests, source.n_photo_requests
