"""Chances that photos show species of a knowledge base, for queries that name them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest

from data.contracts import SpeciesScorer
from data.errors import BadImage, MissingKnowledgeBase
from recognize import Recognizer
from recognize.confidence.calibration import shipped_calibration
from recognize.scorer import RecognizerScorer
from tests.recognize.birds_in_memory import BIRDS, bird
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch

IDS = {name: name.lower().replace(" ", "-") for name in BIRDS}


def made() -> tuple[MemoryStore, Any]:
    encoders = toy_encoders()
    sketches = {name: Sketch(texts=[text], pictures=[bird(colour)]) for name, (colour, _, text) in BIRDS.items()}
    return MemoryStore(sketches | {"Pica pica": Sketch()}, encoders), encoders


@pytest.fixture
def scorer() -> SpeciesScorer:
    store, encoders = made()
    return RecognizerScorer(store, lambda: Recognizer(store, encoders), state="first")


def test_the_species_of_a_photo_has_the_highest_chance_and_species_without_looks_none(
    scorer: SpeciesScorer, tmp_path: Path
) -> None:
    for name, (colour, *_) in BIRDS.items():
        path = tmp_path / f"{name}.png"
        bird(colour, x=2).save(path)
        chances = {other: scorer.chance(path, [taxon_id]) for other, taxon_id in IDS.items()}
        assert max(chances, key=lambda other: chances[other]) == name
        assert sum(chances.values()) == pytest.approx(1)
        assert scorer.chance(path, list(IDS.values())) == pytest.approx(1)
        assert scorer.chance(path, ["pica-pica", "unknown"]) == 0
    assert [scorer.knows(taxon_id) for taxon_id in ("corvus-corax", "pica-pica", "unknown")] == [True, False, False]
    assert not scorer.is_calibrated
    store, encoders = made()
    recognizer = Recognizer(store, encoders)
    recognizer.calibration = shipped_calibration()
    assert RecognizerScorer(store, lambda: recognizer, state="first").is_calibrated


def test_a_photo_is_recognised_once_until_it_changes(tmp_path: Path) -> None:
    store, encoders = made()
    recognizer, seen, path = Recognizer(store, encoders), list[Any](), tmp_path / "a.png"
    chances = recognizer.chances
    recognizer.chances = lambda images: (seen.append(images), chances(images))[1]  # type: ignore[method-assign]
    scorer = RecognizerScorer(store, lambda: recognizer, state="first")
    for n, colour in enumerate(("crimson", "royalblue"), 1):
        bird(colour, size=96 + n).save(path)
        for taxon_id in ("corvus-corax", "cyanocitta-cristata", "corvus-corax"):
            scorer.chance(path, [taxon_id])
        assert len(seen) == n


def test_photos_of_waiting_threads_are_recognised_together_and_one_by_one_equally(tmp_path: Path) -> None:
    store, encoders = made()
    recognizer, seen = Recognizer(store, encoders), list[list[Any]]()
    chances, first = recognizer.chances, Event()

    def slow(images: Any) -> Any:
        seen.append(list(images))
        first.wait(30)
        return chances(seen[-1])

    recognizer.chances = slow  # type: ignore[method-assign]
    paths = [tmp_path / f"{i}.png" for i in range(6)]
    for i, path in enumerate(paths[:5]):
        bird("crimson" if i % 2 else "royalblue", size=90 + i).save(path)
    paths[5].write_bytes(b"no picture")
    scorer = RecognizerScorer(store, lambda: recognizer, state="first")
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(scorer.chance, path, ["corvus-corax", "cardinalis-cardinalis"]) for path in paths]
        for _ in range(1000):
            if seen and len(scorer._waiting) == 6:
                break
            sleep(0.01)
        first.set()
        found = [each.result() for each in asked[:5]]
        with pytest.raises(BadImage):
            asked[5].result()
    assert len(seen) <= 2 and sum(map(len, seen)) == 6
    alone = RecognizerScorer(store, lambda: Recognizer(store, encoders), state="first")
    expected = [alone.chance(path, ["corvus-corax", "cardinalis-cardinalis"]) for path in paths[:5]]
    assert found == pytest.approx(expected, abs=1e-6)


def test_an_empty_knowledge_base_knows_no_species(tmp_path: Path) -> None:
    store, _ = made()

    def refuse() -> Recognizer:
        raise MissingKnowledgeBase(tmp_path, why="No species in the knowledge base")

    scorer = RecognizerScorer(store, refuse, state="first")
    assert not scorer.knows("corvus-corax") and scorer.chance(tmp_path / "a.png", ["corvus-corax"]) == 0
    assert "first" in scorer.name
