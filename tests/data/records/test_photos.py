"""Boxes and detections: the pixel frame and the words on the wire."""

from __future__ import annotations

from PIL import Image

from data.codec import dumps, loads
from data.records import Box, Detection, Identification


def test_a_box_is_half_open_in_pixels_of_the_photo_and_pillow_crops_by_it() -> None:
    photo = Image.new("L", (6, 5), 0)
    photo.paste(255, (2, 1, 5, 3))
    crop = photo.crop(Box(left=2, top=1, right=5, bottom=3))
    assert (crop.size, set(crop.tobytes())) == ((3, 2), {255})


def test_a_detection_survives_json_with_its_box_as_four_numbers() -> None:
    bird = Detection(box=Box(left=2.0, top=1.0, right=5.5, bottom=3.0), kind="bird", score=0.75)
    line = dumps(bird)
    assert line == '{"box":[2.0,1.0,5.5,3.0],"kind":"bird","score":0.75}'
    assert loads(Detection, line) == bird
    assert isinstance(loads(Detection, line).box, Box)


def test_an_identification_tells_the_box_that_it_is_of() -> None:
    row = Identification(image="a.jpg", box=Box(left=0.0, top=0.0, right=9.0, bottom=8.0))
    assert loads(Identification, dumps(row)) == row
