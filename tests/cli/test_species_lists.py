"""What is said on stderr of a species list."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import species_lists
from kb.reconciling import UnmatchedName
from kb.species_lists import MatchedList
from recognize.species_lists import ListPrior, SpeciesList

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
        "1 name of list.txt matches no species: Snowy Owll (unknown, like Snowy Owl or Sooty Owl)"
    )


@pytest.mark.parametrize(("n_absent", "is_worth_a_word"), [(1, False), (30, True)])
def test_a_list_of_which_much_is_not_there_is_pointed_out(n_absent: int, is_worth_a_word: bool) -> None:
    here = frozenset(f"here-{number}" for number in range(20))
    matched = MatchedList(taxon_ids=here, absent=tuple(f"Absent {number}" for number in range(n_absent)))
    told = species_lists.summary(matched)
    assert told.startswith(f"{20 + n_absent} species, 20 of them in this knowledge base")
    assert ("--absent-share" in told) == is_worth_a_word


def test_what_a_listed_species_gets_is_said_in_units_of_the_score() -> None:
    """.9 over one species against .1 over nine: 81 times; the logarithm of that, 4.394, times the temperature."""
    ids = tuple("abcdefghij")
    listed = SpeciesList(taxon_ids=frozenset("a"), quarters={"a": frozenset([1])}, off_list_share=0.1)
    told = species_lists.boost_text(ListPrior(listed, ids, temperature=0.5, is_fitted=False))
    assert told == (
        "listed species count as 81 times as likely as others: +2.197 to their scores; in which weeks, by the date of "
        "each photo; a guess: this was not fitted for the models of this knowledge base"
    )
