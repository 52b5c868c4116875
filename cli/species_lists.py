"""The list of `kb identify --species-list`: read, matched, and what did not match said on stderr."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from cli import output
from data.errors import BadInput

if TYPE_CHECKING:
    from kb.reconciling import UnmatchedName
    from kb.species_lists import MatchedList
    from kb.store import KnowledgeBase
    from recognize import SpeciesList
    from recognize.species_lists import ListPrior

N_NAMED = 10  # of the names that did not match
MANY_ABSENT = 0.3  # more of a list than this not being in the knowledge base is worth a word


def expected(store: KnowledgeBase, file: Path, off_list_share: float, *, quiet: bool) -> SpeciesList:
    """Return the species of the knowledge base that are on a list, and say what of the list is not among them.

    `quiet` leaves out how many are; names that match no species are always told.

    Raises:
        BadInput: if the file holds no list, or no species of the knowledge base is on it.
    """
    from kb.species_lists import match_list, read_list
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
        text += "; many are not in it: where answers have a confidence, --absent-share says how many photos show these"
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
