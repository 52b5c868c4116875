"""Resolve: which page stands for which taxon or term, and what is left out for want of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from data.codec import dumps
from data.records import LeftOut, PageRef, Taxon, Term
from kb.ledger import Step, fingerprint
from kb.stages.run import BuildRun
from kb.terms import term_id

Located = tuple[Taxon | str, PageRef | LeftOut]
"""A taxon (or the title it would have come from) and its page, or why there is none."""


def resolve_taxa(run: BuildRun, located: Iterable[Located], *, selection: str, limit: int | None) -> None:
    """Note the page of every taxon, in one transaction: a selection is looked up whole or not at all.

    Half of it would not do: which of two taxa gets a page that both could claim is only known with both at hand. A
    build that goes on after a crash does not look up again what it had; a new one does, and so learns of new revisions.
    """
    key = f"resolved:{fingerprint(run.source.name, selection, limit)}"
    if run.ledger.fact(key) is not None:
        return
    tracker = run.track("resolve", 0)
    found: list[tuple[Taxon, PageRef]] = []
    missing: list[LeftOut] = []
    for subject, place in located:
        if isinstance(place, PageRef) and isinstance(subject, Taxon):
            found.append((subject, place))
            if limit is not None and len(found) >= limit:
                break
        elif isinstance(place, LeftOut):
            missing.append(replace(place, name=subject.scientific_name) if isinstance(subject, Taxon) else place)
        tracker.add()
    ledger = run.ledger
    with ledger.transaction():
        ledger.add_subjects((taxon.taxon_id, "taxon", taxon.scientific_name, dumps(taxon)) for taxon, _ in found)
        ledger.record(
            Step(
                subject_id=taxon.taxon_id,
                stage="resolve",
                fingerprint=fingerprint(run.source.name, page.title, page.revision),
                output=dumps(page),
            )
            for taxon, page in found
        )
        ledger.set_left_out((item.name, item.reason, item.detail) for item in missing)
        ledger.drop_left_out(taxon.scientific_name for taxon, _ in found)
        ledger.set_fact(key, "done")


def resolve_terms(run: BuildRun, terms: Sequence[Term | tuple[str, str | None]]) -> None:
    """Note the page of every term; a `Term` that is given whole needs none and is taken as it is."""
    ledger = run.ledger
    given = [term for term in terms if isinstance(term, Term)]
    asked = {term_id(term[0]): term for term in terms if not isinstance(term, Term)}
    key = f"resolved:{fingerprint(run.source.name, sorted(asked), [dumps(term) for term in given])}"
    if not terms or ledger.fact(key) is not None:
        return
    places = list(run.source.locate_terms(list(asked.values()))) if asked else []
    with ledger.transaction():
        ledger.add_subjects((term.term_id, "term", term.name, dumps(term)) for term in given)
        ledger.record(
            Step(subject_id=term.term_id, stage="resolve", fingerprint=fingerprint(dumps(term))) for term in given
        )
        for name, place in places:
            if isinstance(place, LeftOut):
                ledger.set_left_out([(name, f"term: {place.reason}", place.detail)])
                continue
            mark = fingerprint(run.source.name, place.title, place.revision)
            ledger.drop_left_out([name])
            ledger.add_subjects([(term_id(name), "term", name, "")])
            ledger.record([Step(subject_id=term_id(name), stage="resolve", fingerprint=mark, output=dumps(place))])
        ledger.set_fact(key, "done")
