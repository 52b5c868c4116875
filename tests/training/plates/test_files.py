"""Files of the drawings: the contact sheet of the documentation, and the list of shipped drawings."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from PIL import Image

from tests.training.plates.test_catalogue import difference
from training.plates.__main__ import main
from training.plates.catalogue import PLATES
from training.plates.files import contact_sheet, shipped_drawings

SHEET = Path(__file__).resolve().parents[3] / "docs" / "pictures" / "plates.png"


def test_the_committed_contact_sheet_shows_the_current_drawings() -> None:
    assert SHEET.stat().st_size < 400_000
    committed = Image.open(SHEET).convert("RGB")
    current = contact_sheet()
    assert committed.size == current.size
    assert difference(committed, current) < 2  # its levels are rounded


def test_the_command_writes_the_committed_contact_sheet(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["sheet", str(tmp_path / "sheet.png")], catch_exceptions=False)
    assert result.exit_code == 0
    assert difference(Image.open(tmp_path / "sheet.png"), Image.open(SHEET).convert("RGB")) < 0.5


def test_anchors_alternate_between_plumages_and_each_plumage_has_a_query() -> None:
    mallards = [(plate.sex, purpose, number) for plate, purpose, number in shipped_drawings()
                if plate.taxon_id == "anas-platyrhynchos"]  # fmt: skip
    assert mallards == [
        ("male", "anchor", 0), ("female", "anchor", 0), ("male", "anchor", 1),
        ("male", "query", 0), ("female", "query", 0),
    ]  # fmt: skip
    assert {plate.name for plate, purpose, _ in shipped_drawings() if purpose == "query"} == {p.name for p in PLATES}
