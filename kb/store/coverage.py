"""Coverage of a checklist or list by family: species with an article, a summary, reference photos."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from data.codec import loads
from data.records import SpeciesEntry, Taxon
from kb import reasons
from kb.store.ledger import Ledger

if TYPE_CHECKING:
    from kb.store.knowledge_base import KnowledgeBase

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


def family_coverage(store: KnowledgeBase) -> list[FamilyCoverage]:
    """Return the coverage of each family, by name; articles on a genus or family count for none of its species."""
    ledger = store.ledger
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
    n_articles = Counter(family for family, entry in zip(of_held, held, strict=True) if entry.source is not None)
    n_summaries = Counter(family for family, entry in zip(of_held, held, strict=True) if entry.summary is not None)
    n_photos = Counter(family for family, entry in zip(of_held, held, strict=True) if entry.anchors)
    return [
        FamilyCoverage(
            family=family,
            species=n_listed[family],
            articles=n_articles[family],
            summaries=n_summaries[family],
            reference_photos=n_photos[family],
        )
        for family in sorted(n_listed)
    ]


def _noted(ledger: Ledger) -> Mapping[str, list[str]]:
    noted: dict[str, list[str]] = json.loads(ledger.fact(FACT) or "{}")
    return noted
