"""Index: encoded subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Sequence

from kb.pipeline.stages.run import BuildRun
from kb.store.project import project
from kb.store.rows import Subject, entry_of, items_of, subject_id


def index(run: BuildRun, subjects: Sequence[Subject]) -> None:
    """Publish new entries and withdraw old ones in one transaction, then project them to Chroma."""
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
    old = {entry.subject_id: entry for entry in ledger.entries()}
    changed = [entry for key, entry in new.items() if old.get(key) != entry]
    # Failed subjects stay as they were; only articles that are gone from the source are withdrawn.
    left_out = {key for key, step in ledger.steps("fetch").items() if step.status == "left-out"}
    gone = sorted((old.keys() & left_out) - new.keys())
    tracker = run.track("index", len(changed) + len(gone))
    with ledger.transaction():
        if changed or gone:
            ledger.publish(changed, gone=gone)
        ledger.drop_steps(gone, ["encode"])
        for name, (kind, _) in run.collections.items():
            for entry in changed:
                items = entry.items.get(kind, [])
                if entry.subject_id in old:
                    ledger.keep_vectors(name, entry.subject_id, items)
                    if not items:  # if they come back, they are encoded again
                        ledger.drop_steps([entry.subject_id], ["encode"], space=name)
            for key in gone:
                ledger.keep_vectors(name, key, [])
    project(run.layout, run.info, ledger, report=tracker.add)
