"""Index: encoded subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kb.pipeline.stages.run import BuildRun
from kb.sources.page_keys import is_page, owner_of
from kb.store.project import project
from kb.store.rows import Subject, entry_of, items_of, subject_id


def index(run: BuildRun, subjects: Sequence[Subject]) -> None:
    """Publish new entries and withdraw old ones in one transaction, then project them to Chroma."""
    fetched = {key: step.status for key, step in run.ledger.steps("fetch").items()}
    left_out = {key for key, status in fetched.items() if status == "left-out"}
    # Failed subjects stay as they were; only articles that are gone from the source are withdrawn.
    gone = {owner_of(key) for key in left_out if not is_page(key) or owner_of(key) not in fetched}
    n_changed = publish(run, subjects, gone=gone)
    project(run.layout, run.info, run.ledger, report=run.track("index", n_changed).add)


def publish(run: BuildRun, subjects: Sequence[Subject], *, gone: Collection[str]) -> int:
    """Publish new entries in one transaction, withdraw those of `gone` without contents, and return the changes."""
    ledger = run.ledger
    encoded = {
        name: {key for key, step in ledger.steps("encode", name).items() if step.status == "done"}
        for name in run.collections
    }
    new = {
        subject_id(subject): entry_of(subject)
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
        if new.get(held.subject_id) == held:
            same.add(held.subject_id)
    changed = [entry for key, entry in new.items() if key not in same]
    withdrawn = sorted((old & set(gone)) - new.keys())
    with ledger.transaction():
        if changed or withdrawn:
            ledger.publish(changed, gone=withdrawn)
        ledger.drop_steps(withdrawn, ["encode"])
        for name, (kind, _) in run.collections.items():
            for entry in changed:
                items = entry.items.get(kind, [])
                if entry.subject_id in old:
                    ledger.keep_vectors(name, entry.subject_id, items)
                    if not items:  # if they come back, they are encoded again
                        ledger.drop_steps([entry.subject_id], ["encode"], space=name)
            for key in withdrawn:
                ledger.keep_vectors(name, key, [])
    return len(changed) + len(withdrawn)
