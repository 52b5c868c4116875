"""Laws of all encoders."""

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.contracts import ImageEncoder, TextEncoder, TextImageEncoder
from recognize.encoders.profiles import load_encoders
from tests.toy.encoders import toy_encoders

TEXTS = [
    "The crown is scarlet, the belly white; the bill is short and orange.",
    "Plumage blue above, rusty below.",
    "",
    "of the and",
    "Ελληνικά 鳥 🐦",
    "A brown bird. " * 200,
]


def unique(encoders: Any) -> Any:
    return list({encoder.space: encoder for encoder in encoders}.values())


# The others need torch and weights of a hub: tests/recognize/encoders holds these laws for their kinds of models.
OFFLINE = (load_encoders("starter"), toy_encoders())


def all_encoders() -> Any:
    return unique(e for encoders in OFFLINE for e in (*encoders.text_image, encoders.visual, encoders.sentence))


IMAGE_ENCODERS = [e for e in all_encoders() if isinstance(e, ImageEncoder)]
TEXT_ENCODERS = [e for e in all_encoders() if isinstance(e, TextEncoder)]


def drawings() -> Any:
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (50, 90, 3), dtype=np.uint8))
    bird = Image.new("RGB", (300, 200), "skyblue")
    ImageDraw.Draw(bird).ellipse((90, 60, 210, 140), fill="firebrick")
    return [
        bird,
        noise,
        Image.new("RGB", (1, 1), "red"),
        Image.new("RGB", (2000, 3), "white"),
        Image.new("RGB", (64, 64), "black"),
        bird.convert("L"),
        bird.convert("RGBA"),
    ]


def check_rows(rows: Any, n: Any, dim: Any, *, may_be_zero: Any) -> None:
    assert rows.dtype == np.float32
    assert rows.shape == (n, dim)
    assert np.isfinite(rows).all()
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    is_unit = np.abs(lengths - 1) < 1e-5
    assert (is_unit | ((lengths == 0) & may_be_zero)).all()


def ids(encoders: Any) -> Any:
    return [encoder.name for encoder in encoders]


@pytest.mark.parametrize("encoder", IMAGE_ENCODERS, ids=ids(IMAGE_ENCODERS))
def test_rows_of_pictures_are_unit_vectors_the_same_bits_in_every_batch(encoder: Any) -> None:
    pictures = drawings()
    before = [picture.tobytes() for picture in pictures]
    together = encoder.encode_images(pictures)
    check_rows(together, len(pictures), encoder.dim, may_be_zero=False)
    check_rows(encoder.encode_images([]), 0, encoder.dim, may_be_zero=False)
    for i, picture in enumerate(pictures):
        assert encoder.encode_images([picture])[0].tobytes() == together[i].tobytes()
    backwards = encoder.encode_images([*pictures[::-1], *pictures])
    assert backwards[: len(pictures)][::-1].tobytes() == together.tobytes()
    assert [picture.tobytes() for picture in pictures] == before


@pytest.mark.parametrize("encoder", TEXT_ENCODERS, ids=ids(TEXT_ENCODERS))
def test_rows_of_texts_are_unit_vectors_or_zero_the_same_bits_in_every_batch(encoder: Any) -> None:
    together = encoder.encode_texts(TEXTS)
    check_rows(together, len(TEXTS), encoder.dim, may_be_zero=True)
    check_rows(encoder.encode_texts([]), 0, encoder.dim, may_be_zero=True)
    for i, text in enumerate(TEXTS):
        assert encoder.encode_texts([text])[0].tobytes() == together[i].tobytes()
    backwards = encoder.encode_texts([*TEXTS[::-1], *TEXTS])
    assert backwards[: len(TEXTS)][::-1].tobytes() == together.tobytes()
    counts = [encoder.count_tokens(text) for text in ("", "red crown", "red crown and a long blue tail")]
    assert counts == sorted(set(counts))
    assert encoder.max_tokens is None or encoder.max_tokens > 0


def test_a_profile_holds_what_it_promises_and_a_space_names_a_revision() -> None:
    for encoders in OFFLINE:
        others = [*encoders.text_image, encoders.sentence]
        spaces = [encoder.space for encoder in others]
        assert len(set(spaces)) == len(spaces), "no two encoders share a space"
        assert encoders.spaces == tuple(dict.fromkeys((*spaces[:-1], encoders.visual.space, spaces[-1])))
        for encoder in (*others, encoders.visual):
            name, _, revision = encoder.space.rpartition("/")
            assert name and revision and encoder.space == encoder.space.strip()
        assert all(isinstance(encoder, TextImageEncoder) for encoder in encoders.text_image)
        assert isinstance(encoders.visual, ImageEncoder)
        assert isinstance(encoders.sentence, TextEncoder)
