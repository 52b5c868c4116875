from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import kb
import recognize
from recognize.settings import MIN_CONFIDENCE

# The photo of the README, and photos outside the training of the models, drawn by chance.
PHOTOS = (
    "cardinalis-cardinalis/birds525-valid-11", "setophaga-striata/nabirds33-08", "cardellina-canadensis/nabirds33-08",
    "junco-hyemalis/nabirds33-36", "molothrus-ater/vbet-11", "geothlypis-trichas/nabirds33-10",
    "setophaga-townsendi/nabirds33-41", "agelaius-phoeniceus/birds525-valid-15", "parkesia-noveboracensis/nabirds33-23",
    "passerella-iliaca/nabirds33-30", "spinus-tristis/vbet-06", "passerculus-sandwichensis/nabirds33-43",
    "setophaga-pensylvanica/nabirds33-26",
)  # fmt: skip


PIXELS = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
NOISE, BLOCKS = Image.fromarray(PIXELS), Image.fromarray(PIXELS[:6, :8]).resize((400, 300), Image.Resampling.BICUBIC)


def test_most_known_birds_are_named_with_a_sane_confidence_and_noise_has_no_name(birds: Path, unpacked: Path) -> None:
    encoders = recognize.load_encoders("starter")
    pictures = [*(birds / "photos" / f"{photo}.jpg" for photo in PHOTOS), NOISE, BLOCKS]
    with kb.open(home=unpacked, encoders=encoders) as store:
        recognizer = recognize.Recognizer(store, encoders)
        rows: list[Any] = [next(recognizer.identify([picture])) for picture in pictures]
    named = [row for row in rows[: len(PHOTOS)] if row.answer.rank == "species"]
    right = [row for row in named if row.candidates[0].taxon_id == Path(row.image).parent.name]
    assert len(right) >= 7 and len(named) - len(right) <= 2
    assert all((row.answer.confidence or 0) >= MIN_CONFIDENCE for row in right)
    assert rows[0].answer.name == "Cardinalis cardinalis" and rows[0].answer.confidence > 0.6, "of the README"
    assert [row.answer.rank for row in rows[len(PHOTOS) :]] == ["none"] * 2
