"""Ids of taxa, boxes and detections."""

from PIL import Image

from data.codec import dumps, loads
from data.records import Box, Detection, Identification, taxon_id
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


def test_a_box_is_half_open_in_pixels_as_in_pillow_and_four_numbers_in_json() -> None:
    picture = Image.new("L", (6, 5), 0)
    picture.paste(255, (2, 1, 5, 3))
    crop = picture.crop(Box(left=2, top=1, right=5, bottom=3))
    assert (crop.size, set(crop.tobytes())) == ((3, 2), {255})
    bird = Detection(box=Box(left=2.0, top=1.0, right=5.5, bottom=3.0), kind="bird", score=0.75)
    line = dumps(bird)
    assert line == '{"box":[2.0,1.0,5.5,3.0],"kind":"bird","score":0.75}'
    assert loads(Detection, line) == bird and isinstance(loads(Detection, line).box, Box)
    row = Identification(image="a.jpg", box=Box(left=0.0, top=0.0, right=9.0, bottom=8.0))
    assert loads(Identification, dumps(row)) == row


def test_ids_of_taxa_are_slugs_in_stores_too() -> None:
    for name, expected in (("Avis sine-pyxide", "avis-sine-pyxide"), ("Gyps  rüppelli (Brehm)", "gyps-ruppelli-brehm")):
        assert taxon_id(name) == expected
    assert MemoryStore({"Gyps rüppelli": Sketch()}, toy_encoders()).taxon_ids == ("gyps-ruppelli",)
