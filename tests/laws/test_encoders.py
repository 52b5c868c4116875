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
class TestImageEncoders:
    def test_rows_are_float32_and_of_length_one(self, encoder: Any) -> None:
        check_rows(encoder.encode_images(drawings()), len(drawings()), encoder.dim, may_be_zero=False)

    def test_no_pictures_give_no_rows(self, encoder: Any) -> None:
        check_rows(encoder.encode_images([]), 0, encoder.dim, may_be_zero=False)

    def test_a_row_is_the_same_bits_in_every_batch(self, encoder: Any) -> None:
        pictures = drawings()
        together = encoder.encode_images(pictures)
        for i, picture in enumerate(pictures):
            assert encoder.encode_images([picture])[0].tobytes() == together[i].tobytes()
        backwards = encoder.encode_images([*pictures[::-1], *pictures])
        assert backwards[: len(pictures)][::-1].tobytes() == together.tobytes()

    def test_the_pictures_are_left_as_they_were(self, encoder: Any) -> None:
        pictures = drawings()
        before = [picture.tobytes() for picture in pictures]
        encoder.encode_images(pictures)
        assert [picture.tobytes() for picture in pictures] == before


@pytest.mark.parametrize("encoder", TEXT_ENCODERS, ids=ids(TEXT_ENCODERS))
class TestTextEncoders:
    def test_rows_are_float32_and_of_length_one_or_zero(self, encoder: Any) -> None:
        check_rows(encoder.encode_texts(TEXTS), len(TEXTS), encoder.dim, may_be_zero=True)

    def test_no_texts_give_no_rows(self, encoder: Any) -> None:
        check_rows(encoder.encode_texts([]), 0, encoder.dim, may_be_zero=True)

    def test_a_row_is_the_same_bits_in_every_batch(self, encoder: Any) -> None:
        together = encoder.encode_texts(TEXTS)
        for i, text in enumerate(TEXTS):
            assert encoder.encode_texts([text])[0].tobytes() == together[i].tobytes()
        backwards = encoder.encode_texts([*TEXTS[::-1], *TEXTS])
        assert backwards[: len(TEXTS)][::-1].tobytes() == together.tobytes()

    def test_longer_texts_have_more_tokens(self, encoder: Any) -> None:
        counts = [encoder.count_tokens(text) for text in ("", "red crown", "red crown and a long blue tail")]
        assert counts == sorted(set(counts))
        assert encoder.max_tokens is None or encoder.max_tokens > 0


@pytest.mark.parametrize("encoder", all_encoders(), ids=ids(all_encoders()))
def test_the_space_names_a_revision(encoder: Any) -> None:
    name, _, revision = encoder.space.rpartition("/")
    assert name and revision
    assert encoder.space == encoder.space.strip()


@pytest.mark.parametrize("encoders", OFFLINE, ids=lambda encoders: encoders.profile)
def test_no_two_encoders_share_a_space(encoders: Any) -> None:
    others = [e.space for e in (*encoders.text_image, encoders.sentence)]
    assert len(set(others)) == len(others)
    assert encoders.spaces == tuple(dict.fromkeys((*others[:-1], encoders.visual.space, others[-1])))


@pytest.mark.parametrize("encoders", OFFLINE, ids=lambda encoders: encoders.profile)
def test_a_profile_holds_what_it_promises(encoders: Any) -> None:
    assert all(isinstance(encoder, TextImageEncoder) for encoder in encoders.text_image)
    assert isinstance(encoders.visual, ImageEncoder)
    assert isinstance(encoders.sentence, TextEncoder)
