import math
from dataclasses import astuple, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UsageError
from data.images.decode import Photo
from data.records import Answer, Candidate, Identification, Taxon
from recognize import PRESETS, Recognizer, SpeciesList, explain
from recognize.confidence.calibration import Chances, candidate_confidences, shipped_calibration
from recognize.confidence.place import PlacePrior, contradicts, week_of
from recognize.confidence.prior import TEMPERATURES, ListFit, ListPrior, judged, quarter_of, temperature_of
from recognize.place_names import Place
from recognize.scoring.ranking import Ranking
from tests.recognize.birds_in_memory import BIRDS, bird

IDS = tuple(f"species-{i}" for i in range(10))
LINEAGES = [{"genus": f"G{i // 2}", "family": f"F{i // 4}", "order": f"O{i // 8}"} for i in range(10)]
HIGHER = ("genus", "family", "order")


def prior(*listed: Any, share: float = 0.2, temperature: float = 2.0, quarters: Any = None) -> ListPrior:
    names = frozenset(IDS[i] for i in listed)
    return ListPrior(
        SpeciesList(taxon_ids=names, off_list_share=share, quarters=quarters or {}), IDS, temperature=temperature
    )


def ranking(scores: Any, species: Any = range(10)) -> Ranking:
    species = np.array(species)
    order = np.argsort(-np.array(scores, dtype=np.float64), kind="stable")
    scores = np.array(scores, dtype=np.float64)[order]
    return Ranking(species=species[order], scores=scores, stages={"text": scores / 10})


def test_the_odds_of_listed_species_follow_the_share_off_the_list_and_are_never_below_even() -> None:
    """0.8 over 2 listed species against 0.2 over 8 others: 16 to 1."""
    assert prior(0, 1, share=0.2).log_odds(None) == pytest.approx(math.log(16))
    assert prior(0, 1, share=0.8).log_odds(None) == pytest.approx(0.0), "a share at chance"
    assert prior(0, 1, share=0.99).log_odds(None) == prior(*range(10)).log_odds(None) == 0.0, "a complete list"


def test_listed_species_gain_one_boost_and_others_keep_their_score() -> None:
    before = ranking([5.0, 4.5, 4.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.0])
    after = prior(3, 9).apply(before, None)
    boost = 2.0 * math.log(16)
    old, new = (dict(zip(r.species.tolist(), r.scores.tolist(), strict=True)) for r in (before, after))
    assert {i: new[i] - old[i] for i in new} == pytest.approx({i: boost if i in (3, 9) else 0.0 for i in range(10)})
    assert after.species.tolist() == [3, 9, 0, 1, 2, 4, 5, 6, 7, 8]
    assert after.stages["list"].tolist() == pytest.approx([boost, boost, *[0.0] * 8])
    texts = dict(zip(after.species.tolist(), after.stages["text"].tolist(), strict=True))
    assert texts == pytest.approx({i: old[i] / 10 for i in old}), "stages follow their species"
    equal = prior(1, 3, 5).apply(ranking([1.0] * 10), None)
    assert equal.species.tolist() == [1, 3, 5, 0, 2, 4, 6, 7, 8, 9], "species of equal score keep their order"


def test_the_list_follows_the_season_of_a_dated_photo() -> None:
    for date, quarter in (
        ("2026-01-07", 0), ("2026-01-08T12:00:00+02:00", 1), ("2026-02-29", 7), ("2026-12-22", 47),
        (None, None), ("", None), ("2026-13-01", None), ("yesterday", None),
    ):  # fmt: skip
        assert (quarter_of(date), week_of(date)) == (quarter, None if quarter is None else quarter + 1), date
    swallow = prior(0, 1, quarters={IDS[0]: frozenset(range(16, 36))})
    found = [swallow.listed(date).nonzero()[0].tolist() for date in ("2026-07-01", "2026-01-01", None)]
    assert found == [[0, 1], [1], [0, 1]]
    assert swallow.log_odds("2026-01-01") == pytest.approx(math.log((0.8 / 1) / (0.2 / 9)))


def chances_by_loops(scores: Any, listed: Any, odds: Any, temperature: Any, chances: Any) -> Any:
    """Apply Bayes' rule species by species: calibrated chances of groups, split by capped softmax, times the odds."""
    powers = [math.exp(score / temperature) for score in scores]
    first = max(range(10), key=lambda i: scores[i])
    groups = {"species": [first], "genus": [], "family": [], "order": [], "rest": []}
    for i in range(10):
        if i != first:
            same = [rank for rank in HIGHER if LINEAGES[i][rank] == LINEAGES[first][rank]]
            groups[same[0] if same else "rest"].append(i)
    parts = [
        chances["species"], chances["genus"] - chances["species"], chances["family"] - chances["genus"],
        chances["order"] - chances["family"], 1 - chances["order"],
    ]  # fmt: skip
    weight, unassigned = {}, dict.fromkeys(groups, 0.0)
    for (rank, members), part in zip(groups.items(), parts, strict=True):
        left = sorted(members, key=lambda i: -powers[i])
        while left:  # the likeliest first; none gets more than the first species
            share = part * powers[left[0]] / sum(powers[j] for j in left)
            share = share if rank == "species" else min(share, chances["species"])
            first_left = left.pop(0)
            weight[first_left] = share * (odds if first_left in listed else 1)
            part -= share
        unassigned[rank] = part  # of another species of that genus or family, neither a candidate nor listed
    new = max(range(10), key=lambda i: scores[i] + (temperature * math.log(odds) if i in listed else 0))
    whole = sum(weight.values()) + sum(unassigned.values())
    found = {"species": weight[new] / whole}
    for step, rank in enumerate(HIGHER, 1):
        kin = [i for i in range(10) if LINEAGES[i][rank] == LINEAGES[new][rank]]
        others = sum(unassigned[lower] for lower in HIGHER[:step]) if first in kin else 0
        found[rank] = (sum(weight[i] for i in kin) + others) / whole
    return found


@given(
    scores=st.lists(st.integers(-40, 40), min_size=10, max_size=10, unique=True),
    listed=st.sets(st.integers(0, 9), min_size=1, max_size=9),
    chances=st.tuples(*[st.floats(0.01, 0.99)] * 4).map(sorted),
)
def test_chances_follow_bayes_rule(scores: Any, listed: Any, chances: Any) -> None:
    scores = [score / 8 for score in scores]
    given = dict(zip(("species", *HIGHER), chances, strict=True))
    expected = prior(*listed)
    before = ranking(scores)
    after = expected.apply(before, None)
    lineages = [LINEAGES[i] for i in judged(before, after)]
    found = expected.chances(before, after, Chances(held=given, unknown=0.125), lineages, None)
    odds = math.exp(expected.log_odds(None))
    assert found.held == pytest.approx(chances_by_loops(scores, listed, odds, 2.0, given), abs=1e-4)
    assert found.unknown <= 0.125, "an unknown species is off the list, so none is more probable than before"
    values = [found.held[rank] for rank in ("species", *HIGHER)]
    assert values == sorted(values)
    assert values[-1] <= 1


def test_a_listed_first_species_lowers_the_chance_of_an_unknown_one_and_absent_listed_species_raise_it() -> None:
    """A share of .1 is off the list of one species of ten, so it is 81 times as likely as another."""
    before, held = ranking([2.0, 0.0], species=[0, 5]), {"species": 0.6, "genus": 0.6, "family": 0.6, "order": 0.6}
    calibrated, lineages = Chances(held=held, unknown=0.77), [LINEAGES[0], LINEAGES[5]]  # type: ignore[arg-type]

    def unknown(first: int, n_absent: int) -> float:
        listed = SpeciesList(taxon_ids=frozenset({IDS[first]}), off_list_share=0.1, n_absent=n_absent)
        expected = ListPrior(listed, IDS, temperature=2.0)
        return expected.chances(before, expected.apply(before, None), calibrated, lineages, None).unknown

    assert unknown(0, 0) == pytest.approx(0.77 / (0.77 + 0.23 * (0.6 * 81 + 0.4)), abs=1e-3)
    assert unknown(0, 0) < 0.1 < unknown(0, 1) < unknown(0, 3)
    assert unknown(9, 0) == pytest.approx(0.77), "a listed species that the photo does not show"


def test_a_complete_list_leaves_chances_unchanged() -> None:
    """Also if no other candidate shares genus or family with the first: their chances must not be lost."""
    everything, held = prior(*range(10)), {"species": 0.5, "genus": 0.7, "family": 0.8, "order": 0.9}
    calibrated = Chances(held=held, unknown=0.1)  # type: ignore[arg-type]
    for n in (1, 2, 3, 10):
        before = ranking([3.0 - i / 4 for i in range(n)], species=[0, 9, 5, 7, 1, 2, 3, 4, 6, 8][:n])
        after = everything.apply(before, None)
        lineages = [LINEAGES[i] for i in judged(before, after)]
        assert everything.chances(before, after, calibrated, lineages, None) == calibrated, n


def test_impossible_lists_are_refused_and_an_id_depends_on_content_but_not_order() -> None:
    for share in (0, 1, -0.5):
        with pytest.raises(UsageError, match="share off the list"):
            SpeciesList(taxon_ids=frozenset(IDS), off_list_share=share)
    with pytest.raises(UsageError, match="No species of the list"):
        ListPrior(SpeciesList(taxon_ids=frozenset({"pica-pica"})), IDS, temperature=1.0)
    one = SpeciesList(taxon_ids=frozenset(["a", "b"]), quarters={"a": frozenset([1, 2])})
    assert one.id == SpeciesList(taxon_ids=frozenset(["b", "a"]), quarters={"a": frozenset([2, 1])}).id
    changes: list[dict[str, Any]] = [
        {"taxon_ids": frozenset(["a"])}, {"off_list_share": 0.2}, {"quarters": {"a": frozenset([1])}}, {"n_absent": 1},
    ]  # fmt: skip
    assert len({one.id, *(replace(one, **change).id for change in changes)}) == 5


def test_presets_have_temperatures() -> None:
    assert TEMPERATURES["starter"].keys() == PRESETS.keys() == shipped_calibration().parameters.keys()
    assert temperature_of("paper", "vr-rag-v1", "single") == (TEMPERATURES["starter"]["vr-rag-v1"]["single"], False)


def listed(*names: Any, **changes: Any) -> SpeciesList:
    return SpeciesList(taxon_ids=frozenset(name.lower().replace(" ", "-") for name in names), **changes)


def test_rows_have_scores_and_answers_with_and_without_the_list(store: Any, encoders: Any) -> None:
    photo = bird("black", x=2)
    for preset in sorted(PRESETS):
        plain = next(Recognizer(store, encoders, preset=preset, k=4).identify([photo]))
        recognizer = Recognizer(store, encoders, preset=preset, k=4, species_list=listed("Spinus tristis"))
        row = next(recognizer.identify([photo]))
        boost = recognizer.prior.temperature * recognizer.prior.log_odds(None)
        scores = {each.taxon_id: each.score for each in plain.candidates}
        gains = {key: boost if key == "spinus-tristis" else 0.0 for key in scores}
        for each in row.candidates:
            expected = (scores[each.taxon_id], gains[each.taxon_id], scores[each.taxon_id] + gains[each.taxon_id])
            found = (each.score_without_list, each.scores["list"], each.score)
            assert found == pytest.approx(expected, abs=2e-6), preset
        assert (row.answer_without_list, plain.answer_without_list) == (plain.answer, None), preset
        assert (plain.species_list, row.species_list) == (None, recognizer.species_list.id), preset
        assert boost > 0 and plain.candidates[0].score_without_list is None, preset


def test_a_strong_list_puts_a_listed_species_first_and_is_named_as_the_reason(store: Any, encoders: Any) -> None:
    summer = listed("Spinus tristis", off_list_share=1e-12, quarters={"spinus-tristis": frozenset(range(20, 32))})
    photos = [Photo(image=bird("black", x=2), date=date) for date in ("2026-07-15T08:00:00", "2026-01-15", None)]
    rows = list(Recognizer(store, encoders, k=4, species_list=summer).identify(photos))
    assert [row.answer.name for row in rows] == ["Spinus tristis", "Corvus corax", "Spinus tristis"], "by the season"
    row = rows[0]
    assert (row.answer.name, row.answer_without_list.name) == ("Spinus tristis", "Corvus corax")
    assert {each.scientific_name for each in row.candidates} == set(BIRDS), "nothing is ruled out"
    why = explain(store, row)
    assert (why.deciding_stage, "on the species list" in why.text) == ("list", True)
    assert sum(why.lead_by_stage.values()) == pytest.approx(why.lead, abs=1e-5)


def test_a_photo_is_counted_by_the_effect_of_the_species_list() -> None:
    def species(name: str, confidence: float | None, rank: Any = "species") -> Answer:
        return Answer(rank=rank, name=name, confidence=confidence)

    for first, without, counts in (
        ("Listed", species("Listed", 0.9), (1, 0, 1, 0, 0)),
        ("Listed", species("Listed", 0.89), (1, 0, 0, 0, 0)),
        ("Listed", species("Other", 0.9), (1, 1, 1, 1, 1)),
        ("Listed", species("Other", None), (1, 1, 0, 0, 0)),
        ("Other", species("Other", 1.0), (1, 0, 1, 0, 1)),
        ("Listed", species("Other", 1.0, "genus"), (0, 0, 0, 0, 0)),
        ("Listed", None, (0, 0, 0, 0, 0)),
    ):
        candidate = Candidate(taxon_id=first.lower(), scientific_name=first, common_name=first, score=1.0)
        fit = ListFit({"Listed"}, 0.1)
        fit.add(Identification(image="photo.jpg", candidates=(candidate,), answer_without_list=without))
        assert astuple(fit)[2:] == (1, *counts), (first, without)


def test_a_list_fits_while_unlisted_species_are_within_chance() -> None:
    """4 of 40 are expected at 0.1, with a standard deviation of 1.9; the limit of three deviations is 9.7."""
    assert [ListFit((), 0.1, n_sure=40, n_sure_off=n).fits for n in (9, 10)] == [True, False]
    assert ListFit((), 0.1, n_sure=1, n_sure_off=1).fits, "one photo is not enough"
    two = ListFit((), 0.1, n_sure=2, n_sure_off=2)
    assert (two.fits, two.share_off) == (False, 0.99)


LISBON = Place("Lisbon, Portugal", ((38.7, -9.1),))
JUNE_WEEK = 24


class Occurrences:
    """Stands in for BirdNET's model: three species that it knows by scientific or English name."""

    species: ClassVar = {"Rara avis": 0, "Common Bird": 1, "Edge bird": 2}

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def occurrence(self, place: Place, week: int | None) -> Any:
        self.asked.append((place, week))
        return np.array([0.01, 0.6, 0.03])


def place_prior(odds: float = 10.0) -> PlacePrior:
    """Return the prior over: hardly reported, common (known by its English name), unknown to the model, at the edge."""
    names = (("Rara avis",), ("Avis nova", "Common Bird"), ("Avis ignota", "Unknown Bird"), ("Edge bird",))
    taxa = [Taxon(taxon_id=n[0], scientific_name=n[0], common_names=n[1:], rank="species") for n in names]
    return PlacePrior(Occurrences(), taxa.__getitem__, temperature=2.0, odds=odds)  # type: ignore[arg-type]


def test_a_species_hardly_reported_there_loses_the_log_odds_at_the_temperature_of_the_scores() -> None:
    before = Ranking(species=np.array([0, 2, 1, 3]), scores=np.array([3.0, 2.5, 2.0, 1.0]), stages={})
    made = place_prior()
    after = made.apply(before, (LISBON, JUNE_WEEK))
    assert after.species.tolist() == [2, 1, 3, 0], "known and expected, unknown to the model, at the edge: as they are"
    assert after.stages["place"].tolist() == pytest.approx([0, 0, 0, -2 * math.log(10)])
    assert made._model.asked == [(LISBON, JUNE_WEEK)]  # type: ignore[attr-defined]
    made = place_prior(odds=1.0)
    assert made.apply(before, (LISBON, None)).species.tolist() == before.species.tolist()
    candidates = [Candidate(taxon_id=str(i), scientific_name=str(i), common_name=str(i), score=0.0) for i in range(3)]
    texts = [each.range_text for each in made.with_ranges(candidates, before.species, (LISBON, JUNE_WEEK))]
    assert texts == ["hardly ever reported there and then", None, "reported there and then"]


def test_a_confident_answer_contradicts_the_place_where_its_species_is_hardly_ever_reported() -> None:
    rare = Candidate(taxon_id="r", scientific_name="Rara avis", common_name="", score=0, scores={"place": -3.0})
    known = replace(rare, scientific_name="Avis nova", scores={"place": 0.0})
    cases = {("Rara avis", 0.9): True, ("Gone avis", 0.9): True, ("Avis nova", 0.9): False, ("Rara avis", 0.89): None}
    for (name, confidence), expected in cases.items():
        answer = Answer(rank="species", name=name, confidence=confidence)
        row = Identification(image="a.jpg", candidates=(rare, known), answer_without_place=answer)
        assert contradicts(row) is expected, name
    assert contradicts(Identification(image="a.jpg", candidates=(rare,))) is None


def test_a_prior_moves_candidates_by_its_odds_alone_also_after_another() -> None:
    before, lineages = ranking([3.0, 2.9, 2.0, 1.0]), LINEAGES[:4]
    calibrated = Chances(held={"species": 0.3, "genus": 0.5, "family": 0.7, "order": 0.7}, unknown=0.2)

    def confidences(ranked: Ranking, chances: Chances) -> dict[int, float]:
        found = candidate_confidences(ranked, chances, [LINEAGES[i] for i in ranked.species], temperature=2.0, n=4)
        return dict(zip(ranked.species.tolist(), found, strict=True))

    plain, made = confidences(before, calibrated), place_prior()
    placed = made.apply(before, (LISBON, None))
    chances = made.chances(before, placed, calibrated, lineages, (LISBON, None))
    found = confidences(placed, chances)
    assert found[0] / found[1] == pytest.approx(plain[0] / plain[1] / 10, rel=1e-2), "hardly ever reported there"
    assert found[2] / found[3] == pytest.approx(plain[2] / plain[3], rel=1e-2)
    neutral = place_prior(odds=1.0)
    again = neutral.apply(placed, (LISBON, None))
    assert confidences(again, neutral.chances(placed, again, chances, lineages, (LISBON, None))) == found
