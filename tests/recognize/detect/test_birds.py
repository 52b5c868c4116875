import io

from PIL import Image

from data.records import Box, Detection
from data.starter.knowledge import drawings_of
from recognize.detect.birds import NanoDet, common_share, distinct, tiles_of


def drawn(taxon_id: str) -> Image.Image:
    return Image.open(io.BytesIO(drawings_of(taxon_id, "anchor")[-1].png())).convert("RGB")


def test_a_bird_is_found_in_any_batch_with_a_box_around_it_and_a_blank_picture_shows_nothing() -> None:
    detector = NanoDet()
    meadow = Image.new("RGB", (1000, 700), (120, 160, 120))
    meadow.paste(drawn("pica-pica").resize((300, 300)), (500, 300))
    pictures = [meadow, drawn("hirundo-rustica"), Image.new("RGB", (300, 200), "navy")]
    together = detector.detect(pictures)
    assert together == [detector.detect([picture])[0] for picture in pictures]
    bird = next(each for each in together[0] if each.kind == "bird")
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
