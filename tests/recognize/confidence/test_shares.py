"""Confidence of candidates after the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recognize.confidence import chances as shares
from recognize.confidence.chances import Chances
from recognize.confidence.evidence import N_JUDGED
from recognize.confidence.ranks import RANKS
from recognize.scoring.stages import Ranking


def ranking(*scores: float) -> Ranking:
    return Ranking(species=np.arange(len(scores)), scores=np.array(scores), stages={})


def sure(held: float, unknown: float = 0.0, **higher: float) -> Chances:
    return Chances(held=dict.fromkeys(RANKS, held) | higher, not_held={}, unknown=unknown)  # type: ignore[arg-type]


def candidate_confidences(ranked: Ranking, *given: Any, lineages: Any = None, **settings: Any) -> tuple[float, ...]:
    return shares.candidate_confidences(
        ranked, *given, lineages or [{}] * min(len(ranked.species), N_JUDGED), **settings
    )


def test_alternatives_share_the_remainder_by_the_softmax_of_their_scores() -> None:
    found = candidate_confidences(ranking(9.0, 2.0 * np.log(3), 0.0), sure(0.8), temperature=2.0, n=3)
    assert found == pytest.approx((0.8, 0.15, 0.05), abs=1e-4)


def test_confidences_do_not_depend_on_the_number_of_candidates() -> None:
    scores = ranking(3.0, 2.0, 1.0, 0.5)
    whole = candidate_confidences(scores, sure(0.7), temperature=1.0, n=4)
    assert candidate_confidences(scores, sure(0.7), temperature=1.0, n=2) == whole[:2]
    assert sum(whole) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("n", [1, N_JUDGED, N_JUDGED + 1, 3 * N_JUDGED])
def test_species_beyond_the_judged_ones_get_no_share(n: int) -> None:
    scores = ranking(*[1.0] * (2 * N_JUDGED))
    found = candidate_confidences(scores, sure(0.51), temperature=1.0, n=n)
    assert found == pytest.approx([0.51, *[0.01] * (N_JUDGED - 1), *[0.0] * N_JUDGED][:n], abs=1e-9)
    assert len(found) == min(n, 2 * N_JUDGED)


def test_no_alternative_exceeds_the_first_species() -> None:
    assert candidate_confidences(ranking(1.0, 0.9), sure(0.3), temperature=1.0, n=2) == (0.3, 0.3)


def test_candidates_and_the_unknown_species_share_the_whole() -> None:
    found = candidate_confidences(ranking(9.0, 2.0 * np.log(3), 0.0), sure(0.8, 0.25), temperature=2.0, n=3)
    assert found == pytest.approx((0.6, 0.1125, 0.0375), abs=1e-4)


def test_the_species_of_a_genus_have_no_more_confidence_than_the_genus() -> None:
    """The second species is of the same genus, the third of the same family; the last shares nothing."""
    lineages = [{"genus": "Larus", "family": "Laridae"}] * 2 + [{"genus": "Rissa", "family": "Laridae"}, {}]
    chances = sure(0.4, 0.25, genus=0.5, family=0.7, order=0.7)
    found = candidate_confidences(ranking(4.0, 3.9, 3.8, 3.7), chances, lineages=lineages, temperature=1.0, n=4)
    assert found == pytest.approx((0.3, 0.075, 0.15, 0.225), abs=1e-4)
    assert sum(found[:2]) <= chances.right("genus")
    assert sum(found[:3]) <= chances.right("family")


def test_without_another_species_of_the_genus_its_chance_goes_to_no_candidate() -> None:
    chances = sure(0.4, genus=0.6, family=0.6, order=0.6)
    found = candidate_confidences(ranking(2.0, 1.0), chances, lineages=[{"genus": "Larus"}, {}], temperature=1.0, n=2)
    assert found == (0.4, 0.4)
