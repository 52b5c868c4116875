"""What is said on stderr of a species list."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.verbs.identify import species_list as species_lists
from data.records import Answer, Candidate, Identification
from kb.checklist.reconcile import UnmatchedName
from kb.checklist.species_lists import MatchedList
from recognize.confidence.prior import ListPrior, SpeciesList

FILE = Path("list.txt")


def unknown(n: int) -> list[UnmatchedName]:
    return [UnmatchedName(name=f"Bird {number}", why="unknown") for number in range(n)]


def test_ten_names_are_told_and_how_many_more_there_are() -> None:
    told = species_lists.unknown_text(FILE, unknown(1_012))
    assert told.startswith("1,012 names of list.txt match no species: Bird 0 (unknown); Bird 1 (unknown);")
    assert told.endswith("Bird 9 (unknown); and 1,002 more")
    assert "more" not in species_lists.unknown_text(FILE, unknown(10))


def test_one_name_is_told_with_what_it_may_mean() -> None:
    name = UnmatchedName(name="Snowy Owll", why="unknown", suggestions=("Snowy Owl", "Sooty Owl"))
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
    told = list(species_lists.few_warnings(prior))
    assert [text.startswith(f"The list has only {n_listed} species of this") for text in told] == [
        True
    ] * is_worth_a_word


def row_of(first: str, without: Answer | None) -> Identification:
    """A photo that shows `first` by the list."""
    candidate = Candidate(taxon_id=first.lower(), scientific_name=first, common_name=first, score=1.0)
    return Identification(image="photo.jpg", candidates=(candidate,), answer_without_list=without)


def species(name: str, confidence: float | None) -> Answer:
    return Answer(rank="species", name=name, confidence=confidence)


@pytest.mark.parametrize(
    ("row", "facts"),
    [
        (row_of("Listed", species("Listed", 0.9)), ["named", "sure"]),
        (row_of("Listed", species("Listed", 0.89)), ["named"]),
        (row_of("Listed", species("Other", 0.9)), ["named", "changed", "sure", "sure changed", "sure off"]),
        (row_of("Listed", species("Other", None)), ["named", "changed"]),
        (row_of("Other", species("Other", 1.0)), ["named", "sure", "sure off"]),
        (row_of("Listed", Answer(rank="genus", name="Other", confidence=1.0)), []),
        (row_of("Listed", None), []),
    ],
)
def test_what_a_list_did_to_a_photo(row: Identification, facts: list[str]) -> None:
    assert list(species_lists.facts_of(row, {"Listed"})) == facts


def test_what_went_against_sure_answers_is_said_with_a_share_that_fits() -> None:
    told = list(species_lists.changed_warnings({"sure": 40, "sure changed": 2, "sure off": 30}, 0.1))
    assert told == [
        "The list changed the first species of 2 of 40 photos with at least 90 % confidence without it: compare the "
        "answers without the list",
        "The list does not fit these photos: 30 of 40 photos with at least 90 % confidence without it show species "
        "that are not on it. Use --off-list-share 0.75 instead of 0.1; or, if the list is right, raise "
        "--unknown-prior, because these species may not be in the knowledge base",
    ]
    assert list(species_lists.changed_warnings({"sure": 40, "sure off": 30}, 0.75)) == []


@pytest.mark.parametrize(("n_off", "fits"), [(9, True), (10, False)])
def test_a_list_fits_while_chance_can_bring_what_is_not_on_it(n_off: int, fits: bool) -> None:
    """4 of 40 are expected at .1, give or take 1.9; three times that is 9.7."""
    assert len(list(species_lists.changed_warnings({"sure": 40, "sure off": n_off}, 0.1))) == (not fits)


def test_one_sure_photo_of_a_species_that_is_not_listed_says_nothing_of_the_list() -> None:
    assert list(species_lists.changed_warnings({"sure": 1, "sure off": 1}, 0.1)) == []
    assert "--off-list-share 0.99 instead" in next(species_lists.changed_warnings({"sure": 2, "sure off": 2}, 0.1))
