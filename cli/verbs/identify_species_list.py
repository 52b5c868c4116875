"""Species list of `kb identify`: read, matched with the knowledge base, and its effect in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from cli.common.reports import partial_text
from data.errors import BadInput
from data.files import place_of
from data.words import plural

if TYPE_CHECKING:
    from kb.checklist.reconcile import UnmatchedName
    from kb.checklist.species_lists import MatchedNames
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import Recognizer, SpeciesList
    from recognize.confidence.prior import ListFit, ListPrior


FEW_LISTED = 10  # fewer species hardly cover a place
MOST_MISSING = 5  # named
LARGE_ODDS = 100  # a short list that favours its species more than this gets a warning


def read_expected(store: KnowledgeBase, file: Path, off_list_share: float, *, quiet: bool) -> SpeciesList:
    """Return the listed species of the knowledge base; warn about unmatched names.

    `quiet` omits the summary, not the warning.

    Raises:
        BadInput: if the file is not a list, or lists no species of the knowledge base.
    """
    from kb.checklist.species_lists import match_list, read_list
    from recognize import SpeciesList

    listed = read_list(file)
    matched = match_list(listed, store.taxa(), store.checklist)
    unknown = [name for name in matched.unmatched if not name.is_of_several]
    if unknown:
        output.warn(unknown_text(file, unknown))
    if matched.partial:
        output.warn(partial_text(matched.partial))
    if not matched.taxon_ids:
        hint = "Expected one species per line, a CSV, or an eBird download."
        if unknown:
            hint = "See the names above; full names, scientific names or --language (en_GB, en_US) tell species apart."
        hint = summary(matched) if matched.absent else hint
        raise BadInput(f"No species of {file} is in {place_of(store.path)}.", hint=hint)
    if not quiet:
        for note in listed.notes:
            output.note(f"{file}: {note}")
        output.note(f"{file} ({listed.kind}): {summary(matched)}")
    return SpeciesList(
        taxon_ids=matched.taxon_ids, quarters=matched.quarters, off_list_share=off_list_share,
        n_absent=len(matched.absent),
    )  # fmt: skip


def summary(matched: MatchedNames) -> str:
    """Return the number of species in a list and in the knowledge base, missing ones, and lines for several."""
    n_here, n_outside = len(matched.taxon_ids), len(matched.absent)
    several = sum(name.is_of_several for name in matched.unmatched)
    text = f"{plural(n_here + n_outside, 'species', 'species')}, {n_here:,} of them in this knowledge base"
    if n_outside:
        missing = list(matched.absent[:MOST_MISSING])
        missing += [f"{n_outside - MOST_MISSING:,} more"] if n_outside > MOST_MISSING else []
        text += f" (missing: {', '.join(missing)})"
    text += f"; {plural(several, 'line')} for several species or hybrids" if several else ""
    if matched.groups:
        groups = [f"{name} {len(species):,}" for name, species in matched.groups.items()]
        text += f"; groups with their species in this knowledge base: {output.first_few(groups)}"
    return text


def unknown_text(file: Path, names: list[UnmatchedName]) -> str:
    """Return the unmatched names with suggestions."""
    shown = []
    for name in names:
        hint = f"; did you mean {' or '.join(name.suggestions)}?" if name.suggestions else ""
        shown.append(f"{name.name} ({name.reason}{hint})")
    verb = "matches" if len(names) == 1 else "match"
    return f"{plural(len(names), 'name')} of {file} {verb} no species: {output.first_few(shown)}"


def boost_text(prior: ListPrior) -> str:
    """Return how much listed species are favoured."""
    log_odds = prior.log_odds(None)
    if not log_odds and not prior.has_quarters:
        if prior.listed(None).all():
            return "The list holds every species of the knowledge base, so it has no effect."
        return "The list has no effect: the setting off_list_share is too large."
    when = "; the weeks of the list apply by the date of each photo" if prior.has_quarters else ""
    fitted = "" if prior.is_fitted else "; estimated, because it was not fitted for these models"
    return (
        f"Species on your list are favoured {math.exp(log_odds):,.0f} to 1: "
        f"+{log_odds * prior.temperature:.3f} on their scores{when}{fitted}"
    )


def list_fit(store: KnowledgeBase, recognizer: Recognizer, share: float, *, quiet: bool) -> ListFit | None:
    """Report how much listed species are favoured; return the counts of the list's effect, None without a list."""
    listed, prior = recognizer.species_list, recognizer.prior
    if listed is None or prior is None:
        return None
    from recognize.confidence.prior import ListFit

    if not quiet:
        output.note(boost_text(prior))
    n, odds = int(prior.listed(None).sum()), math.exp(prior.log_odds(None))
    if n < FEW_LISTED and odds > LARGE_ODDS:
        output.warn(
            f"The list has only {plural(n, 'species', 'species')} of this knowledge base, each favoured "
            f"{odds:,.0f} to 1. List every species to expect, or raise the setting off_list_share"
        )
    return ListFit({taxon.scientific_name for taxon in store.taxa() if taxon.taxon_id in listed.taxon_ids}, share)


def fit_warnings(fit: ListFit) -> Iterator[str]:
    """Yield warnings where the list overrides confident answers, or does not fit the photos."""
    sure = f"{plural(fit.n_sure, 'photo')} with at least 90 % confidence without it"
    if fit.n_sure_changed:
        yield (
            f"The list puts another species first in {fit.n_sure_changed:,} of {sure}: "
            "compare the answers without the list"
        )
    if not fit.fits:
        yield (
            f"The list does not fit these photos: {fit.n_sure_off:,} of {sure} show species that are not "
            f"on it. Use --set off_list_share={fit.share_off:g} instead of {fit.off_list_share:g}; or, if the list is "
            "right, use a larger --set unknown_prior=P, because these species may not be in the knowledge base"
        )
