"""Index: encoded subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from data.batches import grouped
from kb.pipeline.stages.run import BuildRun
from kb.sources.page_keys import is_page, owner_of
from kb.store.ledger import Entry
from kb.store.project import GROUP, project
from kb.store.rows import Subject, entry_of, items_of, subject_id


def index(run: BuildRun, subjects: Sequence[Subject]) -> None:
    """Publish new entries and withdraw old ones in one transaction, then project them to Chroma."""
    fetched = {step.subject_id: step.status for step in run.ledger.each_step("fetch")}
    left_out = {key for key, status in fetched.items() if status == "left-out"}
    # Failed subjects stay as they were; only articles that are gone from the source are withdrawn.
    gone = {owner_of(key) for key in left_out if not is_page(key) or owner_of(key) not in fetched}
    n_changed = publish(run, subjects, gone=gone)
    project(run.layout, run.info, run.ledger, report=run.track("index", n_changed).add)


def publish(run: BuildRun, subjects: Sequence[Subject], *, gone: Collection[str]) -> int:
    """Publish new entries in one transaction, withdraw those of `gone` without contents, and return the changes."""
    ledger = run.ledger
    encoded = {
        name: {step.subject_id for step in ledger.each_step("encode", name) if step.status == "done"}
        for name in run.collections
    }
    new = {
        subject_id(subject): subject
        for subject in subjects
        if all(
            subject_id(subject) in encoded[name]
            for name, (kind, _) in run.collections.items()
            if items_of(subject, kind)
        )
    }
    old, same = set(), set()
    for held in ledger.entries():
        old.add(held.subject_id)
        subject = new.get(held.subject_id)
        if subject is not None and entry_of(subject) == held:
            same.add(held.subject_id)
    changed = [subject for key, subject in new.items() if key not in same]
    withdrawn = sorted((old & set(gone)) - new.keys())
    with ledger.transaction():
        if withdrawn:
            ledger.publish([], gone=withdrawn)
        ledger.drop_steps(withdrawn, ["encode"])
        for name in run.collections:
            for key in withdrawn:
                ledger.vectors.keep(name, key, [])
        for group in grouped(changed, GROUP):  # entries of a large build would be a second copy of all subjects
            entries = [entry_of(subject) for subject in group]
            ledger.publish(entries)
            _keep_vectors(run, [entry for entry in entries if entry.subject_id in old])
    return len(changed) + len(withdrawn)


def _keep_vectors(run: BuildRun, entries: Sequence[Entry]) -> None:
    """Delete the vectors of items that these entries no longer have."""
    for name, (kind, _) in run.collections.items():
        for entry in entries:
            items = entry.items.get(kind, [])
            run.ledger.vectors.keep(name, entry.subject_id, items)
            if not items:  # if they come back, they are encoded again
                run.ledger.drop_steps([entry.subject_id], ["encode"], space=name)
