import io
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageCms

from data.errors import BadImage
from data.images.decode import read_image, read_photo
from data.images.header import markers_of
from tests.data.images.test_memory import PEAK, ROOT, png


def encoded(image: Any, kind: Any, **options: Any) -> Any:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def heif(image: Any, **options: Any) -> Any:
    from pillow_heif import from_pillow

    out = io.BytesIO()
    from_pillow(image).save(out, **options)
    return out.getvalue()


def halves(mode: str = "RGB", size: tuple[int, int] = (64, 32)) -> Any:
    """Return an image with the left half red and the right half blue."""
    image = Image.new("RGB", size, (200, 20, 20))
    image.paste((20, 20, 200), (size[0] // 2, 0, *size))
    return image.convert(mode)


def test_every_allowed_format_is_read() -> None:
    kinds = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "MPO")
    for content in (*(encoded(halves(), kind) for kind in kinds), heif(halves(), quality=95)):
        image = read_image(content)
        assert (image.mode, image.size) == ("RGB", (64, 32))
        assert np.abs(np.asarray(image, dtype=int)[16, 8] - (200, 20, 20)).max() < 16, content[:20]


def test_every_mode_is_converted_to_rgb() -> None:
    levels = np.linspace(0, 65535, 64 * 32).reshape(32, 64)
    deep = [Image.fromarray(levels.astype(kind)) for kind in (np.uint16, np.int32, np.float32)]
    for image in (*map(halves, ("L", "P", "1", "LA", "RGBA", "CMYK", "YCbCr")), *deep):
        rgb = read_image(encoded(image, "JPEG" if image.mode == "CMYK" else "TIFF"))
        assert (rgb.mode, rgb.size) == ("RGB", (64, 32))
        values = np.asarray(rgb)
        assert int(values.max()) - int(values.min()) > 30, f"the picture of {image.mode} must not be flat"


def test_deep_values_are_scaled_transparency_is_white_and_the_first_frame_counts() -> None:
    levels = np.array([[0, 257 * 100, 65535]], dtype=np.uint16)
    assert np.asarray(read_image(encoded(Image.fromarray(levels), "PNG")))[0, :, 0].tolist() == [0, 100, 255]
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 0, 200, 0, 0])
    red, blue = (Image.new("RGB", (4, 4), colour) for colour in ("red", "blue"))
    for content, colour in (
        (encoded(Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "PNG"), (255, 255, 255)),
        (encoded(Image.new("RGBA", (4, 4), (255, 0, 0, 128)), "PNG"), (255, 127, 127)),
        (encoded(palette, "GIF", transparency=1), (255, 255, 255)),
        (encoded(palette, "PNG", transparency=b"\xff\x00"), (255, 255, 255)),
        (encoded(red, "GIF", save_all=True, append_images=[blue]), (255, 0, 0)),
    ):
        assert read_image(content).getpixel((0, 0)) == colour


def test_all_eight_exif_orientations_are_turned_upright() -> None:
    upright = halves()
    undo = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_90",
            7: "TRANSVERSE", 8: "ROTATE_270"}  # fmt: skip
    for orientation in range(1, 9):
        stored = upright.transpose(Image.Transpose[undo[orientation]]) if orientation > 1 else upright
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        image = read_image(encoded(stored, "PNG", exif=exif))
        assert np.array_equal(np.asarray(image), np.asarray(upright)), orientation


def test_the_error_describes_a_file_without_an_image() -> None:
    for content, reason in (
        (b"", "is empty"),
        (b"hello, this is text", "is not an image"),
        (b"<!DOCTYPE html><html></html>", "is an HTML page"),
        (b"\n<svg xmlns='x'></svg>", "is an SVG drawing"),
        (b"%PDF-1.7", "is a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "is damaged or incomplete"),
        (b"\xff\xd8\xff", "is damaged or incomplete"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "is damaged or incomplete"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", "is damaged or incomplete"),
        (b"\x01" * 5000, "is not an image"),
        (encoded(halves(), "PPM"), "is not an image, expected a JPEG"),
    ):
        with pytest.raises(BadImage, match=reason) as caught:
            read_image(content)
        assert "expected a JPEG, PNG" in str(caught.value) or "damaged or incomplete (" in str(caught.value)


def test_truncated_pictures_and_flipped_bits_raise_only_bad_image() -> None:
    rng = np.random.default_rng(0)
    for kind in ("JPEG", "PNG", "WEBP", "TIFF"):
        whole = encoded(Image.effect_noise((90, 70), 80).convert("RGB"), kind)
        n_refused = 0
        for length in range(1, len(whole), max(1, len(whole) // 36)):
            try:
                read_image(whole[:length])
            except BadImage:
                n_refused += 1
        assert n_refused >= 30, kind
        content = np.frombuffer(encoded(halves(), kind), dtype=np.uint8)
        for _ in range(40):
            broken = content.copy()
            broken[rng.integers(len(broken), size=3)] ^= np.uint8(1 << rng.integers(8))
            try:
                assert read_image(broken.tobytes(), max_pixels=10**6).mode == "RGB"
            except BadImage:
                continue


def test_huge_images_folders_missing_files_and_pipes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(halves(), "PNG"))
    os.mkfifo(tmp_path / "pipe.jpg")
    address = r"^https://example.org/a.jpg is a web address; expected a local file"
    for source, why in (
        (png(50_000, 50_000, n_rows=1), "50000 x 50000 pixels; the limit is 200,000,000"),
        (tmp_path, "is a folder"),
        (tmp_path / "none.jpg", "does not exist"),
        ("a\0b.jpg", r"does not exist|cannot be read"),
        ("https://example.org/a.jpg", address),
        (Path("https://example.org/a.jpg"), address),
        (tmp_path / "pipe.jpg", "not a regular file"),
    ):
        with pytest.raises(BadImage, match=why):
            read_image(source)
    with pytest.raises(BadImage, match="larger than 50 bytes"):
        read_image(path, max_bytes=50)


def test_min_side_limits_the_reduction() -> None:
    photo = halves(size=(4000, 3000))
    for kind in ("JPEG", "PNG"):
        small = read_image(encoded(photo, kind), min_side=512)
        assert 512 <= min(small.size) < 1024
        assert small.getpixel((2, 2))[0] > 150
    assert read_image(encoded(halves(), "PNG"), min_side=512).size == (64, 32)


def test_videos_are_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"x")
    with pytest.raises(BadImage, match=r"a\.mp4 is a video, which is not supported: save stills as JPEG"):
        read_image(tmp_path / "a.mp4")
    with pytest.raises(BadImage, match="does not exist"):
        read_image(tmp_path / "no.mp4")


def mosaic(size: tuple[int, int] = (960, 640)) -> Any:
    """Return an image of coloured tiles, whose rows take about the same bytes each."""
    tiles = np.random.default_rng(0).integers(0, 256, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
    return Image.fromarray(tiles.repeat(8, axis=0).repeat(8, axis=1))


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("min_side", [None, 128])
def test_a_jpeg_cut_short_is_read_with_a_note_where_95_percent_of_the_rows_can_be(mode: str, min_side: Any) -> None:
    whole = encoded(mosaic().convert(mode), "JPEG", quality=90)
    expected = np.asarray(read_image(whole, min_side=min_side), dtype=int)
    for lost, rows in ((2, 1.0), (len(whole) // 50, 0.95)):
        photo = read_photo(whole[:-lost], min_side=min_side)
        same = (np.abs(np.asarray(photo.image, dtype=int) - expected) < 3).all(axis=(1, 2)).mean()
        assert photo.image.size == expected.shape[1::-1] and same >= rows
        [note] = photo.notes
        assert re.fullmatch(r"Damaged: the file is cut short, (9[5-9]|100) % of the rows could be read\.", note)
        with pytest.raises(BadImage, match="truncated"):
            read_image(whole[:-lost])
        assert read_photo(whole[:-lost] + bytes(5_000), min_side=min_side).notes == photo.notes, "a card failed"
    with pytest.raises(BadImage, match="truncated"):
        read_photo(whole[: -len(whole) // 10], min_side=min_side)
    with pytest.raises(BadImage, match="truncated"):
        read_photo(whole[: len(whole) // 2].ljust(len(whole), b"\0"), min_side=min_side)
    assert read_photo(whole + bytes(5_000), min_side=min_side).image.tobytes() == expected.astype(np.uint8).tobytes()


def test_a_progressive_jpeg_is_read_once_its_last_scan_has_begun() -> None:
    whole = encoded(Image.effect_noise((640, 480), 60).convert("RGB"), "JPEG", quality=90, progressive=True)
    for lost in (2, len(whole) // 50):
        photo = read_photo(whole[:-lost])
        assert photo.notes == ("Damaged: the file is cut short, the finest details are missing.",)
        assert np.abs(np.asarray(photo.image, dtype=int) - np.asarray(read_image(whole), dtype=int)).mean() < 3
    with pytest.raises(BadImage, match="truncated"):
        read_photo(whole[: len(whole) // 2])


def test_wide_colours_are_converted_to_srgb_and_others_left_as_they_are() -> None:
    """A profile of swapped primaries turns red into green; one of sRGB, or a damaged one, changes no pixel."""
    srgb = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    swapped = bytes(srgb.replace(b"rXYZ", b"tXYZ", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"tXYZ", b"gXYZ", 1))
    for kind in ("PNG", "TIFF", "JPEG", "WEBP"):
        plain = np.asarray(read_image(encoded(halves(), kind)), dtype=int)
        for profile in (bytes(srgb), b"x" * 200, swapped[:200]):
            assert (np.asarray(read_image(encoded(halves(), kind, icc_profile=profile))) == plain).all(), kind
        changed = np.asarray(read_image(encoded(halves(), kind, icc_profile=swapped)), dtype=int)
        assert np.abs(changed[16, 8] - plain[16, 8][[1, 0, 2]]).max() < 16, kind
    assert read_image(encoded(halves("CMYK"), "JPEG", icc_profile=swapped)).mode == "RGB"


def test_a_16_bit_tiff_of_24_megapixels_is_read_in_little_memory(tmp_path: Path) -> None:
    width, height = 6000, 4000

    def head(planes: int) -> bytes:
        entries = [(256, 4, width), (257, 4, height), (258, 3, 200), (259, 3, 1), (262, 3, 2), (273, 4, 512),
                   (277, 3, 3), (278, 4, height), (279, 4, 6 * width * height), (284, 3, planes)]  # fmt: skip
        packed = [struct.pack("<HHII", tag, kind, 3 if tag == 258 else 1, value) for tag, kind, value in entries]
        return (b"II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(packed)).ljust(200, b"\0") + b"\x10\0" * 3

    with (tmp_path / "a.tif").open("wb") as file:
        file.write(head(planes=1))
        file.truncate(512 + 6 * width * height)  # black, and no bytes on disk
    arguments = [sys.executable, "-c", PEAK, tmp_path / "a.tif"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stderr, int(done.stdout) < 130 * 1024) == ("", True), done.stdout
    with pytest.raises(BadImage, match="has planes of 16 bits, which are not supported: save it as a JPEG"):
        read_image(head(planes=2))
    os.truncate(tmp_path / "a.tif", 400 * 2**20 + 1)
    with pytest.raises(BadImage, match="is larger than 419,430,400 bytes: save it as a JPEG, or as a smaller picture"):
        read_image(tmp_path / "a.tif")
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff")
    os.truncate(tmp_path / "a.jpg", 100 * 2**20 + 1)
    with pytest.raises(BadImage, match="is larger than 104,857,600 bytes"):
        read_image(tmp_path / "a.jpg")


def test_erased_blocks_in_a_file_do_not_stop_the_search_for_markers() -> None:
    content = b"\xff\xd8" + b"\xff" * 2**20 + b"\0\xff\xd9"  # minutes for each 100 KB, if each byte were a start
    assert list(markers_of(content)) == [(0xD9, len(content))]
