"""Findings of an update, stored in the ledger until it ends, so that a resumed update reports them all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from data.codec import to_json
from data.records import Change, Failure, LeftOut, PageRef, Taxon
from kb.pipeline.stages.anchor import asked_again
from kb.pipeline.stages.resolve import left_out_steps, page_mark, resolved_step, term_left_out
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page
from kb.store.ledger import Ledger, Step
from kb.store.stage_outputs import anchors_of

STALE = "stale"  # equals no fingerprint: the step is repeated, and its output stays until then
FACT = "updating"

Subject = Taxon | str
Credits = Mapping[str, list[str | None]]
"""Anchor id -> file, author and licence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Changes at one source."""

    checked: int
    pages: tuple[tuple[Subject, PageRef, PageRef | LeftOut], ...]
    """Subject, earlier page, and new page or the reason that it is gone."""
    failed: tuple[tuple[PageRef, Failure], ...] = ()
    """Pages that could not be checked; they keep their texts."""
    stale_photos: tuple[str, ...] = ()
    """Species with changed photos."""


def note(run: BuildRun, findings: Findings) -> None:
    """Record the findings in one transaction; the stages then redo what depends on them."""
    ledger = run.ledger
    anchors = ledger.steps("anchor")
    with ledger.transaction():
        noted = _noted(ledger)
        for subject, before, now in findings.pages:
            change = _change(subject, before, now)
            if is_page(before.subject_id):
                change = replace(change, detail=f"{before.title}: {'text' if isinstance(now, PageRef) else now.reason}")
            elif change.kind == "new revision" and run.source.origin.get("kind") == "folder":
                change = replace(change, detail="files changed")  # the revision is a hash of them
            noted["changes"][before.subject_id] = to_json(change)
        changed = (before.subject_id for _, before, _ in findings.pages)
        for key in (*changed, *findings.stale_photos, *asked_again(anchors)):
            if key in anchors:
                noted["anchors"].setdefault(key, _credits(anchors[key]))
        ledger.set_fact(FACT, json.dumps(noted))
        for subject, before, now in findings.pages:
            if isinstance(now, PageRef):
                ledger.record([resolved_step(run, now.subject_id, now)])
                continue
            if is_page(before.subject_id):
                item = now
            elif isinstance(subject, str):
                item = term_left_out(subject, now)
            else:
                item = replace(now, name=subject.scientific_name)
            ledger.set_left_out([item])
            ledger.record(left_out_steps(before.subject_id, item.reason))
        for before, failure in findings.failed:
            key, mark, why = before.subject_id, page_mark(run, before), failure.reason
            ledger.record([Step(subject_id=key, stage="fetch", fingerprint=mark, status="failed", error=why)])
        ledger.record(anchors[key]._replace(fingerprint=STALE) for key in findings.stale_photos)


def all_changes(ledger: Ledger) -> tuple[Change, ...]:
    """Return all changes since the update began, by name, with the results for pages and photos."""
    noted = _noted(ledger)
    names = {**ledger.subject_names("taxon"), **ledger.subject_names("term")}
    fetched, anchors = ledger.steps("fetch"), ledger.steps("anchor")
    changes = []
    for key, payload in noted["changes"].items():
        change = Change(**payload)
        if key in fetched and fetched[key].status == "left-out":
            detail = fetched[key].error or ""
            change = replace(change, kind="taken out", detail=change.detail if is_page(key) else detail)
        changes.append(change)
    for key, before in noted["anchors"].items():
        if key in fetched and fetched[key].status == "done" and key in anchors:
            detail = _photo_changes(before, _credits(anchors[key]))
            if detail:
                changes.append(Change(name=names.get(key, key), kind="photos", detail=detail))
    return tuple(sorted(changes, key=lambda change: (change.name, change.kind)))


def _noted(ledger: Ledger) -> dict[str, dict[str, Any]]:
    noted: dict[str, dict[str, Any]] = json.loads(ledger.fact(FACT) or '{"changes": {}, "anchors": {}}')
    return noted


def _change(subject: Subject, before: PageRef, now: PageRef | LeftOut) -> Change:
    name = subject.scientific_name if isinstance(subject, Taxon) else subject
    if isinstance(now, LeftOut):
        return Change(name=name, kind="taken out", detail=now.reason)
    if now.title != before.title:
        return Change(name=name, kind="moved", detail=f"{before.title} -> {now.title}")
    return Change(name=name, kind="new revision", detail=f"{before.revision} -> {now.revision}")


def _credits(step: Step) -> Credits:
    return {anchor.anchor_id: [anchor.file, anchor.author, anchor.licence] for anchor in anchors_of(step).anchors}


def _photo_changes(before: Credits, now: Credits) -> str:
    """Return new and removed photos, and photos with a new author or licence; empty without any."""
    found = {
        "new": [credit[0] for anchor, credit in now.items() if anchor not in before],
        "gone": [credit[0] for anchor, credit in before.items() if anchor not in now],
        "credit": [credit[0] for anchor, credit in now.items() if before.get(anchor, credit) != credit],
    }
    return "; ".join(f"{kind}: {', '.join(str(file) for file in files)}" for kind, files in found.items() if files)
