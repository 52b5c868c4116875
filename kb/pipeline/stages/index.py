"""Index: finished subjects become the entries that readers see, and Chroma is filled with their rows."""

from __future__ import annotations

from collections.abc import Sequence

from kb.pipeline.stages.run import BuildRun
from kb.store.ledger import Step
from kb.store.project import project
from kb.store.rows import Subject, entry_of, items_of, subject_id


def index(run: BuildRun, work: Sequence[Subject]) -> None:
    """Show what is new, and take out what no longer belongs, in one transaction; then project it."""
    ledger = run.ledger
    encoded = {name: ledger.steps("encode", name) for name in run.collections}
    ready = [
        subject
        for subject in work
        if all(
            _is_done(encoded[name].get(subject_id(subject)))
            for name, (kind, _) in run.collections.items()
            if items_of(subject, kind)
        )
    ]
    old = {entry.subject_id: entry for entry in ledger.all_entries()}
    new = {subject_id(subject): entry_of(subject) for subject in ready}
    changed = [entry for key, entry in new.items() if old.get(key) != entry]
    # What failed this time stays as it was; only what the source itself no longer holds is taken out.
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
                    if not items:  # they may come back: then their vectors must be made again
                        ledger.drop_steps([entry.subject_id], ["encode"], space=name)
            for key in gone:
                ledger.keep_vectors(name, key, [])
    project(run.layout, run.info, ledger, report=tracker.add)


def _is_done(step: Step | None) -> bool:
    return step is not None and step.status == "done"
