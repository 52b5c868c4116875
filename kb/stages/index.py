"""Index: finished subjects into Chroma and then, in one transaction, into the ledger's entries that readers see."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from kb.chroma import Collections
from kb.layout import collection_names
from kb.ledger import Entry, Step, fingerprint
from kb.rows import Subject, entry_of, items_of, rows_of, subject_id
from kb.stages.run import BuildRun, grouped

GROUP = 256  # subjects a transaction


def index(run: BuildRun, collections: Collections, work: Sequence[Subject]) -> None:
    """Write what is new, and take out what no longer belongs.

    Chroma goes first: a kill in between leaves rows in Chroma that the ledger does not know yet, and the group is done
    again. Since a group may be cut in half, the fact `indexing` stands until the end; where a build finds it, Chroma is
    compared with the ledger row by row (`kb.verifying`).
    """
    done = run.ledger.steps("index")
    old = {entry.subject_id: entry for entry in (*run.ledger.entries("taxon"), *run.ledger.entries("term"))}
    encoded = {name: run.ledger.steps("encode", name) for name in collection_names(run.info)}
    kinds = {name: kind for name, (kind, _) in collection_names(run.info).items()}
    ready = [
        subject
        for subject in work
        if all(_is_done(encoded[n].get(subject_id(subject))) for n, kind in kinds.items() if items_of(subject, kind))
    ]
    entries = {subject_id(subject): entry_of(subject, run.info) for subject in ready}
    marks = {key: fingerprint(entry.record, entry.rows) for key, entry in entries.items()}
    todo = [s for s in ready if (key := subject_id(s)) not in done or done[key].fingerprint != marks[key]]
    # What failed this time stays as it was; only what the source itself no longer holds is taken out.
    left_out = {key for key, step in run.ledger.steps("fetch").items() if step.status == "left-out"}
    gone = [entry for key, entry in old.items() if key in left_out and key not in entries]
    tracker = run.track("index", len(todo) + len(gone))
    if not todo and not gone:
        run.ledger.drop_fact("indexing")  # Chroma was compared with the ledger before this stage
        return
    run.ledger.set_fact("indexing", "1")
    for group in grouped(gone, GROUP):
        _delete_rows(collections, group)
        with run.ledger.transaction():
            run.ledger.drop_entries(entry.subject_id for entry in group)
            for entry in group:
                for name in kinds:
                    run.ledger.drop_vectors(name, entry.subject_id)
            run.ledger.drop_steps([entry.subject_id for entry in group], ["encode", "index"])
            run.ledger.set_fact("generation", secrets.token_hex(8))
        tracker.add(len(group))
    for subjects in grouped(todo, GROUP):
        fresh = {subject_id(subject): entries[subject_id(subject)] for subject in subjects}
        _delete_rows(collections, [old[key] for key in fresh if key in old])
        for name, kind in kinds.items():
            collections.upsert(name, [row for subject in subjects for row in rows_of(subject, run.ledger, name, kind)])
        with run.ledger.transaction():
            run.ledger.put_entries(fresh.values())
            for subject in subjects:  # vectors of an entry stay until nothing shows it any more
                for name, kind in kinds.items():
                    items = [item for item, _ in items_of(subject, kind)]
                    run.ledger.drop_vectors(name, subject_id(subject), keep=items)
                    if not items:  # they may come back: then their vectors must be made anew
                        run.ledger.drop_steps([subject_id(subject)], ["encode"], space=name)
            run.ledger.record(Step(subject_id=key, stage="index", fingerprint=marks[key]) for key in fresh)
            run.ledger.set_fact("generation", secrets.token_hex(8))
        tracker.add(len(subjects))
    run.ledger.drop_fact("indexing")


def _is_done(step: Step | None) -> bool:
    return step is not None and step.status == "done"


def _delete_rows(collections: Collections, old: Sequence[Entry]) -> None:
    # Also those that come again: Chroma would keep what metadata they had and have no more.
    for name in collections.names:
        collections.delete(name, [row for entry in old for row in entry.rows.get(name, ())])
