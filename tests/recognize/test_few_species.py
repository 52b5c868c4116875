"""Knowledge bases of one or two species, as a new user builds first: photos of them, of a third bird, and noise."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recognize
from data.errors import MissingContents
from data.records import Identification
from tests.toy.store import MemoryStore, Sketch

ROBIN, JAY, THIRD = "Erithacus rubecula", "Cyanocitta cristata", "cardinalis-cardinalis/birds525-valid-11"
PHOTOS = {ROBIN: "erithacus-rubecula/oiseaux-fr-02", JAY: "cyanocitta-cristata/vbet-03"}
ANCHORS = {ROBIN: "erithacus-rubecula/danish-birds-01", JAY: "cyanocitta-cristata/vbet-01"}
TEXTS = {
    ROBIN: "A small bird. Face and breast orange, upperparts brown, belly white.",
    JAY: "Upperparts and crest blue, underparts white, a black necklace.",
}
LINEAGES = {ROBIN: {"genus": "Erithacus", "family": "Muscicapidae"}, JAY: {"genus": "Cyanocitta", "family": "Corvidae"}}
# Species with an anchor; species with a text.
CONTENTS = {
    "one anchor": ([ROBIN], []),
    "one text": ([], [ROBIN]),
    "two anchors": ([ROBIN, JAY], []),
    "two texts": ([], [ROBIN, JAY]),
    "an anchor and a text": ([ROBIN], [JAY]),
    "one anchor, two texts": ([JAY], [ROBIN, JAY]),
}


def read(birds: Path, photo: str) -> Any:
    return Image.open(birds / "photos" / f"{photo}.jpg").convert("RGB")


def sketch(birds: Path, name: str, *, anchor: bool, text: bool) -> Sketch:
    pictures = [read(birds, ANCHORS[name])] if anchor else []
    return Sketch(texts=[TEXTS[name]] if text else [], pictures=pictures, lineage=LINEAGES[name])


@pytest.fixture(params=CONTENTS)
def store(request: pytest.FixtureRequest, birds: Path) -> MemoryStore:
    with_anchor, with_text = CONTENTS[request.param]
    names = dict.fromkeys((*with_anchor, *with_text))
    sketches = {name: sketch(birds, name, anchor=name in with_anchor, text=name in with_text) for name in names}
    return MemoryStore(sketches, recognize.load_encoders("starter"))


def answer(recognizer: recognize.Recognizer, photo: Any) -> Identification:
    """Return the answer to a photo by itself, whose numbers must be finite."""
    row = next(recognizer.identify([photo]))
    for candidate in row.candidates:
        assert all(math.isfinite(score) for score in candidate.scores.values() if score is not None)
        assert 0 <= (candidate.confidence or 0) <= 1
    assert row.answer is not None
    assert 0 <= (row.answer.confidence or 0) <= 1
    return row


@pytest.mark.parametrize("preset", sorted(recognize.PRESETS))
def test_birds_of_a_small_knowledge_base_are_named_and_others_are_not(
    store: MemoryStore, birds: Path, preset: str
) -> None:
    encoders = recognize.load_encoders("starter")
    try:
        recognizer = recognize.Recognizer(store, encoders, preset=preset)
    except MissingContents:
        return  # a preset of texts without texts, or of anchors without anchors
    for name in store.taxon_ids if preset == "default" else ():
        species = ROBIN if name == "erithacus-rubecula" else JAY
        row = answer(recognizer, read(birds, PHOTOS[species]))
        assert row.answer is not None
        assert (row.answer.rank, row.answer.name) == ("species", species)
        assert (row.answer.confidence or 0) > 0.5
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8))
    for photo in (read(birds, THIRD), noise):
        row = answer(recognizer, photo)
        assert row.answer is not None
        if preset == "default":
            assert row.answer.rank != "species"
        assert row.answer.rank != "species" or (row.answer.confidence or 0) < 0.9
