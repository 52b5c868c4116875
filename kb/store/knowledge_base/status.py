"""Status of a knowledge base: its contents in numbers, failures, skipped photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from data.codec import loads
from data.records import SpeciesEntry, Status
from kb.store.calibrations import calibration_notes
from kb.store.layout import KnowledgeBaseInfo, Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import AnchorOutput


def status_of(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, taxon_ids: Sequence[str]) -> Status:
    """Return the contents in numbers, the failures, and the names left out by reason."""
    n: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    for row in ledger.entries("taxon"):
        entry = loads(SpeciesEntry, row.record)
        n.update(articles=entry.source is not None, summaries=entry.summary is not None)
        n.update(chunks=len(entry.chunks), anchors=len(entry.anchors))
        marks.update(entry.marks)
    left_out = Counter(reason for _, reason, _ in ledger.left_out())
    return Status(
        species=len(taxon_ids),
        articles=n["articles"],
        summaries=n["summaries"],
        chunks=n["chunks"],
        anchors=n["anchors"],
        terms=len(ledger.documents("term")),
        profile=info.profile,
        spaces=info.spaces,
        failures=tuple(ledger.failures()),
        left_out=dict(sorted(left_out.items())),
        marks=dict(sorted(marks.items())),
        skipped_photos=dict(sorted(Counter(reason for _, reason, _ in skipped_photos(ledger)).items())),
        calibrations=calibration_notes(layout, taxon_ids),
        unfinished=ledger.unfinished(),
        checklist=info.checklist,
    )


def skipped_photos(ledger: Ledger) -> list[tuple[str, str, str]]:
    """Return `(species: file, reason, detail)` of every photo that was skipped, by species."""
    names = ledger.subject_names("taxon")
    outputs = ledger.outputs("anchor", AnchorOutput, "done").items()
    return [
        (f"{names.get(key, key)}: {photo.name}", photo.reason, photo.detail)
        for key, output in sorted(outputs)
        for photo in output.skipped
    ]
