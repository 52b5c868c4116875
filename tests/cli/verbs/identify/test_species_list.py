"""Messages about a species list on stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.verbs.identify import species_list as species_lists
from kb.checklist.reconcile import UnmatchedName
from kb.checklist.species_lists import MatchedList
from recognize.confidence.list_fit import ListFit
from recognize.confidence.prior import ListPrior, SpeciesList

FILE = Path("list.txt")


def unknown(n: int) -> list[UnmatchedName]:
    return [UnmatchedName(name=f"Bird {number}", reason="unknown") for number in range(n)]


def test_ten_names_are_told_and_how_many_more_there_are() -> None:
    told = species_lists.unknown_text(FILE, unknown(1_012))
    assert told.startswith("1,012 names of list.txt match no species: Bird 0 (unknown); Bird 1 (unknown);")
    assert told.endswith("Bird 9 (unknown); and 1,002 more")
    assert "more" not in species_lists.unknown_text(FILE, unknown(10))


def test_one_name_is_told_with_what_it_may_mean() -> None:
    name = UnmatchedName(name="Snowy Owll", reason="unknown", suggestions=("Snowy Owl", "Sooty Owl"))
    assert species_lists.unknown_text(FILE, [name]) == (
        "1 name of list.txt matches no species: Snowy Owll (unknown; did you mean Snowy Owl or Sooty Owl?)"
    )


@pytest.mark.parametrize(("n_absent", "is_worth_a_word"), [(1, False), (30, True)])
def test_a_list_of_which_much_is_not_there_is_pointed_out(n_absent: int, is_worth_a_word: bool) -> None:
    here = frozenset(f"here-{number}" for number in range(20))
    matched = MatchedList(taxon_ids=here, absent=tuple(f"Absent {number}" for number in range(n_absent)))
    told = species_lists.summary(matched)
    assert told.startswith(f"{20 + n_absent} species, 20 of them in this knowledge base")
    assert ("--unknown-prior" in told) == is_worth_a_word


def test_what_a_listed_species_gets_is_said_in_units_of_the_score() -> None:
    """.9 over one species against .1 over nine: 81 times; the logarithm of that, 4.394, times the temperature."""
    ids = tuple("abcdefghij")
    listed = SpeciesList(taxon_ids=frozenset("a"), quarters={"a": frozenset([1])}, off_list_share=0.1)
    told = species_lists.boost_text(ListPrior(listed, ids, temperature=0.5, is_fitted=False))
    assert told == (
        "Species on your list are favoured 81 to 1: +2.197 on their scores; the weeks of the list apply by the date of "
        "each photo; estimated, because it was not fitted for these models"
    )


@pytest.mark.parametrize(
    ("n_listed", "n_species", "is_worth_a_word"), [(9, 1_000, True), (10, 1_000, False), (5, 20, False)]
)
def test_few_species_that_count_for_much_are_worth_a_word(n_listed: int, n_species: int, is_worth_a_word: bool) -> None:
    ids = tuple(f"species-{number}" for number in range(n_species))
    prior = ListPrior(SpeciesList(taxon_ids=frozenset(ids[:n_listed])), ids, temperature=1.0)
    told = list(species_lists.short_list_warnings(prior))
    assert [text.startswith(f"The list has only {n_listed} species of this") for text in told] == [
        True
    ] * is_worth_a_word


def test_photos_that_the_list_changed_are_reported_with_a_share_that_fits() -> None:
    fit = ListFit((), 0.1, n_sure=40, n_sure_changed=2, n_sure_off=30)
    assert list(species_lists.fit_warnings(fit)) == [
        "The list changed the first species of 2 of 40 photos with at least 90 % confidence without it: compare the "
        "answers without the list",
        "The list does not fit these photos: 30 of 40 photos with at least 90 % confidence without it show species "
        "that are not on it. Use --off-list-share 0.75 instead of 0.1; or, if the list is right, raise "
        "--unknown-prior, because these species may not be in the knowledge base",
    ]
    assert list(species_lists.fit_warnings(ListFit((), 0.75, n_sure=40, n_sure_off=30))) == []
