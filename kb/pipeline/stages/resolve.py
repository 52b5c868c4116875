"""Resolve: which page stands for which taxon or term, and what is left out for want of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from data.codec import dumps, loads
from data.records import LeftOut, PageRef, Taxon, Term
from kb import reasons
from kb.distill.terms import term_id
from kb.pipeline.stages.run import BuildRun
from kb.store.additions import additions, with_own_names
from kb.store.ledger import Step, fingerprint
from kb.store.stage_outputs import removed

Located = tuple[Taxon | str, PageRef | LeftOut]
"""A taxon (or the title it would have come from) and its page, or why there is none."""


def resolve_taxa(run: BuildRun, located: Iterable[Located], *, selection: str, limit: int | None) -> None:
    """Note the page of every taxon, in one transaction: a selection is looked up whole or not at all.

    Half of it would not do: which of two taxa gets a page that both could claim is only known with both at hand. A
    build that goes on after a crash does not look up again what it had; a new one does, and so learns of new revisions.
    A species whose page has become another one's, or a disambiguation, is taken out; one whose page is not found any
    more keeps its page for the fetch to ask once more, since a look-up may miss what a search had found. What the user
    removed stays out.
    """
    key = f"resolved:{fingerprint(run.source.name, selection, limit)}"
    if run.ledger.fact(key) is not None:
        return
    tracker = run.track("resolve", 0)
    before = located_pages(run)
    unwanted, added = removed(run.ledger), additions(run.ledger)
    found: list[tuple[Taxon, PageRef]] = []
    doubtful: list[tuple[Taxon, PageRef]] = []
    missing: list[LeftOut] = []
    lost: list[tuple[Taxon, LeftOut]] = []
    for subject, place in located:
        if isinstance(subject, Taxon) and subject.scientific_name in unwanted:
            continue
        if isinstance(place, PageRef) and isinstance(subject, Taxon):
            found.append((subject, place))
            if limit is not None and len(found) >= limit:
                break
        elif isinstance(place, LeftOut):
            item = replace(place, name=subject.scientific_name) if isinstance(subject, Taxon) else place
            held = before.get(subject.taxon_id) if isinstance(subject, Taxon) else None
            if isinstance(subject, Taxon) and held is not None and place.reason == reasons.NO_PAGE:
                doubtful.append((subject, replace(held, revision=None)))
            else:
                missing.append(item)
                if isinstance(subject, Taxon) and held is not None:
                    lost.append((subject, item))
        tracker.add()
    ledger = run.ledger
    with ledger.transaction():
        located_now = [*found, *doubtful]
        named = [with_own_names(taxon, added.get(taxon.taxon_id)) for taxon, _ in located_now]
        ledger.add_subjects((taxon.taxon_id, "taxon", taxon.scientific_name, dumps(taxon)) for taxon in named)
        ledger.record(
            Step(
                subject_id=taxon.taxon_id,
                stage="resolve",
                fingerprint=page_mark(run, page),
                output=dumps(page),
            )
            for taxon, page in located_now
        )
        ledger.record(
            Step(subject_id=taxon.taxon_id, stage=stage, fingerprint="", status="left-out", error=item.reason)
            for taxon, item in lost
            for stage in ("resolve", "fetch")
        )
        ledger.set_left_out((item.name, item.reason, item.detail) for item in missing)
        # By the page's name too: an earlier look-up may have said that it is no species'.
        ledger.drop_left_out(name for taxon, page in found for name in (taxon.scientific_name, page.title))
        ledger.set_fact(key, "done")


def resolve_terms(run: BuildRun, terms: Sequence[Term | tuple[str, str | None]]) -> None:
    """Note the page of every term; a `Term` that is given whole needs none and is taken as it is.

    What the user removed stays out.
    """
    ledger = run.ledger
    unwanted = removed(ledger)
    terms = [term for term in terms if (term.name if isinstance(term, Term) else term[0]) not in unwanted]
    given = [term for term in terms if isinstance(term, Term)]
    asked = {term_id(term[0]): term for term in terms if not isinstance(term, Term)}
    key = f"resolved:{fingerprint(run.source.name, sorted(asked.items()), [dumps(term) for term in given])}"
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
                lost = term_left_out(name, place)
                ledger.set_left_out([(lost.name, lost.reason, lost.detail)])
                continue
            mark = page_mark(run, place)
            ledger.drop_left_out([name])
            ledger.add_subjects([(term_id(name), "term", name, "")])
            ledger.record([Step(subject_id=term_id(name), stage="resolve", fingerprint=mark, output=dumps(place))])
        ledger.set_fact(key, "done")


def term_left_out(name: str, place: LeftOut) -> LeftOut:
    """Return why a term was left out, under its own name and counted apart from species."""
    return replace(place, name=name, reason=f"term: {place.reason}")


def page_mark(run: BuildRun, page: PageRef) -> str:
    """Return the fingerprint of a page as this run's source has it."""
    return fingerprint(run.source.name, page.title, page.revision)


def located_pages(run: BuildRun) -> dict[str, PageRef]:
    """Return subject_id -> page of all subjects that this run's source has a page for.

    What another source gave to the knowledge base is not asked of this one: it would not have it, or something else.
    """
    pages = {
        subject_id: (step.fingerprint, loads(PageRef, step.output))
        for subject_id, step in run.ledger.steps("resolve").items()
        if step.output is not None
    }
    return {subject_id: page for subject_id, (mark, page) in pages.items() if mark == page_mark(run, page)}
