"""A knowledge base that lacks a species which the model knows: the answer names it as a look-alike."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from data.arrays import FloatArray
from recognize import Recognizer
from recognize.answer_text import answer_lines
from recognize.confidence.calibration import Calibration, Parameters, vocabulary_hash
from recognize.scoring.knowledge import read_knowledge
from tests.recognize.birds_in_memory import BIRDS, bird
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch

JAY = "Cyanocitta cristata"


@dataclass(frozen=True)
class TrainedLook:
    """A visual encoder with a prototype of each bird."""

    look: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.look, name)

    def prototypes(self) -> tuple[tuple[str, ...], FloatArray]:
        return tuple(BIRDS), self.look.encode_images([bird(colour) for colour, *_ in BIRDS.values()])


@pytest.fixture(scope="module")
def encoders() -> Any:
    plain = toy_encoders()
    return replace(plain, visual=TrainedLook(plain.visual))


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
    assert answer_lines(row)[1].startswith(f"Looks like Blue Jay ({JAY}), which it does not hold.")
    for store in (store_without(set(), encoders), store_without({"Spinus tristis"}, encoders)):
        row = next(recognizer(store, encoders).identify([bird("royalblue", x=1)]))
        assert row.answer is not None
        assert (row.status, row.answer.name, row.answer.looks_like) == ("identified", JAY, None)
