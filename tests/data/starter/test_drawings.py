import io
from collections import Counter
from importlib import resources

from PIL import Image, ImageChops, ImageStat

from data.files import sha256_hex
from data.starter.knowledge import Drawing, drawings_of, index_digest, read_drawings
from training.plates.files import shipped_drawings


def picture_of(drawing: Drawing) -> Image.Image:
    return Image.open(io.BytesIO(drawing.png())).convert("RGB")


def test_the_index_lists_every_file_with_three_anchors_a_species_and_one_query_a_plumage() -> None:
    folder, drawings = resources.files("data") / "starter" / "drawings", read_drawings()
    assert {file.name for file in folder.iterdir()} == {"index.json", *(drawing.file for drawing in drawings)}
    assert [drawing.file for drawing in drawings if sha256_hex(drawing.png()) != drawing.sha256] == []
    assert len(index_digest()) == 64
    anchors = Counter(drawing.taxon_id for drawing in drawings if drawing.purpose == "anchor")
    assert set(anchors.values()) == {3} and len(anchors) >= 12
    queries = [drawing.plate for drawing in drawings if drawing.purpose == "query"]
    assert sorted(queries) == sorted({drawing.plate for drawing in drawings})
    mallards = drawings_of("anas-platyrhynchos", "anchor")
    plumages = ("male-1", "female-1", "male-2")
    assert [drawing.file for drawing in mallards] == [f"anas-platyrhynchos-{each}.png" for each in plumages]
    assert drawings_of("struthio-camelus", "anchor") == []


def test_the_shipped_files_equal_fresh_drawings() -> None:
    """Compared by pixels, because versions of Pillow round differently."""
    for i in range(0, len(read_drawings()), 9):
        plate, purpose, number = shipped_drawings()[i]
        shipped, drawn = read_drawings()[i], plate.draw(purpose, number)
        difference = ImageChops.difference(picture_of(shipped), drawn)
        assert sum(ImageStat.Stat(difference).mean) / 3 < 1, shipped.file
        assert (shipped.plate, shipped.purpose) == (plate.name, purpose)
