"""Audit: whether the ledger agrees with itself, what of it can be restored, and what the next build must do again.

Every finished subject has a row in `entries` whose hash its step `index` knows, a step for each stage, and vectors
whose hash its step `encode` knows. So damage shows, and what Chroma holds unharmed can be told from what it does not.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from data.arrays import FloatArray
from data.codec import dumps, loads
from data.errors import StoreError
from data.records import PageRef, SpeciesEntry, SubjectKind, Taxon
from kb.store.additions import STAGE as ADD
from kb.store.additions import Addition
from kb.store.chroma import Collections
from kb.store.layout import CollectionKind
from kb.store.ledger import Entry, Ledger, fingerprint
from kb.store.rows import Subject, encode_mark, items_of, row_id, subject_id, subject_of, vectors_mark
from kb.store.stage_outputs import AnchorOutput, DistilOutput, FetchOutput

AGAIN = "run kb build again"
KINDS: tuple[SubjectKind, ...] = ("taxon", "term")
_OUTPUTS = {"resolve": PageRef, "fetch": FetchOutput, "distil": DistilOutput, "anchor": AnchorOutput, ADD: Addition}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found: `problems` that only a build can mend, and what was `mended`.

    `spared` are `(collection, subject id)` whose vectors the ledger has lost: Chroma's may be the right ones and stay.
    """

    problems: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    spared: set[tuple[str, str]] = field(default_factory=set)


def audit_rows(ledger: Ledger, audit: Audit) -> None:
    """Check steps, subjects and entries against each other; what is damaged is dropped, for a build to make it anew."""
    with ledger.transaction():
        audit.problems.extend(_unreadable_steps(ledger))
        audit.problems.extend(_damaged_entries(ledger))
        _restore_subjects(ledger, audit)
        audit.problems.extend(_missing_steps(ledger))
        if ledger.fact("generation") is None and (ledger.entry_columns("taxon") or ledger.entry_columns("term")):
            ledger.set_fact("generation", secrets.token_hex(8))
            audit.mended.append("ledger: the name of its state was missing, it has a new one")


def _unreadable_steps(ledger: Ledger) -> Iterator[str]:
    for stage, kind in _OUTPUTS.items():
        for key, step in ledger.steps(stage).items():
            try:
                if step.output is not None:
                    loads(kind, step.output)
            except StoreError:
                ledger.drop_steps([key], [stage])
                what = "kb add it again" if stage == ADD else AGAIN
                yield f"{key}: what the ledger kept of the stage {stage} cannot be read; {what}"


def _damaged_entries(ledger: Ledger) -> Iterator[str]:
    indexed = ledger.steps("index")
    seen: set[str] = set()
    for kind in KINDS:
        for key, _, _ in ledger.entry_columns(kind):
            seen.add(key)
            if key not in indexed and _is_sound(ledger, kind, key, None):
                yield f"{key}: the ledger lost the row of the stage index; {AGAIN}"
            elif key not in indexed or not _is_sound(ledger, kind, key, indexed[key].fingerprint):
                ledger.drop_entries([key])
                ledger.drop_steps([key], ["index"])
                yield f"{key}: its entry in the ledger was damaged and taken out; {AGAIN}"
    for key in indexed:
        if key not in seen:
            ledger.drop_steps([key], ["index"])
            yield f"{key}: its entry in the ledger is missing; {AGAIN}"


def _is_sound(ledger: Ledger, kind: SubjectKind, key: str, mark: str | None) -> bool:
    """Return whether an entry can be read, agrees with itself and, where its `mark` is known, is as it was written."""
    try:
        [entry] = ledger.entries(kind, [key])
        subject = subject_of(entry)
    except (StoreError, ValueError):
        return False
    if isinstance(subject, SpeciesEntry):
        columns = subject.taxon.scientific_name, subject.summary.text if subject.summary else ""
    else:
        columns = subject.name, subject.definition
    return (entry.name, entry.document) == columns and mark in (None, fingerprint(entry.record, entry.rows))


def _restore_subjects(ledger: Ledger, audit: Audit) -> None:
    held = ledger.subjects("taxon")
    for entry in ledger.entries("taxon"):
        try:
            loads(Taxon, held.get(entry.subject_id, ""))
        except StoreError:
            taxon = loads(SpeciesEntry, entry.record).taxon
            ledger.add_subjects([(taxon.taxon_id, "taxon", taxon.scientific_name, dumps(taxon))])
            audit.mended.append(f"{entry.subject_id}: its names were missing or damaged, taken from its entry")


def _missing_steps(ledger: Ledger) -> Iterator[str]:
    """Say which stages of a finished subject the ledger has no row of; a build does them again, with the same end."""
    steps = {stage: ledger.steps(stage) for stage in ("resolve", "fetch", "distil", "anchor", ADD)}
    for kind in KINDS:
        for entry in ledger.entries(kind):
            key = entry.subject_id
            subject = subject_of(entry)
            resolved, fetched = steps["resolve"].get(key), steps["fetch"].get(key)
            # A term that was given whole has no page, and what a user added needs none.
            has_page = fetched is not None or (resolved is not None and resolved.output is not None)
            if not has_page and (key in steps[ADD] or (resolved is not None and resolved.output is None)):
                continue
            if not has_page and subject.source is None:
                continue
            if fetched is not None and fetched.status == "left-out":
                continue
            needed = ("resolve", "fetch", "distil", *(("anchor",) if kind == "taxon" else ()))
            lost = [stage for stage in needed if key not in steps[stage]]
            if lost:
                yield f"{key}: the ledger lost the row of the stage {', '.join(lost)}; {AGAIN}"


def audit_vectors(ledger: Ledger, collections: Collections, audit: Audit) -> None:
    """Check the ledger's vectors against the hash that was kept when they were made; take lost ones from Chroma.

    Chroma's are taken where they have that hash. Else the next build encodes again, and Chroma's rows stay till then.
    """
    entries = [*ledger.entries("taxon"), *ledger.entries("term")]
    for name, (kind, _) in collections.names.items():
        encoded = ledger.steps("encode", name)
        restored: list[str] = []
        lost: list[Entry] = []
        for entry in entries:
            if name not in entry.rows:
                continue
            step = encoded.get(entry.subject_id)
            subject = subject_of(entry)
            items = [item for item, _ in items_of(subject, kind)]
            held = _vectors(ledger, name, entry.subject_id)
            is_whole = all(item in held for item in items)
            if step is not None and is_whole and step.output in (None, vectors_mark(held, items)):
                continue
            # Stopped before `index`, the hash is that of what the entry will be; what it is now has its vectors still.
            if step is not None and is_whole and step.fingerprint != encode_mark(subject, name, kind):
                continue
            mark = step.output if step is not None else None
            if mark is not None and _restore(ledger, collections, name, kind, subject, mark):
                restored.append(entry.subject_id)
            else:
                lost.append(entry)
        if restored:
            audit.mended.append(f"ledger: vectors of {len(restored)} entries were lost or damaged, taken from {name}")
        for entry in lost:
            audit.spared.add((name, entry.subject_id))
            _forget(ledger, name, kind, entry)
            audit.problems.append(f"{entry.subject_id}: the ledger lost its vectors of {name}; {AGAIN}")


def _vectors(ledger: Ledger, name: str, key: str) -> dict[str, FloatArray]:
    try:
        return ledger.vectors(name, key)
    except (ValueError, sqlite3.Error):  # bytes that are no row of numbers
        return {}


def _restore(
    ledger: Ledger, collections: Collections, name: str, kind: CollectionKind, subject: Subject, mark: str
) -> bool:
    key = subject_id(subject)
    items = [item for item, _ in items_of(subject, kind)]
    item_of = {row_id(subject, kind, item): item for item in items}
    found = {item_of[row.id]: row.vector for page in collections.read(name, list(item_of)) for row in page}
    if len(found) < len(items) or vectors_mark(found, items) != mark:
        return False
    with ledger.transaction():
        ledger.drop_vectors(name, key)
        ledger.put_vectors(name, [(key, item, found[item]) for item in items])
    return True


def _forget(ledger: Ledger, name: str, kind: CollectionKind, entry: Entry) -> None:
    subject = subject_of(entry)
    with ledger.transaction():
        ledger.drop_steps([entry.subject_id], ["encode"], space=name)
        ledger.drop_steps([entry.subject_id], ["index"])
        anchors = subject.anchors if isinstance(subject, SpeciesEntry) and kind == "anchors" else ()
        if any(anchor.sha256 is None for anchor in anchors):  # the source gave vectors, no pictures
            ledger.drop_steps([entry.subject_id], ["anchor"])
