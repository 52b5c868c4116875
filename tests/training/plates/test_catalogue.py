"""Drawings: reproducible, different from each other, and in the colours of the facts."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from data.starter.knowledge import read_species
from tests.training.plates.colour_words import colour_shares, wrong_colours
from training.plates.catalogue import BIRDS, PLATES, Plate, plates_of, read_plates
from training.plates.variants import Purpose, variant_for

ROOT = Path(__file__).resolve().parents[3]
SPECIES = {species.taxon.taxon_id: species for species in read_species()}
SIZE_PX = 180

per_plate = pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.name)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two pictures in levels of 255."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def test_at_least_12_species_are_drawn_and_all_have_facts() -> None:
    drawn = {plate.taxon_id for plate in PLATES}
    assert len(drawn) >= 12
    assert drawn <= SPECIES.keys()
    assert len({plate.name for plate in PLATES}) == len(PLATES)


def test_cardinal_and_mallard_are_drawn_in_both_plumages() -> None:
    for taxon_id in ("cardinalis-cardinalis", "anas-platyrhynchos"):
        assert [plate.sex for plate in plates_of(taxon_id)] == ["male", "female"]


def test_a_table_inherits_from_the_table_named_by_like(tmp_path: Path) -> None:
    tables = (BIRDS / "waterfowl.toml").read_text()
    (tmp_path / "ducks.toml").write_text(
        tables + '[a-b]\nlike = "anas-platyrhynchos-male"\n[a-b.tail]\nend = [7, 53]\n'
    )
    other, male, _ = read_plates(tmp_path)
    tail = male.bird.tail.model_copy(update={"end": (7.0, 53.0)})
    assert other.bird == male.bird.model_copy(update={"tail": tail})


@pytest.mark.parametrize("row", ["colour = 'infrared'", "colour = 'red + 10% infrared'", "feathers = 3", "body = 'x'"])
def test_a_table_with_an_unknown_ink_or_key_is_an_error(tmp_path: Path, row: str) -> None:
    tables = (BIRDS / "waterfowl.toml").read_text()
    (tmp_path / "ducks.toml").write_text(f'{tables}[a-b]\nlike = "anas-platyrhynchos-male"\n{row}\n')
    with pytest.raises(ValueError, match=row.split()[0]):
        read_plates(tmp_path)


@per_plate
def test_a_drawing_is_the_same_bytes_every_time(plate: Plate) -> None:
    assert plate.png("anchor", 1, size=90) == plate.png("anchor", 1, size=90)


def test_a_drawing_is_the_same_bytes_in_another_process() -> None:
    plate = PLATES[0]
    code = (
        "import sys; from training.plates.catalogue import PLATES; "
        "sys.stdout.buffer.write(PLATES[0].png('query', 0, size=90))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    assert done.stdout == plate.png("query", 0, size=90)


@per_plate
def test_anchors_and_queries_are_different_drawings(plate: Plate) -> None:
    purposes: list[tuple[Purpose, int]] = [("plate", 0), ("anchor", 0), ("anchor", 1), ("anchor", 2), ("query", 0)]
    drawings = [plate.draw(purpose, number, size=90) for purpose, number in purposes]
    for i, one in enumerate(drawings):
        for other in drawings[i + 1 :]:
            assert difference(one, other) > 4


@per_plate
def test_no_two_drawings_share_a_variant(plate: Plate) -> None:
    purposes: tuple[Purpose, ...] = ("anchor", "query")
    variants = [variant_for(plate.name, purpose, number) for purpose in purposes for number in range(8)]
    assert len({variant.seed for variant in variants}) == len(variants)
    assert {variant.mirrored for variant in variants} == {True, False}


@per_plate
@pytest.mark.parametrize(("purpose", "number"), [("plate", 0), ("anchor", 0), ("query", 0)])
def test_a_drawing_has_the_colours_of_the_facts(plate: Plate, purpose: Purpose, number: int) -> None:
    assert wrong_colours(plate.draw(purpose, number, size=SIZE_PX), SPECIES[plate.taxon_id], plate.sex) == []


def test_the_colour_check_detects_a_missing_colour() -> None:
    """The check above can fail: the cardinal has no green, the mallard no red."""
    cardinal = next(plate for plate in PLATES if plate.name == "cardinalis-cardinalis-male")
    mallard = next(plate for plate in PLATES if plate.name == "anas-platyrhynchos-male")
    assert colour_shares(cardinal.draw("plate", size=SIZE_PX)).get("green", 0.0) < 0.01
    assert colour_shares(mallard.draw("plate", size=SIZE_PX)).get("red", 0.0) < 0.01


def test_png_gives_a_picture_of_the_requested_size() -> None:
    picture = Image.open(io.BytesIO(PLATES[0].png("plate", size=120)))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (120, 120))
