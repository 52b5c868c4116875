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

    Half of it would not do: which of two taxa gets a page that both could claim is only known with both at hand.
    A selection that was looked up before is not looked up again.
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
    done = ledger.steps("resolve")
    given = [term for term in terms if isinstance(term, Term)]
    asked = {term_id(term[0]): term for term in terms if not isinstance(term, Term)}
    marks = {term.term_id: fingerprint(dumps(term)) for term in given}
    marks |= {key: fingerprint(run.source.name, *term) for key, term in asked.items()}
    new = {key for key, mark in marks.items() if key not in done or done[key].fingerprint != mark}
    with ledger.transaction():
        fresh = [term for term in given if term.term_id in new]
        ledger.add_subjects((term.term_id, "term", term.name, dumps(term)) for term in fresh)
        ledger.record(Step(subject_id=term.term_id, stage="resolve", fingerprint=marks[term.term_id]) for term in fresh)
    wanted = [term for key, term in asked.items() if key in new]
    for name, place in list(run.source.locate_terms(wanted)) if wanted else []:
        key = term_id(name)
        with ledger.transaction():
            if isinstance(place, LeftOut):
                ledger.set_left_out([(name, f"term: {place.reason}", place.detail)])
                ledger.record(
                    [
                        Step(
                            subject_id=key,
                            stage="resolve",
                            fingerprint=marks[key],
                            status="left-out",
                            error=place.reason,
                        )
                    ]
                )
            else:
                ledger.drop_left_out([name])
                ledger.add_subjects([(key, "term", name, "")])
                ledger.record([Step(subject_id=key, stage="resolve", fingerprint=marks[key], output=dumps(place))])
