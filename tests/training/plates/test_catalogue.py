from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image, ImageChops, ImageStat

from training.plates.__main__ import main
from training.plates.catalogue import BIRDS, PLATES, read_plates
from training.plates.variants import Purpose

ROOT = Path(__file__).resolve().parents[3]
SHEET = ROOT / "docs" / "pictures" / "plates.png"


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean difference of two pictures in levels of 255."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def test_a_table_inherits_from_the_table_named_by_like(tmp_path: Path) -> None:
    tables = (BIRDS / "waterfowl.toml").read_text()
    (tmp_path / "ducks.toml").write_text(
        tables + '[a-b]\nlike = "anas-platyrhynchos-male"\n[a-b.tail]\nend = [7, 53]\n'
    )
    other, male, _ = read_plates(tmp_path)
    tail = male.bird.tail.model_copy(update={"end": (7.0, 53.0)})
    assert other.bird == male.bird.model_copy(update={"tail": tail})


def test_a_table_with_an_unknown_ink_or_key_is_an_error(tmp_path: Path) -> None:
    tables = (BIRDS / "waterfowl.toml").read_text()
    for row in ("colour = 'infrared'", "colour = 'red + 10% infrared'", "feathers = 3", "body = 'x'"):
        (tmp_path / "ducks.toml").write_text(f'{tables}[a-b]\nlike = "anas-platyrhynchos-male"\n{row}\n')
        with pytest.raises(ValueError, match=row.split()[0]):
            read_plates(tmp_path)


def test_anchors_and_queries_are_different_drawings() -> None:
    purposes: list[tuple[Purpose, int]] = [("plate", 0), ("anchor", 0), ("anchor", 1), ("anchor", 2), ("query", 0)]
    for plate in PLATES[::8]:
        drawings = [plate.draw(purpose, number, size=90) for purpose, number in purposes]
        assert min(difference(one, other) for one, other in combinations(drawings, 2)) > 4, plate.name


@pytest.mark.integration
def test_the_command_writes_the_committed_contact_sheet(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["sheet", str(tmp_path / "sheet.png")], catch_exceptions=False)
    assert result.exit_code == 0
    assert difference(Image.open(tmp_path / "sheet.png"), Image.open(SHEET).convert("RGB")) < 0.5
