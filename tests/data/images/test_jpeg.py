"""JPEGs for a model: small, upright, without metadata, and not re-encoded unless necessary."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage
from data.images.jpeg import jpeg_of
from data.records import Box


def noise(width: Any, height: Any) -> Any:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8))


def with_exif(path: Any, picture: Any, *, orientation: Any) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "A camera maker"
    exif.get_ifd(0x8825)[1] = "N"
    picture.save(path, "JPEG", exif=exif, comment=b"taken at home")


def test_a_small_upright_jpeg_only_loses_its_metadata(tmp_path: Path) -> None:
    with_exif(tmp_path / "a.jpg", noise(200, 100), orientation=1)
    sent = jpeg_of(tmp_path / "a.jpg")
    assert b"camera maker" in (tmp_path / "a.jpg").read_bytes() and b"at home" in (tmp_path / "a.jpg").read_bytes()
    assert b"camera maker" not in sent and b"at home" not in sent and b"Exif" not in sent
    with Image.open(io.BytesIO(sent)) as ours, Image.open(tmp_path / "a.jpg") as theirs:
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))


def test_a_rotated_photo_is_turned_upright(tmp_path: Path) -> None:
    with_exif(tmp_path / "a.jpg", noise(200, 100), orientation=6)
    with Image.open(io.BytesIO(jpeg_of(tmp_path / "a.jpg"))) as sent:
        assert sent.size == (100, 200)


@pytest.mark.parametrize("name", ["large.jpg", "large.png"])
def test_a_large_photo_is_scaled_down(tmp_path: Path, name: str) -> None:
    noise(1500, 750).save(tmp_path / name)
    with Image.open(io.BytesIO(jpeg_of(tmp_path / name, max_side=512))) as sent:
        assert (sent.format, sent.size) == ("JPEG", (512, 256))


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_a_box_gives_the_crop_with_a_margin_in_pixels_of_the_upright_file(tmp_path: Path, name: str) -> None:
    picture = Image.new("RGB", (1200, 600), "white")
    picture.paste((200, 0, 0), (700, 100, 900, 200))
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / name, exif=_turned())
    with Image.open(io.BytesIO(jpeg_of(tmp_path / name, Box(700, 100, 900, 200), max_side=400))) as sent:
        assert sent.size == (240, 120)
        assert [sent.getpixel(at)[1] > 200 for at in ((5, 60), (120, 60), (235, 60))] == [True, False, True]


def _turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def test_padding_between_jpeg_segments_is_skipped(tmp_path: Path) -> None:
    """Any number of 0xFF bytes may precede a marker."""
    with_exif(tmp_path / "plain.jpg", noise(200, 100), orientation=1)
    content = (tmp_path / "plain.jpg").read_bytes()
    at = content.index(b"\xff\xdb")  # the first table
    (tmp_path / "padded.jpg").write_bytes(content[:at] + b"\xff\xff\xff" + content[at:])
    assert jpeg_of(tmp_path / "padded.jpg") == jpeg_of(tmp_path / "plain.jpg")


@pytest.mark.parametrize(("width", "height", "quality"), [(800, 800, 97), (100, 1100, 95)])
def test_a_jpeg_with_too_many_bytes_or_pixels_is_re_encoded(
    tmp_path: Path, width: int, height: int, quality: int
) -> None:
    noise(width, height).save(tmp_path / "a.jpg", quality=quality)
    sent = jpeg_of(tmp_path / "a.jpg")
    assert len(sent) < (tmp_path / "a.jpg").stat().st_size
    with Image.open(io.BytesIO(sent)) as made:
        assert max(made.size) <= 1024


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_other_colour_modes_are_converted_to_rgb(tmp_path: Path, mode: str) -> None:
    noise(200, 100).convert(mode).save(tmp_path / "a.jpg")
    with Image.open(io.BytesIO(jpeg_of(tmp_path / "a.jpg"))) as sent:
        assert (sent.mode, sent.size) == ("RGB", (200, 100))


def test_truncated_and_invalid_pictures_are_refused(tmp_path: Path) -> None:
    noise(200, 100).save(tmp_path / "a.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:2000])
    (tmp_path / "text.jpg").write_bytes(b"no picture")
    for name in ("cut.jpg", "text.jpg", "missing.jpg"):
        with pytest.raises(BadImage):
            jpeg_of(tmp_path / name)
