"""Findings of an update, kept in the ledger until it ends, so that a resumed update reports them all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from data.codec import dumps, to_json
from data.records import Change, LeftOut, PageRef, Taxon
from kb.pipeline.stages.resolve import page_mark, term_left_out
from kb.pipeline.stages.run import BuildRun
from kb.store.ledger import Ledger, Step
from kb.store.stage_outputs import anchors_of

STALE = "stale"  # no fingerprint is this: the step is done again, and keeps what it had until then
FACT = "updating"

Subject = Taxon | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one source has to say: the changes to note, and the species whose photos may become others."""

    checked: int
    changes: Mapping[str, Change]
    pages: tuple[tuple[Subject, PageRef, PageRef | LeftOut], ...]
    """Subject, the page it had, and what it has now, of those that changed."""
    stale_photos: tuple[str, ...]


def note(run: BuildRun, findings: Findings) -> None:
    """Write what was found, in one transaction: from here on, whoever goes on does what hangs on it."""
    ledger = run.ledger
    anchors = ledger.steps("anchor")
    with ledger.transaction():
        noted = json.loads(ledger.fact(FACT) or '{"changes": {}, "anchors": {}}')
        noted["changes"] |= {key: to_json(change) for key, change in findings.changes.items()}
        for key in (*(before.subject_id for _, before, _ in findings.pages), *findings.stale_photos):
            if key in anchors:
                noted["anchors"].setdefault(key, _credits(anchors[key]))
        ledger.set_fact(FACT, json.dumps(noted))
        for subject, before, now in findings.pages:
            if isinstance(now, LeftOut):
                _take_out(ledger, subject, before.subject_id, now)
                continue
            mark = page_mark(run, now)
            ledger.record([Step(subject_id=now.subject_id, stage="resolve", fingerprint=mark, output=dumps(now))])
        ledger.record(replace(anchors[key], fingerprint=STALE) for key in findings.stale_photos)


def _take_out(ledger: Ledger, subject: Subject, key: str, reason: LeftOut) -> None:
    item = (
        replace(reason, name=subject.scientific_name) if isinstance(subject, Taxon) else term_left_out(subject, reason)
    )
    ledger.set_left_out([(item.name, item.reason, item.detail)])
    ledger.record(
        Step(subject_id=key, stage=stage, fingerprint="", status="left-out", error=item.reason)
        for stage in ("resolve", "fetch")
    )


def _credits(step: Step) -> dict[str, list[str | None]]:
    """Return the photos of a species: anchor id -> file, author and licence."""
    return {anchor.anchor_id: [anchor.file, anchor.author, anchor.licence] for anchor in anchors_of(step).anchors}


def all_changes(ledger: Ledger) -> tuple[Change, ...]:
    """Return what was noted since the update began, by name, with what the fetch and the photos came to."""
    noted = json.loads(ledger.fact(FACT) or '{"changes": {}, "anchors": {}}')
    names = {**ledger.subject_names("taxon"), **ledger.subject_names("term")}
    fetched, anchors = ledger.steps("fetch"), ledger.steps("anchor")
    changes = []
    for key, payload in noted["changes"].items():
        change = Change(**payload)
        if key in fetched and fetched[key].status == "left-out":
            change = replace(change, kind="taken out", detail=fetched[key].error or "")
        changes.append(change)
    for key, before in noted["anchors"].items():
        if key in fetched and fetched[key].status == "done" and key in anchors:
            detail = _photo_changes(before, _credits(anchors[key]))
            if detail:
                changes.append(Change(name=names.get(key, key), kind="photos", detail=detail))
    return tuple(sorted(changes, key=lambda change: (change.name, change.kind)))


def _photo_changes(before: Mapping[str, list[str | None]], now: Mapping[str, list[str | None]]) -> str:
    """Return which photos are new, gone, or owed to others than before; empty if none is."""
    found = {
        "new": [credit[0] for anchor, credit in now.items() if anchor not in before],
        "gone": [credit[0] for anchor, credit in before.items() if anchor not in now],
        "credit": [credit[0] for anchor, credit in now.items() if before.get(anchor, credit) != credit],
    }
    return "; ".join(f"{what}: {', '.join(str(file) for file in files)}" for what, files in found.items() if files)
