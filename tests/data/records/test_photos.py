"""Boxes and detections: pixel coordinates and JSON."""

from __future__ import annotations

from PIL import Image

from data.codec import dumps, loads
from data.records import Box, Detection, Identification


def test_a_box_is_half_open_in_pixels_as_in_pillow() -> None:
    photo = Image.new("L", (6, 5), 0)
    photo.paste(255, (2, 1, 5, 3))
    crop = photo.crop(Box(left=2, top=1, right=5, bottom=3))
    assert (crop.size, set(crop.tobytes())) == ((3, 2), {255})


def test_a_detection_round_trips_with_its_box_as_four_numbers() -> None:
    bird = Detection(box=Box(left=2.0, top=1.0, right=5.5, bottom=3.0), kind="bird", score=0.75)
    line = dumps(bird)
    assert line == '{"box":[2.0,1.0,5.5,3.0],"kind":"bird","score":0.75}'
    assert loads(Detection, line) == bird
    assert isinstance(loads(Detection, line).box, Box)


def test_an_identification_keeps_its_box_in_json() -> None:
    row = Identification(image="a.jpg", box=Box(left=0.0, top=0.0, right=9.0, bottom=8.0))
    assert loads(Identification, dumps(row)) == row
