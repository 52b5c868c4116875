import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.arrays import FloatArray, as_unit_rows
from data.errors import BadImage
from data.images.views import MARGIN, crop_to, encode_views, jpeg_of, views_of
from data.records import Box


def noise(width: Any, height: Any) -> Any:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8))


def with_exif(path: Any, picture: Any, *, orientation: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "A camera maker"
    exif.get_ifd(0x8825)[1] = "N"
    picture.save(path, "JPEG", exif=exif, comment=b"taken at home")


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_a_small_upright_jpeg_only_loses_its_metadata_and_padding(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    with_exif(path, noise(200, 100), orientation=1)
    sent, content = jpeg_of(path), path.read_bytes()
    assert b"camera maker" in content and b"at home" in content
    assert b"camera maker" not in sent and b"at home" not in sent and b"Exif" not in sent
    with Image.open(path) as theirs:
        assert np.array_equal(np.asarray(opened(sent)), np.asarray(theirs))
    at = content.index(b"\xff\xdb")  # the first table; any number of 0xFF bytes may precede a marker
    path.write_bytes(content[:at] + b"\xff\xff\xff" + content[at:])
    assert jpeg_of(path) == sent
    path.write_bytes(content + b"\0\0\0\x18ftypmp42 at home")
    assert b"at home" not in jpeg_of(path)


def test_photos_are_turned_scaled_down_converted_and_re_encoded_if_too_large(tmp_path: Path) -> None:
    with_exif(tmp_path / "a.jpg", noise(200, 100), orientation=6)
    assert opened(jpeg_of(tmp_path / "a.jpg")).size == (100, 200)
    for name in ("large.jpg", "large.png"):
        noise(1500, 750).save(tmp_path / name)
        sent = opened(jpeg_of(tmp_path / name, max_side=512))
        assert (sent.format, sent.size) == ("JPEG", (512, 256))
    for mode in ("L", "CMYK"):
        noise(200, 100).convert(mode).save(tmp_path / "a.jpg")
        sent = opened(jpeg_of(tmp_path / "a.jpg"))
        assert (sent.mode, sent.size) == ("RGB", (200, 100))
    for width, height, quality in ((800, 800, 97), (100, 1100, 95)):
        noise(width, height).save(tmp_path / "a.jpg", quality=quality)
        content = jpeg_of(tmp_path / "a.jpg")
        assert len(content) < (tmp_path / "a.jpg").stat().st_size and max(opened(content).size) <= 1024


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_a_box_gives_the_crop_with_a_margin_in_pixels_of_the_upright_file(tmp_path: Path, name: str) -> None:
    picture = Image.new("RGB", (1200, 600), "white")
    picture.paste((200, 0, 0), (700, 100, 900, 200))
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / name, exif=exif)
    with Image.open(io.BytesIO(jpeg_of(tmp_path / name, Box(700, 100, 900, 200), max_side=400))) as sent:
        assert sent.size == (240, 120)
        assert [sent.getpixel(at)[1] > 200 for at in ((5, 60), (120, 60), (235, 60))] == [True, False, True]


def test_truncated_and_invalid_pictures_are_refused(tmp_path: Path) -> None:
    noise(200, 100).save(tmp_path / "a.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:2000])
    (tmp_path / "text.jpg").write_bytes(b"no picture")
    for name in ("cut.jpg", "text.jpg", "missing.jpg"):
        with pytest.raises(BadImage):
            jpeg_of(tmp_path / name)


class MeanColour:
    """An encoder whose vectors are mean colours."""

    name, space, dim = "mean colour", "mean-colour/1", 3

    def encode_images(self, images: Sequence[Image.Image]) -> FloatArray:
        return as_unit_rows([np.asarray(image, dtype=np.float64).mean(axis=(0, 1)) for image in images])


def photo(*birds: tuple[Box, tuple[int, int, int]]) -> Image.Image:
    """Return a dark blue picture of 200 by 100 pixels with rectangles for birds."""
    picture = Image.new("RGB", (200, 100), (0, 0, 60))
    for box, colour in birds:
        picture.paste(colour, tuple(map(int, box)))
    return picture


RED = (Box(20, 10, 120, 90), (255, 0, 0))
SMALL_RED = (Box(20, 20, 40, 30), (255, 0, 0))
SMALL_GREEN = (Box(150, 60, 170, 80), (0, 255, 0))


def test_a_large_bird_has_the_photo_and_the_crop_as_views_and_a_small_one_a_region_around_it() -> None:
    picture = photo(RED)
    (views,) = views_of(picture, [RED[0]])
    assert views[0] is picture
    assert views[1].size == (100 * (1 + 2 * MARGIN), 80 * (1 + 2 * MARGIN))
    assert crop_to(photo(), Box(150, 0, 200, 100), MARGIN).size == (55, 100), "inside the photo"
    assert crop_to(photo(), Box(200, 100, 200, 100), MARGIN).size == (1, 1)
    ((wide, crop),) = views_of(photo(SMALL_RED), [SMALL_RED[0]])
    assert (wide.size, crop.size) == ((40, 20), (24, 12))
    for wide, crop in views_of(photo(RED, SMALL_GREEN), [RED[0], SMALL_GREEN[0]]):
        assert crop.width < wide.width < 200, "birds beside each other"


def test_the_vector_of_a_bird_is_the_mean_of_its_views_and_each_bird_of_each_photo_has_a_row() -> None:
    encoder, picture = MeanColour(), photo(RED)
    views = encoder.encode_images([picture, crop_to(picture, RED[0], MARGIN)])
    rows = encode_views(encoder, views_of(picture, [RED[0]]))
    assert rows == pytest.approx(as_unit_rows(views.mean(0)[None]), abs=1e-6)
    assert (encode_views(encoder, views_of(picture, [])) == encoder.encode_images([picture])).all(), "no box"
    two = views_of(photo(SMALL_RED, SMALL_GREEN), [SMALL_RED[0], SMALL_GREEN[0]])
    rows = encode_views(encoder, [*two, *views_of(photo(), []), *views_of(picture, [RED[0]])])
    assert rows.argmax(axis=1).tolist() == [0, 1, 2, 0]
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)
