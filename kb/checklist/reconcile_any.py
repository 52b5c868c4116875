"""Matching of names with the species of a checklist of any group, by look-ups alone.

Fewer rules than for birds (`reconcile`), since the names of all species are not held in memory: names of the checklist
in any spelling, subspecies, and binomials inside the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from data.contracts import Checklist
from data.records import Taxon
from kb.checklist.reconcile import (
    LONGEST_NAME,
    N_SUGGESTED,
    MatchedName,
    MatchKind,
    Reconciled,
    UnmatchedName,
    binomials_in,
    names_several,
    plain_label,
)
from kb.checklist.scientific_names import name_key, without_authorship
from kb.checklist.selection import choices


def reconcile_any(rows: Iterable[Sequence[str]], checklist: Checklist) -> Reconciled:
    """Return the species of each row of names; the first name with a match decides."""
    matched, unmatched = [], []
    for row in rows:
        names = [name for name in row if name.strip()] or [""]
        results = [_match(name, checklist) for name in names]
        found = next((result for result in results if isinstance(result, MatchedName)), None)
        if found is not None:
            matched.append(_named(found, names[0]))
        elif isinstance(results[0], UnmatchedName):
            unmatched.append(results[0])
    return Reconciled(matched=tuple(matched), unmatched=tuple(unmatched))


def _match(name: str, checklist: Checklist) -> MatchedName | UnmatchedName:
    if len(name) > LONGEST_NAME:
        return UnmatchedName(name=name, reason="unknown")
    label = name.strip()
    taxon = checklist.find(label)
    if taxon is None and not checklist.homonyms(label):  # a class label, or "Admiral, Red"
        label = plain_label(name)
        taxon = checklist.find(label)
    if taxon is None and names_several(name, label):
        return UnmatchedName(name=name, reason="several species")
    if taxon is not None and taxon.rank == "species":
        return _matched(name, label, taxon)
    if taxon is not None and (species := checklist.find(taxon.lineage.get("species", ""))) is not None:
        return MatchedName(name=name, taxon=species, kind="subspecies", matched_name=taxon.scientific_name)
    if taxon is None and (several := checklist.homonyms(label)):
        suggestions = tuple(choices(several)[:N_SUGGESTED])
        return UnmatchedName(name=name, reason="several species", suggestions=suggestions)
    for binomial in binomials_in(label) if taxon is None else ():
        found = checklist.find(binomial)
        if found is not None and found.rank == "species":
            match = _matched(name, binomial, found)
            return MatchedName(
                name=name, taxon=found, kind=match.kind, variant="inside", matched_name=match.matched_name
            )
    if taxon is not None:
        return UnmatchedName(name=name, reason="not a species")
    return UnmatchedName(name=name, reason="unknown", suggestions=tuple(checklist.suggest(label, N_SUGGESTED)))


def _matched(name: str, label: str, taxon: Taxon) -> MatchedName:
    bare = without_authorship(label)
    kinds: list[tuple[MatchKind, Sequence[str]]] = [
        ("scientific name", (taxon.scientific_name,)),
        ("synonym", taxon.synonyms),
        ("common name", taxon.common_names),
    ]
    keys = {name_key(label), name_key(bare)}
    fits = ((kind, text) for kind, texts in kinds for text in texts if name_key(text) in keys)
    kind, text = next(fits, ("common name", label))
    is_same = text.casefold() in (label.casefold(), bare.casefold())
    return MatchedName(name=name, taxon=taxon, kind=kind, variant=None if is_same else "spelling", matched_name=text)


def _named(match: MatchedName, name: str) -> MatchedName:
    return (
        match
        if match.name == name
        else MatchedName(
            name=name, taxon=match.taxon, kind=match.kind, variant=match.variant, matched_name=match.matched_name
        )
    )
