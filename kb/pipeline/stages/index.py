"""Index: finished subjects into Chroma and then, in one transaction, into the ledger's entries that readers see."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from kb.pipeline.stages.run import BuildRun, grouped
from kb.store.chroma import Collections
from kb.store.layout import CollectionKind, collection_names
from kb.store.ledger import Entry, Step, fingerprint
from kb.store.rows import Subject, entry_of, items_of, rows_of, subject_id

GROUP = 256  # subjects a transaction


def index(run: BuildRun, collections: Collections, work: Sequence[Subject]) -> None:
    """Write what is new, and take out what no longer belongs."""
    encoded = {name: run.ledger.steps("encode", name) for name in run.collections}
    ready = [
        subject
        for subject in work
        if all(
            _is_done(encoded[name].get(subject_id(subject)))
            for name, (kind, _) in run.collections.items()
            if items_of(subject, kind)
        )
    ]
    # What failed this time stays as it was; only what the source itself no longer holds is taken out.
    left_out = {key for key, step in run.ledger.steps("fetch").items() if step.status == "left-out"}
    kept = {subject_id(subject) for subject in ready}
    _write(run, collections, ready, [entry for entry in _entries(run) if entry.subject_id in left_out - kept])


def _entries(run: BuildRun) -> list[Entry]:
    return [*run.ledger.entries("taxon"), *run.ledger.entries("term")]


def _write(run: BuildRun, collections: Collections, subjects: Sequence[Subject], gone: Sequence[Entry]) -> None:
    """Write entries with their rows.

    Chroma goes first: a kill in between leaves rows in Chroma that the ledger does not know yet, and the group is done
    again. Since a group may be cut in half, the fact `indexing` stands until the end; where a build finds it, Chroma is
    compared with the ledger row by row (`kb.store.verify`).
    """
    done = run.ledger.steps("index")
    old = {entry.subject_id: entry for entry in _entries(run)}
    kinds = {name: kind for name, (kind, _) in collection_names(run.info).items()}
    entries = {subject_id(subject): entry_of(subject, run.info) for subject in subjects}
    marks = {key: fingerprint(entry.record, entry.rows) for key, entry in entries.items()}
    todo = [s for s in subjects if (key := subject_id(s)) not in done or done[key].fingerprint != marks[key]]
    tracker = run.track("index", len(todo) + len(gone))
    if not todo and not gone:
        run.ledger.drop_fact("indexing")  # Chroma was compared with the ledger before this stage
        return
    run.ledger.set_fact("indexing", "1")
    for group in grouped(gone, GROUP):
        for name in kinds:
            collections.delete(name, [row for entry in group for row in entry.rows.get(name, ())])
        with run.ledger.transaction():
            run.ledger.drop_entries(entry.subject_id for entry in group)
            for entry in group:
                for name in kinds:
                    run.ledger.drop_vectors(name, entry.subject_id)
            run.ledger.drop_steps([entry.subject_id for entry in group], ["encode", "index"])
            run.ledger.set_fact("generation", secrets.token_hex(8))
        tracker.add(len(group))
    for batch in grouped(todo, GROUP):
        fresh = {subject_id(subject): entries[subject_id(subject)] for subject in batch}
        # What a collection holds already of a subject that did not change is not written again.
        same = {key for key, entry in fresh.items() if key in done and key in old and old[key].record == entry.record}
        for name, kind in kinds.items():
            changed = {
                key
                for key, entry in fresh.items()
                if key not in same or old[key].rows.get(name) != entry.rows.get(name)
            }
            # Also those that come again: Chroma would keep what metadata they had and have no more.
            collections.delete(name, [row for key in changed if key in old for row in old[key].rows.get(name, ())])
            written = [s for s in batch if (key := subject_id(s)) in changed and name in fresh[key].rows]
            collections.upsert(name, [row for s in written for row in rows_of(s, run.ledger, name, kind)])
        with run.ledger.transaction():
            run.ledger.put_entries(fresh.values())
            for subject in batch:
                for name, kind in kinds.items():
                    _forget_old_vectors(run, name, kind, subject)
            run.ledger.record(Step(subject_id=key, stage="index", fingerprint=marks[key]) for key in fresh)
            run.ledger.set_fact("generation", secrets.token_hex(8))
        tracker.add(len(batch))
    run.ledger.drop_fact("indexing")


def _forget_old_vectors(run: BuildRun, name: str, kind: CollectionKind, subject: Subject) -> None:
    """Drop the vectors of what a collection no longer holds of a subject; until now an entry may have shown them."""
    key = subject_id(subject)
    items = [item for item, _ in items_of(subject, kind)]
    run.ledger.drop_vectors(name, key, keep=items)
    if not items:  # they may come back: then their vectors must be made anew
        run.ledger.drop_steps([key], ["encode"], space=name)


def _is_done(step: Step | None) -> bool:
    return step is not None and step.status == "done"
