"""RAW photos, made here as far as their formats are read: directories of TIFF, and a JPEG somewhere behind them."""

import io
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage
from data.images.decode import read_photo
from data.images.exif import read_moment
from data.images.find import Skipped, find_images

KINDS = {1: "B", 2: "s", 3: "H", 4: "I", 5: "2I", 10: "2i"}
MODEL, ORIENTATION, EXIF, TAKEN = 272, 274, 0x8769, 0x9003


def directory(tags: dict[int, tuple[int, Any]], at: int, order: str) -> bytes:
    """Return a TIFF directory that starts at a position, from tag -> type and values; no directory follows."""
    entries, values = b"", b""
    for tag, (kind, given) in sorted(tags.items()):
        if kind == 2:
            n, packed = len(given) + 1, given.encode() + b"\0"
        else:
            n, packed = (
                len(given),
                b"".join(
                    struct.pack(order + KINDS[kind], *(value if isinstance(value, tuple) else (value,)))
                    for value in given
                ),
            )
        if len(packed) > 4:
            values += b"\0" * (len(values) % 2)
            packed, values = struct.pack(order + "I", at + 6 + 12 * len(tags) + len(values)), values + packed
        entries += struct.pack(order + "HHI", tag, kind, n) + packed.ljust(4, b"\0")
    return struct.pack(order + "H", len(tags)) + entries + bytes(4) + values


def tiff(tags: dict[int, tuple[int, Any]], *, order: str = "<", magic: bytes | None = None, taken: str = "") -> bytes:
    head = (b"II" if order == "<" else b"MM") + (magic or struct.pack(order + "H", 42)) + struct.pack(order + "I", 8)
    if not taken:
        return head + directory(tags, 8, order)
    at = 8 + len(directory({**tags, EXIF: (4, [0])}, 8, order))
    main = directory({**tags, EXIF: (4, [at])}, 8, order)
    return head + main + directory({TAKEN: (2, taken)}, at, order)


def jpeg(width: int, height: int, **options: Any) -> bytes:
    """Return a photo, the left half red."""
    image = Image.new("RGB", (width, height), (20, 20, 200))
    image.paste((200, 20, 20), (0, 0, width // 2, height))
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


SENSOR = np.random.default_rng(0).integers(0, 256, 50_000, dtype=np.uint8).tobytes() + b"\xff\xd8\xff\xc4\0\0"
TAGS = {MODEL: (2, "Alpha"), ORIENTATION: (3, [6])}
TIME = "2024:05:04 06:12:33"
PREVIEWS = jpeg(160, 120) + SENSOR + jpeg(600, 400) + SENSOR


def with_exif() -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    exif.get_ifd(EXIF)[TAKEN] = TIME
    return exif


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.NEF", tiff(TAGS, taken=TIME) + PREVIEWS),
        ("a.dng", tiff({**TAGS, TAKEN: (2, TIME)}, order=">") + PREVIEWS),
        ("a.orf", tiff(TAGS, magic=b"RO", taken=TIME) + PREVIEWS),
        ("a.rw2", tiff(TAGS, magic=b"U\0", taken=TIME) + PREVIEWS),
        ("a.raf", b"FUJIFILMCCD-RAW " + bytes(80) + jpeg(600, 400, exif=with_exif()) + SENSOR),
        (
            "a.cr3",
            b"\0\0\0\x18ftypcrx " + bytes(40) + b"CMT1" + tiff(TAGS) + b"CMT2" + tiff({TAKEN: (2, TIME)}) + PREVIEWS,
        ),
    ],
)
def test_the_largest_jpeg_of_a_raw_photo_is_read_upright_with_time_and_a_note(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    photo = read_photo(tmp_path / name, min_side=200)
    assert (photo.image.size, photo.scale, photo.date) == ((200, 300), 2.0, "2024-05-04T06:12:33")
    assert photo.image.getpixel((100, 20))[0] > 150 > photo.image.getpixel((100, 280))[0]
    assert photo.notes == ("RAW photo: read from its preview of 600 x 400 pixels.",)
    moment = read_moment(tmp_path / name)
    assert moment is not None and moment.time.isoformat() == "2024-05-04T06:12:33"


def test_zeros_for_the_rest_of_a_raw_photo_are_no_picture(tmp_path: Path) -> None:
    cut = b"II*\0" + bytes(60) + jpeg(600, 400)[:-900]
    (tmp_path / "a.NEF").write_bytes(cut + bytes(10_000))
    with pytest.raises(BadImage, match="is damaged or incomplete"):
        read_photo(tmp_path / "a.NEF")


def test_a_raw_photo_beside_an_image_of_its_name_is_its_pair(tmp_path: Path) -> None:
    for name in ("a.JPG", "a.NEF", "b.nef", "b.xmp", "sub/a.nef"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    skipped = Skipped()
    found = find_images([tmp_path], skipped=skipped)
    assert [str(path.relative_to(tmp_path)) for path in found] == ["a.JPG", "b.nef", "sub/a.nef"]
    assert skipped.files == {tmp_path / "a.NEF"}


def test_a_raw_photo_with_a_thumbnail_alone_is_developed_or_refused_with_a_remedy(tmp_path: Path) -> None:
    width, height = 640, 480
    sensor = (np.indices((height, width)).sum(axis=0) % 2 * 3000 + 500).astype("<u2").tobytes()
    tags = {
        254: (4, [0]), 256: (4, [width]), 257: (4, [height]), 258: (3, [16]), 259: (3, [1]), 262: (3, [32803]),
        271: (2, "Maker"), **TAGS, 273: (4, [0]), 277: (3, [1]), 278: (4, [height]), 279: (4, [len(sensor)]),
        33421: (3, [2, 2]), 33422: (1, [0, 1, 1, 2]), 50706: (1, [1, 4, 0, 0]), 50708: (2, "Maker Alpha"),
        50717: (4, [4095]), 50721: (10, [(int(x), 1) for x in np.eye(3).ravel()]), 50778: (3, [21]),
    }  # fmt: skip
    tags[273] = (4, [len(tiff(tags))])
    (tmp_path / "a.dng").write_bytes(tiff(tags) + sensor + jpeg(160, 120))
    (tmp_path / "c.dng").write_bytes(tiff({**tags, 256: (4, [20_000]), 257: (4, [20_000])}) + sensor)
    (tmp_path / "b.CR2").write_bytes(tiff(TAGS) + jpeg(160, 120))
    if find_spec("rawpy") is None:
        with pytest.raises(BadImage, match=r"is a RAW photo without a preview: pip install '.\[raw\]'"):
            read_photo(tmp_path / "a.dng")
        return
    photo = read_photo(tmp_path / "a.dng")
    assert (photo.image.size, photo.notes) == ((240, 320), ("RAW photo: developed from the sensor data.",))
    with pytest.raises(BadImage, match=r"c\.dng would take 2,288 MiB of memory; the limit is 384 MiB"):
        read_photo(tmp_path / "c.dng")
    with pytest.raises(
        BadImage, match=r"b\.CR2 is a RAW photo without a preview, damaged or of an unknown kind \(Unsupp"
    ):
        read_photo(tmp_path / "b.CR2")
