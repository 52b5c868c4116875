"""Photos of known birds, of others and of noise, with the shipped knowledge and with one or two species."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import kb
import recognize
from data.errors import MissingContents
from data.records import Identification
from recognize.settings import MIN_CONFIDENCE
from tests.toy.store import MemoryStore, Sketch

# The photo of the README, and photos outside the training of the models, drawn by chance.
PHOTOS = (
    "cardinalis-cardinalis/birds525-valid-11", "setophaga-striata/nabirds33-08", "cardellina-canadensis/nabirds33-08",
    "junco-hyemalis/nabirds33-36", "molothrus-ater/vbet-11", "geothlypis-trichas/nabirds33-10",
    "setophaga-townsendi/nabirds33-41", "agelaius-phoeniceus/birds525-valid-15", "parkesia-noveboracensis/nabirds33-23",
    "passerella-iliaca/nabirds33-30", "spinus-tristis/vbet-06", "passerculus-sandwichensis/nabirds33-43",
    "setophaga-pensylvanica/nabirds33-26",
)  # fmt: skip


def noise(rng: np.random.Generator) -> list[Any]:
    """Return pictures of random pixels, of random blocks, and of random colours that blend."""
    pixels = rng.integers(0, 256, (300, 400, 3), dtype=np.uint8)
    few, ways = Image.fromarray(pixels[:6, :8]), (Image.Resampling.NEAREST, Image.Resampling.BICUBIC)
    return [Image.fromarray(pixels), Image.fromarray(pixels[..., 0]), *(few.resize((400, 300), way) for way in ways)]


def test_most_known_birds_are_named_with_a_sane_confidence_and_noise_has_no_name(birds: Path, unpacked: Path) -> None:
    """Each picture by itself. In noise the detector sees no bird."""
    encoders = recognize.load_encoders("starter")
    pictures = [*(birds / "photos" / f"{photo}.jpg" for photo in PHOTOS), *noise(np.random.default_rng(0))]
    with kb.open(home=unpacked, encoders=encoders) as store:
        recognizer = recognize.Recognizer(store, encoders)
        rows: list[Any] = [next(recognizer.identify([picture])) for picture in pictures]
    named = [row for row in rows[: len(PHOTOS)] if row.answer.rank == "species"]
    right = [row for row in named if row.candidates[0].taxon_id == Path(row.image).parent.name]
    assert len(right) >= 7 and len(named) - len(right) <= 2
    assert all((row.answer.confidence or 0) >= MIN_CONFIDENCE for row in right)
    assert rows[0].answer.name == "Cardinalis cardinalis" and rows[0].answer.confidence > 0.6, "of the README"
    assert [row.answer.rank for row in rows[len(PHOTOS) :]] == ["none"] * 4


ROBIN, JAY, THIRD = "Erithacus rubecula", "Cyanocitta cristata", "cardinalis-cardinalis/birds525-valid-11"
PHOTOS_OF = {ROBIN: "erithacus-rubecula/oiseaux-fr-02", JAY: "cyanocitta-cristata/vbet-03"}
ANCHORS = {ROBIN: "erithacus-rubecula/danish-birds-01", JAY: "cyanocitta-cristata/vbet-01"}
TEXTS = {
    ROBIN: "A small bird. Face and breast orange, upperparts brown, belly white.",
    JAY: "Upperparts and crest blue, underparts white, a black necklace.",
}
LINEAGES = {ROBIN: {"genus": "Erithacus", "family": "Muscicapidae"}, JAY: {"genus": "Cyanocitta", "family": "Corvidae"}}
# Species with an anchor; species with a text.
CONTENTS = {
    "one anchor": ([ROBIN], []), "one text": ([], [ROBIN]), "two anchors": ([ROBIN, JAY], []),
    "two texts": ([], [ROBIN, JAY]), "an anchor and a text": ([ROBIN], [JAY]),
    "one anchor, two texts": ([JAY], [ROBIN, JAY]),
}  # fmt: skip


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
        row = answer(recognizer, read(birds, PHOTOS_OF[species]))
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
