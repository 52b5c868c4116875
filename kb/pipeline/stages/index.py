"""Index: encoded subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from data.batches import grouped
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page, owner_of
from kb.store.additions import held_pages
from kb.store.ledger import Entry
from kb.store.project import GROUP, project
from kb.store.published_texts import TEXTS, note_texts
from kb.store.rows import Subject, entry_of, items_of, subject_id


def index(run: BuildRun, subjects: Iterable[Subject], *, failed: Collection[str] = ()) -> None:
    """Publish new entries and withdraw old ones in one transaction, then project them to Chroma.

    Subjects that `encode` failed to encode stay as they were.
    """
    left_out = [step.subject_id for step in run.ledger.each_step("fetch") if step.status == "left-out"]
    # Failed subjects stay as they were; only articles that are gone from the source are withdrawn.
    gone = {owner_of(key) for key in left_out if not is_page(key) or run.ledger.step(owner_of(key), "fetch") is None}
    n_changed = publish(run, subjects, failed=failed, gone=gone)
    project(run.layout, run.info, run.ledger, report=run.track("index", n_changed).add)


def publish(run: BuildRun, subjects: Iterable[Subject], *, failed: Collection[str], gone: Iterable[str]) -> int:
    """Publish new entries in one transaction, withdraw those of `gone` without contents, and return the changes."""
    ledger, lost, n_changed = run.ledger, set(gone), 0
    pages = held_pages(ledger)
    with ledger.transaction():
        for group in grouped(subjects, GROUP):
            new = _encoded(run, [subject for subject in group if subject_id(subject) not in failed])
            old = ledger.entries_of([entry.subject_id for entry in new])
            lost.difference_update(map(subject_id, group))
            if changed := [entry for entry in new if entry != old.get(entry.subject_id)]:
                ledger.publish(changed)
                _keep_vectors(run, [entry for entry in changed if entry.subject_id in old])
                n_changed += len(changed)
            species = [entry.subject_id for entry in new if entry.kind == "taxon"]
            noted = set(ledger.steps(TEXTS, ids=species)).difference(entry.subject_id for entry in changed)
            note_texts(run.layout, ledger, pages, (key for key in species if key not in noted))
        if withdrawn := sorted(key for key in lost if ledger.entry(key) is not None):
            ledger.publish([], gone=withdrawn)
            ledger.drop_steps(withdrawn, ["encode", TEXTS])
            for name in run.collections:
                for key in withdrawn:
                    ledger.vectors.keep(name, key, [])
    return n_changed + len(withdrawn)


def _encoded(run: BuildRun, subjects: Sequence[Subject]) -> list[Entry]:
    ids = [subject_id(subject) for subject in subjects]
    lacking: set[str] = set()
    for name, (kind, _) in run.collections.items():
        steps = run.ledger.steps("encode", name, ids=ids)
        done = {key for key, step in steps.items() if step.status == "done"}
        lacking.update(
            key for key, subject in zip(ids, subjects, strict=True) if key not in done and items_of(subject, kind)
        )
    return [entry_of(subject) for key, subject in zip(ids, subjects, strict=True) if key not in lacking]


def _keep_vectors(run: BuildRun, entries: Sequence[Entry]) -> None:
    for name, (kind, _) in run.collections.items():
        for entry in entries:
            items = entry.items.get(kind, [])
            run.ledger.vectors.keep(name, entry.subject_id, items)
            if not items:  # if they come back, they are encoded again
                run.ledger.drop_steps([entry.subject_id], ["encode"], space=name)
