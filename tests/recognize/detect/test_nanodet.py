"""The detector: its file, boxes in photos, and tiles for small birds."""

import io
from pathlib import Path

import pytest
from PIL import Image

from data.records import Box, Detection
from data.starter.drawings import drawings_of
from recognize.detect.nanodet import NanoDet, common_share, distinct, tiles_of
from training.collection import read_collection
from training.starter.protocol import set_aside


@pytest.fixture(scope="module")
def detector() -> NanoDet:
    return NanoDet()


def drawn(taxon_id: str) -> Image.Image:
    return Image.open(io.BytesIO(drawings_of(taxon_id, "anchor")[-1].png())).convert("RGB")


def birds_of(found: tuple[Detection, ...]) -> list[Detection]:
    return [each for each in found if each.kind == "bird"]


def test_a_bird_is_found_in_any_batch_with_a_box_around_it_and_a_blank_picture_shows_nothing(detector: NanoDet) -> None:
    meadow = Image.new("RGB", (1000, 700), (120, 160, 120))
    meadow.paste(drawn("pica-pica").resize((300, 300)), (500, 300))
    pictures = [meadow, drawn("hirundo-rustica"), Image.new("RGB", (300, 200), "navy")]
    together = detector.detect(pictures)
    assert together == [detector.detect([picture])[0] for picture in pictures]
    bird = birds_of(together[0])[0]
    assert bird.score >= 0.4
    assert common_share(bird.box, Box(500, 300, 800, 600)) >= 0.9
    assert together[2] == ()
    kind, digest, preprocessing = detector.name.split("/")
    assert (kind, len(digest), preprocessing) == ("nanodet", 12, "squeeze-416-bilinear-tiles-3")


def test_tiles_cover_the_picture_and_overlap() -> None:
    tiles = list(tiles_of(400, 200))
    assert (len(tiles), tiles[0], tiles[4], tiles[8]) == (
        9, (0, 0, 200, 100), (100, 50, 300, 150), (200, 100, 400, 200),
    )  # fmt: skip


def test_of_overlapping_detections_of_a_kind_the_best_remains() -> None:
    def found(left: float, kind: str, score: float) -> Detection:
        return Detection(box=Box(left, 0, left + 10, 10), kind=kind, score=score)

    best, same, other, cat = found(0, "bird", 0.5), found(4, "bird", 0.4), found(7, "bird", 0.3), found(0, "cat", 0.6)
    assert distinct([same, other, cat, best]) == (cat, best, other)


@pytest.fixture(scope="module")
def photos(birds: Path) -> list[Image.Image]:
    """Some photos that are not set aside."""
    collection = read_collection(birds)
    aside = set_aside(collection)
    hidden = {*aside.new, *aside.known}
    paths = [birds / photo.path for photo in collection.photos[::70] if photo.path not in hidden]
    return [Image.open(path).convert("RGB") for path in paths]


def test_birds_are_found_in_most_photos(detector: NanoDet, photos: list[Image.Image]) -> None:
    n_found = sum(bool(birds_of(found)) for found in detector.detect(photos))
    assert n_found >= 0.85 * len(photos) >= 60


def test_int8_finds_the_birds_of_float32(detector: NanoDet, photos: list[Image.Image], shared: Path) -> None:
    """The same photos have birds, but for one in twenty, and sides of boxes differ by 3 % of the photo on average."""
    wide = NanoDet(shared / "weights/nanodet.onnx")
    pairs = [(birds_of(a), birds_of(b)) for a, b in zip(wide.detect(photos), detector.detect(photos), strict=True)]
    assert sum(bool(a) != bool(b) for a, b in pairs) <= 0.05 * len(photos)
    moved = [
        abs(side - other) / max(photo.size)
        for photo, (a, b) in zip(photos, pairs, strict=True)
        if a and b
        for side, other in zip(a[0].box, b[0].box, strict=True)
    ]
    assert 0 < sum(moved) / len(moved) <= 0.03
