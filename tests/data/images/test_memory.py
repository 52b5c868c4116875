import io
import struct
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage
from data.images.decode import MAX_KEPT_PIXELS, read_image, small_rgb
from data.images.header import open_picture
from data.images.memory import MAX_DECODED_BYTES, MAX_SCANS, _Room, decoded_bytes

ROOT = Path(__file__).resolve().parents[3]
PEAK = """
import sys
from pathlib import Path
import PIL.Image, numpy
from data.images.decode import read_image
from data.errors import BadImage
def peak_kb():  # not `ru_maxrss`: a new process inherits the value of its parent
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = peak_kb()
try:
    read_image(Path(sys.argv[1]), min_side=512)
except BadImage as error:
    print(error, file=sys.stderr)
print(peak_kb() - before)
"""


def png(width: int, height: int, *, kind: int = 0, n_bytes: int = 1, n_rows: int | None = None) -> bytes:
    """Return a black PNG of any size in a few kilobytes, or only its first rows, for which all memory is taken too."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    packer = zlib.compressobj(9)
    size = (1 + width * n_bytes) * (n_rows or height)
    pieces = [packer.compress(bytes(min(2**20, size - at))) for at in range(0, size, 2**20)]
    data = b"".join(pieces) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_an_image_that_would_take_too_much_memory_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    for content, reason in (
        (png(12_000, 12_000, kind=6, n_bytes=4, n_rows=9), "would take 549 MiB of memory; the limit is 384 MiB"),
        (png(1, 2_000_000, n_rows=9), "the longer side may be 200 times the shorter"),
    ):
        (tmp_path / "large.png").write_bytes(content)
        arguments = [sys.executable, "-c", PEAK, tmp_path / "large.png"]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
        assert reason in done.stderr
        assert int(done.stdout) < 30 * 1024  # KiB


def test_a_jpeg_of_thousands_of_scans_is_refused_and_a_video_behind_one_is_none() -> None:
    image = Image.effect_noise((64, 64), 50).convert("RGB")
    for progressive in (True, False):
        out = io.BytesIO()
        image.save(out, "JPEG", progressive=progressive, exif=b"Exif\0\0" + b"\xff\xda\xff\xd9" * 200)
        content = out.getvalue()
        behind = content + b"\0\0\0\x18ftypmp42" + b"\xff\xda\0\x08" * 200 + content
        assert read_image(behind).tobytes() == read_image(content).tobytes()
        if progressive:
            scan = content[content.rfind(b"\xff\xda") : -2]
            comment = b"\xff\xfe\0\x04\xff\xd9"  # no end of the image
            with pytest.raises(BadImage, match=f"is a JPEG of 3,0.. scans; the limit is {MAX_SCANS}"):
                read_image(content[:-2] + comment + scan * 3_000 + b"\xff\xd9")


def test_a_progressive_jpeg_counts_its_coefficients_and_a_plain_one_only_the_shrunk_pixels() -> None:
    sizes = {}
    for progressive in (False, True):
        out = io.BytesIO()
        Image.new("RGB", (2048, 2048)).save(out, "JPEG", progressive=progressive, subsampling="4:2:0")
        opened = open_picture(io.BytesIO(out.getvalue()), "photo")
        opened.draft(None, (256, 256))
        sizes[progressive] = decoded_bytes(opened, (2048, 2048))
    assert sizes[False] == 256 * 256 * 4
    assert sizes[True] == 256 * 256 * 4 + 2048 * 2048 * 3  # 1.5 coefficients a pixel, 2 bytes each


@pytest.mark.parametrize("mode", ["LA", "CMYK", "I;16", "F"])
def test_strips_give_the_pixels_of_the_whole_image(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.images.decode.STRIP_PIXELS", 5_000)
    size, factor = (131, 301), 3
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (size[1], size[0]), dtype=np.uint8)
    if mode in ("I;16", "F"):
        image = Image.fromarray(levels.astype(np.uint16) * 257 if mode == "I;16" else levels.astype(np.float32))
        whole = Image.fromarray(levels).convert("RGB")
    else:
        image = Image.merge("RGBA", [Image.fromarray(np.roll(levels, n, axis=1)) for n in range(4)]).convert(mode)
        whole = image.convert("RGB")
        if mode == "LA":
            whole = Image.alpha_composite(Image.new("RGBA", size, "white"), image.convert("RGBA")).convert("RGB")
    assert small_rgb(image).tobytes() == whole.tobytes()
    assert small_rgb(image, factor).tobytes() == whole.reduce(factor).tobytes()


def test_a_long_panorama_is_shrunk_further_so_that_waiting_images_are_small() -> None:
    image = read_image(png(60_000, 600), min_side=512)
    assert image.width * image.height <= MAX_KEPT_PIXELS
    assert image.size == (20_000, 200)


def test_threads_wait_until_there_is_room() -> None:
    room, together, most = _Room(10), [], []

    def decode(_: int) -> None:
        with room.take(4):
            together.append(1)
            most.append(len(together))
            time.sleep(0.02)
            together.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(decode, range(8)))
    assert max(most) == 2
    assert 2 * MAX_DECODED_BYTES < 2**30
