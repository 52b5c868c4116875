from dataclasses import replace
from typing import Any

import pytest

from data.arrays import FloatArray
from data.records import Answer, Candidate, Reading, Taxon
from recognize import Recognizer
from recognize.answers import (
    RANKS,
    answer_names,
    candidate_name,
    lineage_with_self,
    message_of,
    percent,
    status_of,
    unanswered_text,
)
from recognize.candidates import answer_of
from recognize.confidence.calibration import Calibration, Chances, Parameters, vocabulary_hash
from recognize.scoring.knowledge import read_knowledge
from tests.recognize.birds_in_memory import BIRDS, bird
from tests.toy.encoders import PlainLook, toy_encoders
from tests.toy.store import MemoryStore, Sketch

FIRST = Taxon(
    taxon_id="setophaga-pinus", scientific_name="Setophaga pinus", rank="species", common_names=("Pine Warbler",)
)
LINEAGE = {"genus": "Setophaga", "family": "Parulidae", "order": "Passeriformes"}
LIKEST = Taxon(
    taxon_id="avis-alta", scientific_name="Avis alta", rank="species", common_names=("High Bird",),
    lineage=LINEAGE | {"family": "Avidae"},
)  # fmt: skip


def answered(
    *held: float,
    unknown: float = 0.0,
    lineage: Any = LINEAGE,
    least: float = 0.5,
    first: Taxon = FIRST,
    is_poor: bool = False,
) -> Answer:
    chances = Chances(held=dict(zip(RANKS, held, strict=True)), unknown=unknown, is_poor=is_poor)
    return answer_of(first, chances, lineage, min_confidence=least, likest=LIKEST)


def test_an_answer_rolls_up_to_the_first_confident_rank() -> None:
    for held, expected in (
        ((0.6, 0.8, 0.9, 1.0), ("species", "Setophaga pinus", 0.6, "Parulidae", "Passeriformes")),
        ((0.4, 0.8, 0.9, 1.0), ("genus", "Setophaga", 0.8, "Parulidae", "Passeriformes")),
        ((0.4, 0.45, 0.9, 1.0), ("family", "Parulidae", 0.9, "Parulidae", "Passeriformes")),
        ((0.4, 0.45, 0.49, 0.7), ("order", "Passeriformes", 0.7, None, "Passeriformes")),
        ((0.4, 0.45, 0.49, 0.49), ("none", "", None, None, None)),
        ((0.5, 0.5, 0.5, 0.5), ("species", "Setophaga pinus", 0.5, "Parulidae", "Passeriformes")),
    ):
        answer = answered(*held)
        assert (answer.rank, answer.name, answer.confidence, answer.family, answer.order) == expected, held
        assert answer.common_name == ("Pine Warbler" if answer.rank == "species" else None), held
        assert answer.looks_like is None, held
        assert status_of(answer) == ("not_sure" if answer.rank == "none" else "identified"), held


def test_a_rank_without_a_name_is_skipped_and_a_probably_unknown_species_is_never_named() -> None:
    for held, settings, rank in (
        ((0.1, 0.8, 0.9, 1.0), {"lineage": {"family": "Parulidae"}}, "family"),
        ((0.1, 0.8, 0.9, 1.0), {"lineage": {}}, "none"),
        ((1.0, 1.0, 1.0, 1.0), {"unknown": 0.61, "least": 0.0}, "none"),
    ):
        assert answered(*held, **settings).rank == rank, (held, settings)  # type: ignore[arg-type]


def test_an_unknown_species_needs_a_good_look_and_has_no_rank_but_a_lookalike() -> None:
    lower = answered(0.6, 0.9, 0.95, 1.0, unknown=0.3)
    assert (lower.rank, lower.confidence, lower.p_unknown, lower.looks_like) == ("genus", 0.63, 0.3, None)
    good = answered(0.9, 0.95, 0.99, 1.0, unknown=0.8)
    assert (good.rank, good.name, good.confidence, good.p_unknown) == ("none", "", 0.8, 0.8)
    assert (good.looks_like, good.looks_like_common_name) == ("Avis alta", "High Bird")
    poor = answered(0.9, 0.95, 0.99, 1.0, unknown=0.8, is_poor=True)
    assert (poor.rank, poor.confidence, poor.p_unknown, poor.looks_like) == ("none", None, 0.8, None)
    assert [status_of(answer) for answer in (lower, good, poor)] == ["identified", "unknown", "not_sure"]


def test_an_uncalibrated_answer_is_the_first_species_without_confidence() -> None:
    plain = answer_of(FIRST, None, {"family": "Parulidae"}, min_confidence=1.0)
    assert plain == Answer(rank="species", name="Setophaga pinus", common_name="Pine Warbler", family="Parulidae")
    assert status_of(plain) == "identified"
    assert answer_of(None, None, {}, min_confidence=0.0) == Answer(rank="none", name="")


GENUS = Taxon(
    taxon_id="russula", scientific_name="Russula", rank="genus", common_names=("Brittlegills",),
    lineage={"order": "Russulales", "family": "Russulaceae"},
)  # fmt: skip


def test_an_entry_for_a_genus_is_never_named_as_a_species() -> None:
    sure = answered(0.7, 0.8, 0.9, 1.0, lineage=lineage_with_self(GENUS), first=GENUS)
    assert (sure.rank, sure.name, sure.common_name) == ("genus", "Russula", "Brittlegills")
    assert sure.confidence == 0.8, "the chance of the genus, whose species may be entries too"
    assert (sure.family, sure.order) == ("Russulaceae", "Russulales")
    unsure = answered(0.3, 0.4, 0.9, 1.0, lineage=lineage_with_self(GENUS), first=GENUS)
    assert (unsure.rank, unsure.name, unsure.common_name) == ("family", "Russulaceae", None)
    plain = answer_of(GENUS, None, lineage_with_self(GENUS), min_confidence=1.0)
    assert (plain.rank, plain.name, plain.common_name, plain.confidence) == ("genus", "Russula", "Brittlegills", None)


JAY = "Cyanocitta cristata"


class TrainedLook(PlainLook):
    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        return tuple(BIRDS), self.encode_images([bird(colour) for colour, *_ in BIRDS.values()])


@pytest.fixture(scope="module")
def encoders() -> Any:
    return replace(toy_encoders(), visual=TrainedLook())


def store_without(names: set[str], encoders: Any) -> MemoryStore:
    kept = {name: each for name, each in BIRDS.items() if name not in names}
    sketches = {
        name: Sketch(texts=[text], pictures=[bird(colour, x=3)], lineage={"genus": name.split()[0]})
        for name, (colour, _, text) in kept.items()
    }
    return MemoryStore(sketches, encoders)


def recognizer(store: MemoryStore, encoders: Any) -> Recognizer:
    """Return a recognizer for which a species is unknown where the background fits better by .02 or more."""
    made = Parameters(
        temperature=1.0, held={"species": {"bias": 3.0}}, unknown={"bias": -4.0, "background_margin": 200.0},
    )  # fmt: skip
    calibration = Calibration(
        profile="paper", spaces=encoders.spaces, vocabulary=vocabulary_hash(store.taxon_ids),
        parameters={"anchors-only": {"single": made}},
    )  # fmt: skip
    return Recognizer(store, encoders, preset="anchors-only", calibration=calibration, unknown_prior=0.5)


def test_candidates_are_the_first_by_score_and_the_most_confident_others(encoders: Any) -> None:
    """With a sure genus its other species is a candidate, though species of other genera score higher."""
    colours = {"Alba una": "crimson", "Alba altera": "lime", "Rubra una": "magenta", "Rubra altera": "orange"}
    sketches = {
        name: Sketch(pictures=[bird(colour, x=3)], lineage={"genus": name.split()[0]})
        for name, colour in colours.items()
    }
    store = MemoryStore(sketches, encoders)
    held: Any = {"species": {"bias": 0.0}, "genus": {"bias": 3.0}}
    made = Parameters(temperature=1.0, held=held, unknown={"bias": -4.0})
    calibration = Calibration(
        profile="paper", spaces=encoders.spaces, vocabulary=vocabulary_hash(store.taxon_ids),
        parameters={"anchors-only": {"single": made}},
    )  # fmt: skip

    def candidates(k: int, calibration: Calibration | None) -> tuple[Candidate, ...]:
        found = Recognizer(store, encoders, preset="anchors-only", k=k, calibration=calibration)
        return next(found.identify([bird("crimson", x=1)])).candidates

    by_score = [each.scientific_name for each in candidates(4, None)]
    assert by_score[0] == "Alba una" and by_score[1].startswith("Rubra")
    assert [each.scientific_name for each in candidates(2, calibration)] == ["Alba una", "Alba altera"]
    found = candidates(4, calibration)
    assert [each.scientific_name for each in found[2:]] == [name for name in by_score if name.startswith("Rubra")]
    assert found[1].score == candidates(4, None)[by_score.index("Alba altera")].score


def test_the_background_are_the_species_that_the_knowledge_base_lacks(encoders: Any) -> None:
    knowledge = read_knowledge(store_without({JAY, "Corvus corax"}, encoders), encoders)
    assert knowledge.background_names == (JAY, "Corvus corax")
    assert len(knowledge.trained) == len(knowledge.prototypes) == 2
    names, vectors = encoders.visual.prototypes()
    assert knowledge.background.tolist() == vectors[[names.index(JAY), names.index("Corvus corax")]].tolist()
    assert read_knowledge(store_without(set(), encoders), encoders).background_names == ()


def test_an_unheld_bird_is_unknown_and_its_lookalike_is_named_and_a_held_bird_has_none(encoders: Any) -> None:
    row = next(recognizer(store_without({JAY}, encoders), encoders).identify([bird("royalblue", x=1)]))
    assert row.answer is not None
    assert (row.status, row.answer.rank, row.answer.name) == ("unknown", "none", "")
    assert (row.answer.looks_like, row.answer.looks_like_common_name) == (JAY, "Blue Jay")
    assert f"It looks like Blue Jay ({JAY}), which the knowledge base does not hold." in message_of(row).notes
    for store in (store_without(set(), encoders), store_without({"Spinus tristis"}, encoders)):
        row = next(recognizer(store, encoders).identify([bird("royalblue", x=1)]))
        assert row.answer is not None
        assert (row.status, row.answer.name, row.answer.looks_like) == ("identified", JAY, None)


def test_an_answer_is_put_in_words_and_no_chance_is_rounded_to_none_or_all() -> None:
    assert [percent(chance) for chance in (0.0001, 0.5, 0.999)] == ["under 1 %", "50 %", "over 99 %"]
    for answer, names in (
        (Answer(rank="species", name="Parus major", common_name="Great Tit"), ("Great Tit", "Parus major")),
        (Answer(rank="species", name="Parus major"), ("Parus major", "")),
        (Answer(rank="genus", name="Parus", family="Paridae"), ("One of the genus Parus", "tits and chickadees")),
        (Answer(rank="family", name="Thraupidae", order="Passeriformes"), ("One of the tanagers", "Thraupidae")),
        (Answer(rank="family", name="Parulidae"), ("One of the New World warblers", "Parulidae")),
        (Answer(rank="family", name="Trogonidae", order="Trogoniformes"), ("One of the trogons", "Trogonidae")),
        (Answer(rank="order", name="Passeriformes"), ("One of the perching birds", "Passeriformes")),
        (Answer(rank="family", name="Nymphalidae"), ("One of the family Nymphalidae", "")),
    ):
        assert answer_names(answer) == names
    tit = Candidate(taxon_id="parus-major", scientific_name="Parus major", common_name="Great Tit", score=1.0)
    assert candidate_name(tit) == "Great Tit (Parus major)"
    assert candidate_name(replace(tit, taxon_rank="genus")) == "genus Great Tit (Parus major)"
    reading = Reading(choice=None, agreement=0.0, samples=4, answered=1, failures=("no  reply", "no  reply"))
    assert unanswered_text(reading) == "1 of 4 samples answered (2 failed: no reply; 1 unreadable)"
    assert unanswered_text(replace(reading, answered=4)) == ""
