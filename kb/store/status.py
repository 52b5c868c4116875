"""Contents of a knowledge base in numbers: in all, and by family as the coverage of a checklist or list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from data.codec import loads
from data.records import SpeciesEntry, Status, Taxon
from kb import reasons
from kb.store.calibrations import calibration_notes
from kb.store.layout import KnowledgeBaseInfo
from kb.store.ledger import Ledger
from kb.store.stage_outputs import AnchorOutput


def status_of(info: KnowledgeBaseInfo, ledger: Ledger, taxon_ids: Sequence[str]) -> Status:
    """Return the contents in numbers, the failures, and the names left out by reason."""
    n: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    for row in ledger.entries("taxon"):
        entry = loads(SpeciesEntry, row.record)
        n.update(articles=entry.source is not None, summaries=entry.summary is not None)
        n.update(chunks=len(entry.chunks), anchors=len(entry.anchors))
        marks.update(entry.marks)
    if unfinished := ledger.unfinished():  # entries are written at the end of a build
        n["articles"] = max(n["articles"], ledger.n_done("fetch", list(ledger.subject_names("taxon"))))
    left_out = Counter(reason for _, reason, _ in ledger.left_out())
    return Status(
        species=len(taxon_ids),
        articles=n["articles"],
        summaries=n["summaries"],
        chunks=n["chunks"],
        anchors=n["anchors"],
        terms=sum(1 for _ in ledger.items("term")),
        profile=info.profile,
        spaces=info.spaces,
        failures=tuple(ledger.failures()),
        left_out=dict(sorted(left_out.items())),
        marks=dict(sorted(marks.items())),
        skipped_photos=dict(sorted(Counter(reason for _, reason, _ in skipped_photos(ledger)).items())),
        calibrations=calibration_notes(ledger, taxon_ids),
        unfinished=unfinished,
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


FACT: Final = "families"
"""Fact with the names of species without a page, by family."""
ASKED: Final = "species by family"
"""Fact with the number of species that the largest selection of a build had, by family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCoverage:
    """Species of one family that were looked for, and those with an article, a summary and reference photos."""

    family: str
    """Empty for species of no known family."""
    species: int
    articles: int
    summaries: int
    reference_photos: int


def note_families(ledger: Ledger, without_page: Iterable[Taxon]) -> None:
    """Record the families of species that have no page; call it in a transaction."""
    families = {name: family for family, names in _noted(ledger).items() for name in names}
    families |= {taxon.scientific_name: taxon.lineage.get("family", "") for taxon in without_page}
    by_family: dict[str, list[str]] = {}
    for name, family in families.items():
        by_family.setdefault(family, []).append(name)
    if by_family:
        ledger.set_fact(FACT, json.dumps(by_family, ensure_ascii=False))


def note_asked(ledger: Ledger, asked: Mapping[str, int]) -> None:
    """Record how many species of each family a build looked for; call it in a transaction."""
    known: dict[str, int] = json.loads(ledger.fact(ASKED) or "{}")
    most = {family: max(n, known.get(family, 0)) for family, n in asked.items() if n}
    if most:
        ledger.set_fact(ASKED, json.dumps({**known, **most}, ensure_ascii=False))


def family_coverage(ledger: Ledger) -> list[FamilyCoverage]:
    """Return the coverage of each family, by name; articles on a genus or family count for none of its species."""
    entries = [loads(SpeciesEntry, entry.record) for entry in ledger.entries("taxon")]
    held = [entry for entry in entries if entry.taxon.rank not in ("genus", "family")]
    names = {entry.taxon.scientific_name for entry in held}
    families = {name: family for family, names in _noted(ledger).items() for name in names}
    for record in ledger.subjects("taxon").values():
        taxon = loads(Taxon, record)
        if taxon.rank not in ("genus", "family"):
            families[taxon.scientific_name] = taxon.lineage.get("family", "")
    missing = {
        name
        for name, reason, _ in ledger.left_out()
        if name not in names and reason != reasons.REMOVED
        and (name in families or reason in (reasons.NO_PAGE, reasons.IN_GROUP_ARTICLE))
    }  # fmt: skip
    of_held = [entry.taxon.lineage.get("family", "") for entry in held]
    n_listed = Counter([*of_held, *(families.get(name, "") for name in missing)])
    asked: dict[str, int] = json.loads(ledger.fact(ASKED) or "{}")  # many species of a group have no folder
    n_listed |= Counter({family: n for family, n in asked.items() if family})
    n: dict[str, Counter[str]] = {kind: Counter() for kind in ("articles", "summaries", "reference_photos")}
    for family, entry in zip(of_held, held, strict=True):
        n["articles"][family] += entry.source is not None
        n["summaries"][family] += entry.summary is not None
        n["reference_photos"][family] += bool(entry.anchors)
    return [
        FamilyCoverage(family=family, species=n_listed[family], **{kind: found[family] for kind, found in n.items()})
        for family in sorted(n_listed)
    ]


def _noted(ledger: Ledger) -> Mapping[str, list[str]]:
    noted: dict[str, list[str]] = json.loads(ledger.fact(FACT) or "{}")
    return noted
