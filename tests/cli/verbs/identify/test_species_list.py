"""Messages about a species list on stderr."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.verbs import identify_species_list as species_lists
from kb.checklist.reconcile import UnmatchedName
from kb.checklist.species_lists import MatchedNames
from recognize.confidence.prior import ListFit, ListPrior, SpeciesList

FILE = Path("list.txt")


def unknown(n: int) -> list[UnmatchedName]:
    return [UnmatchedName(name=f"Bird {number}", reason="unknown") for number in range(n)]


def test_ten_unknown_names_and_five_missing_species_are_listed_and_the_rest_counted() -> None:
    text = species_lists.unknown_text(FILE, unknown(1_012))
    assert text.startswith("1,012 names of list.txt match no species: Bird 0 (unknown); Bird 1 (unknown);")
    assert text.endswith("Bird 9 (unknown); and 1,002 more")
    assert "more" not in species_lists.unknown_text(FILE, unknown(10))
    here = tuple(f"here-{number}" for number in range(20))
    for n_absent, missing in ((0, ""), (1, " (missing: A 0)"), (7, " (missing: A 0, A 1, A 2, A 3, A 4, 2 more)")):
        absent = tuple(f"A {number}" for number in range(n_absent))
        text = species_lists.summary(MatchedNames(of_rows=here, absent=absent, unmatched=()))
        assert text == f"{20 + n_absent} species, 20 of them in this knowledge base{missing}"


def test_the_boost_is_printed_in_units_of_the_score_and_a_list_without_effect_says_why() -> None:
    """Odds of .9 on one species to .1 on nine: 81 to 1; their logarithm, 4.394, times the temperature."""
    ids = tuple("abcdefghij")
    listed = SpeciesList(taxon_ids=frozenset("a"), quarters={"a": frozenset([1])}, off_list_share=0.1)
    assert species_lists.boost_text(ListPrior(listed, ids, temperature=0.5, is_fitted=False)) == (
        "Species on your list are favoured 81 to 1: +2.197 on their scores; the weeks of the list apply by the date of "
        "each photo; estimated, because it was not fitted for these models"
    )
    for listed, why in (
        (SpeciesList(taxon_ids=frozenset("ab")),
         "The list holds every species of the knowledge base, so it has no effect."),
        (SpeciesList(taxon_ids=frozenset("a"), off_list_share=0.9),
         "The list has no effect: the setting off_list_share is too large."),
    ):  # fmt: skip
        assert species_lists.boost_text(ListPrior(listed, ("a", "b"), temperature=1.0)) == why


def test_a_short_list_gets_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    for n_listed, n_species, n_warnings in ((9, 1_000, 1), (10, 1_000, 0), (5, 20, 0)):
        ids = tuple(f"species-{number}" for number in range(n_species))
        listed = SpeciesList(taxon_ids=frozenset(ids[:n_listed]))
        store: Any = SimpleNamespace(taxa=tuple)
        recognizer: Any = SimpleNamespace(species_list=listed, prior=ListPrior(listed, ids, temperature=1.0))
        species_lists.list_fit(store, recognizer, 0.1, quiet=True)
        said = capsys.readouterr().err
        assert said.count(f"warning: The list has only {n_listed} species of this") == n_warnings, said


def test_a_list_that_does_not_fit_gets_a_better_share() -> None:
    fit = ListFit((), 0.1, n_sure=40, n_sure_changed=2, n_sure_off=30)
    assert list(species_lists.fit_warnings(fit)) == [
        "The list puts another species first in 2 of 40 photos with at least 90 % confidence without it: compare the "
        "answers without the list",
        "The list does not fit these photos: 30 of 40 photos with at least 90 % confidence without it show species "
        "that are not on it. Use --set off_list_share=0.75 instead of 0.1; or, if the list is right, use a "
        "larger --set unknown_prior=P, because these species may not be in the knowledge base",
    ]
    assert list(species_lists.fit_warnings(ListFit((), 0.75, n_sure=40, n_sure_off=30))) == []
