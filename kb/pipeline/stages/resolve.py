"""Resolve: the page of every taxon and term, or the reason that it has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from data.codec import dumps, loads
from data.records import LeftOut, PageRef, Taxon, Term
from kb import reasons
from kb.distill.terms import term_id
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page
from kb.store.ledger import Step, fingerprint
from kb.store.stage_outputs import additions, removed, with_own_names
from kb.store.status import note_asked, note_families

Located = tuple[Taxon | str, PageRef | LeftOut]
"""A taxon (or the title of a rejected page), and its page or the reason that it has none."""
_NOT_FOUND = (reasons.NO_PAGE, reasons.NO_FOLDER, reasons.UNASKED, reasons.IN_GROUP_ARTICLE)
_UNREPORTED = (reasons.NO_FOLDER, reasons.UNASKED)


def resolve_taxa(run: BuildRun, located: Iterable[Located], *, selection: str, limit: int | None) -> None:
    """Record the page of every taxon, in one transaction.

    A selection is looked up as a whole, since two taxa may claim the same page. A build that continues after a crash
    does not repeat a finished look-up; a new build does, to learn of new revisions. A species is taken out if its page
    now belongs to another one or is a disambiguation. If its page is not found, the earlier page is kept without
    revision, so that the fetch tries it once more. Removed species stay out.
    """
    ledger = run.ledger
    key = f"resolved:{fingerprint(run.source.name, selection, limit)}"
    if ledger.fact(key) is not None:
        return
    tracker = run.track("resolve", 0)
    taxa = ledger.subjects("taxon")
    before, unwanted, added = located_pages(run), removed(ledger), additions(ledger)
    found: list[tuple[Taxon, PageRef]] = []
    doubtful: list[tuple[Taxon, PageRef]] = []
    left_out: list[LeftOut] = []
    lost: list[Step] = []
    without_page: list[Taxon] = []
    asked: Counter[str] = Counter()
    lacks_folders = False
    for subject, place in located:
        if isinstance(subject, Taxon) and (isinstance(place, PageRef) or place.reason != reasons.UNASKED):
            asked[subject.lineage.get("family", "")] += subject.rank not in ("genus", "family")
            lacks_folders |= isinstance(place, LeftOut) and place.reason == reasons.NO_FOLDER
        if isinstance(subject, str):
            left_out += [place] if isinstance(place, LeftOut) else []
        elif subject.scientific_name in unwanted:
            continue
        elif isinstance(place, PageRef):
            # A web page keeps the revision that an update found.
            held = before.get(place.subject_id) if is_page(place.subject_id) else None
            found.append((subject, held or place))
            tracker.add()
            if limit is not None and len(found) >= limit:
                break
        else:
            held = before.get(subject.taxon_id)
            if held is not None and place.reason in _NOT_FOUND:
                doubtful.append((subject, replace(held, revision=None)))
            elif place.reason not in _UNREPORTED:  # nobody expects a folder for each species of a group
                left_out.append(replace(place, name=subject.scientific_name))
                without_page.append(subject)
                lost += left_out_steps(subject.taxon_id, place.reason) if held is not None else []
    with ledger.transaction():
        for taxon, page in [*found, *doubtful]:
            if is_page(page.subject_id) and taxon.taxon_id in taxa:  # as another source has it
                taxon = loads(Taxon, taxa[taxon.taxon_id])
            elif taxon.taxon_id in taxa:  # with what its page stated of the classification
                held_lineage = loads(Taxon, taxa[taxon.taxon_id]).lineage
                taxon = replace(taxon, lineage={**held_lineage, **taxon.lineage})
            named = with_own_names(taxon, added.get(taxon.taxon_id))
            ledger.add_subjects([(taxon.taxon_id, "taxon", taxon.scientific_name, dumps(named))])
            _record_page(run, page)
        ledger.record(lost)
        ledger.set_left_out(left_out)
        note_families(ledger, without_page)
        if lacks_folders:
            note_asked(ledger, asked)
        # By title too: an earlier look-up may have rejected the page.
        ledger.drop_left_out(name for taxon, page in found for name in (taxon.scientific_name, page.title))
        ledger.set_fact(key, "done")


def resolve_terms(run: BuildRun, terms: Sequence[Term | tuple[str, str | None]]) -> None:
    """Record the page of every term; a complete `Term` needs none. Removed terms stay out."""
    ledger = run.ledger
    unwanted = removed(ledger)
    terms = [term for term in terms if (term.name if isinstance(term, Term) else term[0]) not in unwanted]
    given = [term for term in terms if isinstance(term, Term)]
    named = {(term_id(term[0]), term[1] or ""): term for term in terms if not isinstance(term, Term)}
    key = f"resolved:{fingerprint(run.source.name, sorted(named.items()), [dumps(term) for term in given])}"
    if not terms or ledger.fact(key) is not None:
        return
    places = list(run.source.locate_terms(list(named.values()))) if named else []
    before, known = located_pages(run), ledger.subject_names("term")
    with ledger.transaction():
        ledger.add_subjects((term.term_id, "term", term.name, dumps(term)) for term in given)
        ledger.record(
            Step(subject_id=term.term_id, stage="resolve", fingerprint=fingerprint(dumps(term))) for term in given
        )
        for name, place in places:
            if isinstance(place, LeftOut):
                ledger.set_left_out([term_left_out(name, place)])
                continue
            ledger.drop_left_out([name])
            if not is_page(place.subject_id) or term_id(name) not in known:
                ledger.add_subjects([(term_id(name), "term", name, "")])
            _record_page(run, before.get(place.subject_id, place) if is_page(place.subject_id) else place)
        ledger.set_fact(key, "done")


def _record_page(run: BuildRun, page: PageRef) -> None:
    """Record the page of a subject; a web page is a subject of its own, tried again if it was left out."""
    if is_page(page.subject_id):
        run.ledger.add_subjects([(page.subject_id, "page", page.title, "")])
        run.ledger.drop_left_out([page.title])
        if (step := run.ledger.step(page.subject_id, "fetch")) is not None and step.status == "left-out":
            run.ledger.drop_steps([page.subject_id], ["fetch"])
    run.ledger.record([resolved_step(run, page.subject_id, page)])


def term_left_out(name: str, place: LeftOut) -> LeftOut:
    """Return the reason under the term's own name, counted apart from species."""
    return replace(place, name=name, reason=f"term: {place.reason}")


def left_out_steps(subject_id: str, reason: str) -> list[Step]:
    """Return the steps that take a subject out, since its page is gone."""
    return [
        Step(subject_id=subject_id, stage=stage, fingerprint="", status="left-out", error=reason)
        for stage in ("resolve", "fetch")
    ]


def resolved_step(run: BuildRun, subject_id: str, page: PageRef) -> Step:
    """Return the step that records the page of a subject."""
    return Step(subject_id=subject_id, stage="resolve", fingerprint=page_mark(run, page), output=dumps(page))


def page_mark(run: BuildRun, page: PageRef) -> str:
    """Return the fingerprint of a page in this run's source."""
    return fingerprint(run.source.name, page.title, page.revision)


def located_pages(run: BuildRun) -> dict[str, PageRef]:
    """Return subject_id -> page, for all subjects with a page in this run's source."""
    pages = {
        key: (step.fingerprint, loads(PageRef, step.output))
        for key, step in run.ledger.steps("resolve").items()
        if step.output is not None
    }
    return {key: page for key, (mark, page) in pages.items() if mark == page_mark(run, page)}
