"""Fit of a species list: the photos that it changed, and the share of photos that are not on it."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from data.records import Answer, Candidate, Identification
from recognize.confidence.prior import ListFit


def row_of(first: str, without: Answer | None) -> Identification:
    """Return a row with `first` as its only candidate."""
    candidate = Candidate(taxon_id=first.lower(), scientific_name=first, common_name=first, score=1.0)
    return Identification(image="photo.jpg", candidates=(candidate,), answer_without_list=without)


def species(name: str, confidence: float | None) -> Answer:
    return Answer(rank="species", name=name, confidence=confidence)


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        (row_of("Listed", species("Listed", 0.9)), (1, 0, 1, 0, 0)),
        (row_of("Listed", species("Listed", 0.89)), (1, 0, 0, 0, 0)),
        (row_of("Listed", species("Other", 0.9)), (1, 1, 1, 1, 1)),
        (row_of("Listed", species("Other", None)), (1, 1, 0, 0, 0)),
        (row_of("Other", species("Other", 1.0)), (1, 0, 1, 0, 1)),
        (row_of("Listed", Answer(rank="genus", name="Other", confidence=1.0)), (0, 0, 0, 0, 0)),
        (row_of("Listed", None), (0, 0, 0, 0, 0)),
    ],
)
def test_a_photo_is_counted_by_the_effect_of_the_species_list(row: Identification, counts: tuple[int, ...]) -> None:
    fit = ListFit({"Listed"}, 0.1)
    fit.add(row)
    assert astuple(fit)[2:] == (1, *counts)


@pytest.mark.parametrize(("n_off", "fits"), [(9, True), (10, False)])
def test_a_list_fits_while_unlisted_species_are_within_chance(n_off: int, fits: bool) -> None:
    """4 of 40 are expected at 0.1, with a standard deviation of 1.9; the limit of three deviations is 9.7."""
    assert ListFit((), 0.1, n_sure=40, n_sure_off=n_off).fits == fits


def test_one_confident_photo_of_an_unlisted_species_is_not_enough() -> None:
    assert ListFit((), 0.1, n_sure=1, n_sure_off=1).fits
    two = ListFit((), 0.1, n_sure=2, n_sure_off=2)
    assert (two.fits, two.share_off) == (False, 0.99)
