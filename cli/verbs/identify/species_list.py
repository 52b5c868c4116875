"""The list of `kb identify --species-list`: read, matched, and what did not match said on stderr."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cli.common import output
from data.errors import BadInput

if TYPE_CHECKING:
    from data.records import Identification
    from kb.checklist.reconcile import UnmatchedName
    from kb.checklist.species_lists import MatchedList
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import SpeciesList
    from recognize.confidence.prior import ListPrior

N_NAMED = 10  # of the names that did not match
MANY_ABSENT = 0.3  # more of a list than this not being in the knowledge base is worth a word
FEW_LISTED = 10  # fewer species than this are hardly those of a place,
MANY_TIMES = 100  # which is worth a word where each counts as more than so many others
SURE: Final = 0.9
"""Answers that are this sure without the list tell whether it is of the place: 96 % of them are right."""
MOST_OFF: Final = 0.99  # as a share to be advised

Fact = Literal["named", "changed", "sure", "sure changed", "sure off"]
"""Of a photo: it was named to the species without the list, another came first with it; the same of those that were
sure without it; that species is not on the list."""


def expected(store: KnowledgeBase, file: Path, off_list_share: float, *, quiet: bool) -> SpeciesList:
    """Return the species of the knowledge base that are on a list, and say what of the list is not among them.

    `quiet` leaves out how many are; names that match no species are always told.

    Raises:
        BadInput: if the file holds no list, or no species of the knowledge base is on it.
    """
    from kb.checklist.species_lists import match_list, read_list
    from recognize import SpeciesList

    listed = read_list(file)
    matched = match_list(listed, store.taxa())
    unknown = [name for name in matched.unmatched if name.why != "several species"]
    if unknown:
        output.warn(unknown_text(file, unknown))
    if not matched.taxon_ids:
        raise BadInput(f"no species of {file} is in the knowledge base {store.path}", hint=summary(matched))
    if not quiet:
        output.note(f"{file} ({listed.kind}): {summary(matched)}")
    return SpeciesList(taxon_ids=matched.taxon_ids, quarters=matched.quarters, off_list_share=off_list_share)


def summary(matched: MatchedList) -> str:
    """Return how many species a list has here and elsewhere, and how many lines stand for several."""
    n_here, n_absent = len(matched.taxon_ids), len(matched.absent)
    several = sum(name.why == "several species" for name in matched.unmatched)
    text = f"{output.plural(n_here + n_absent, 'species', 'species')}, {n_here:,} of them in this knowledge base"
    text += f"; {output.plural(several, 'line')} for several species or hybrids" if several else ""
    if n_absent > MANY_ABSENT * (n_here + n_absent):
        text += "; many are not in it: where answers have a confidence, --unknown-prior says how many photos show these"
    return text


def unknown_text(file: Path, names: list[UnmatchedName]) -> str:
    """Return which names stand for no species, and what they may be meant to be."""
    shown = [
        f"{name.name} ({name.why}{', like ' + ' or '.join(name.suggestions) if name.suggestions else ''})"
        for name in names[:N_NAMED]
    ]
    rest = f"; and {len(names) - N_NAMED:,} more" if len(names) > N_NAMED else ""
    verb = "matches" if len(names) == 1 else "match"
    return f"{output.plural(len(names), 'name')} of {file} {verb} no species: {'; '.join(shown)}{rest}"


def boost_text(prior: ListPrior) -> str:
    """Return what a list gives to a species, in units of the score."""
    log_odds = prior.log_odds(None)
    when = "; in which weeks, by the date of each photo" if prior.has_quarters else ""
    fitted = "" if prior.is_fitted else "; a guess: this was not fitted for the models of this knowledge base"
    return (
        f"listed species count as {math.exp(log_odds):,.0f} times as likely as others: "
        f"+{log_odds * prior.temperature:.3f} to their scores{when}{fitted}"
    )


def few_warnings(prior: ListPrior) -> Iterator[str]:
    """Yield that a list names too few species to be all that can be expected, if so."""
    n, odds = int(prior.listed(None).sum()), math.exp(prior.log_odds(None))
    if n < FEW_LISTED and odds > MANY_TIMES:
        yield (
            f"the list names {output.plural(n, 'species', 'species')} of this knowledge base, and each counts as "
            f"{odds:,.0f} times as likely as any other: a list should hold all that can be expected there, or "
            "--off-list-share say how many photos show others"
        )


def names(store: KnowledgeBase, listed: SpeciesList) -> frozenset[str]:
    """Return the scientific names of the species on a list."""
    return frozenset(taxon.scientific_name for taxon in store.taxa() if taxon.taxon_id in listed.taxon_ids)


def facts_of(row: Identification, listed: Collection[str]) -> Iterator[Fact]:
    """Yield what the list did to a photo that had a species without it; `listed` are scientific names."""
    without = row.answer_without_list
    if without is None or without.rank != "species" or not row.candidates:
        return
    yield "named"
    is_changed = row.candidates[0].scientific_name != without.name
    if is_changed:
        yield "changed"
    if without.confidence is not None and without.confidence >= SURE:
        yield "sure"
        if is_changed:
            yield "sure changed"
        if without.name not in listed:
            yield "sure off"


def changed_text(facts: Mapping[Fact, int]) -> str:
    """Return how many photos have another first species by the list."""
    return (
        f"the list changed the first species of {facts.get('changed', 0):,} of "
        f"{output.plural(facts.get('named', 0), 'photo')} named to the species without it"
    )


def changed_warnings(facts: Mapping[Fact, int], off_list_share: float) -> Iterator[str]:
    """Yield where the list went against sure answers, and where it does not fit the photos, with a share that does.

    What is sure without the list shows how many photos are of species that are not on it (`benchmarks.list_fit`). It is
    said where chance alone would hardly bring as many at the share given: three standard errors.
    """
    n, n_changed, n_off = (facts.get(fact, 0) for fact in ("sure", "sure changed", "sure off"))
    sure = f"{output.plural(n, 'photo')} that {'was' if n == 1 else 'were'} at least {100 * SURE:.0f} % sure without it"
    if n_changed:
        yield f"the list changed the first species of {n_changed:,} of {sure}: see the answers without the list"
    if n_off > off_list_share * n + 3 * math.sqrt(n * off_list_share * (1 - off_list_share)):
        fitting = min(MOST_OFF, round(n_off / n, 2))
        yield (
            f"the list does not fit these photos: {n_off:,} of {sure} show species that are not "
            f"on it; --off-list-share {fitting:g} would fit (it is {off_list_share:g}), or, if the list is right, the "
            "birds are not in this knowledge base (--unknown-prior)"
        )
