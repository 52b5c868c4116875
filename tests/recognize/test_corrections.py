"""Labels of people: found again for the same bird, taken back step by step, and shown in rows, tables and exports."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import BadInput
from data.records import Answer, Box, Identification
from recognize.answers import message_of
from recognize.columns import records
from recognize.corrections import NO_BIRD, Corrections, corrections_beside, is_same_bird

JAY = Answer(rank="species", name="Cyanocitta cristata", common_name="Blue Jay", family="Corvidae")
CROW = Answer(rank="species", name="Corvus corax", common_name="Common Raven", confidence=0.62, p_unknown=0.02)
NONE = Answer(rank="none", name="")
LEFT, RIGHT = Box(0, 0, 40, 60), Box(50, 0, 90, 60)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photos" / "a.png"
    path.parent.mkdir()
    Image.new("RGB", (90, 60), "navy").save(path)
    return path


def row(photo: Path, box: Box | None = None, answer: Answer = CROW, **changes: Any) -> Identification:
    return Identification(image=str(photo), box=box, answer=answer, size=(90, 60), **changes)


def test_the_last_word_on_a_bird_holds_wherever_the_photo_is_and_can_be_taken_back(photo: Path) -> None:
    file = Corrections(photo.with_name("corrections.jsonl"))
    file.add([(row(photo, LEFT), JAY), (row(photo, RIGHT), Answer(rank="none", name=NO_BIRD))])
    file.add([(row(photo, LEFT), CROW)])
    moved = photo.parent.parent / "moved.png"
    shutil.copy(photo, moved)
    again = Corrections(file.path)
    shifted = Box(2, 1, 41, 60)
    assert again.find(str(moved), shifted).label == CROW, "the box of another run, and another name"
    assert again.applied(row(moved, RIGHT)).status == "no_bird" and len(again) == 2
    assert again.applied(row(moved, Box(0, 0, 5, 5))).correction is None, "another bird of the photo"
    Image.new("RGB", (90, 60), "red").save(moved)
    assert again.find(str(moved), LEFT) is None
    assert [line.label for line in again.undo()] == [CROW]
    assert Corrections(file.path).find(str(photo), LEFT).label == JAY
    assert {line.label.name for line in again.undo()} == {JAY.name, NO_BIRD}
    assert (len(again), again.undo(), again.applied(row(photo, LEFT)).correction) == (0, [], None)
    assert len(file.path.read_text().splitlines()) == 6, "nothing that was said is lost"


def test_what_two_programs_say_is_kept_and_a_torn_line_is_ended(photo: Path) -> None:
    path = photo.with_name("corrections.jsonl")
    one, other = Corrections(path), Corrections(path)
    one.add([(row(photo, LEFT), JAY)])
    with path.open("a") as out:
        out.write('{"photo": "torn')
    other.add([(row(photo, RIGHT), CROW)])
    one.refresh()
    assert {line.label.name for line in one} == {line.label.name for line in other} == {JAY.name, CROW.name}
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(BadInput, match=r"corrections\.jsonl, line 3 is no correction"):
        Corrections(path)
    assert [each.path for each in corrections_beside(photo.parent.parent)] == []


def test_boxes_of_one_bird_share_half_of_their_area() -> None:
    for box, expected in (
        (Box(0, 0, 40, 60), True),
        (Box(0, 0, 80, 60), True),
        (Box(0, 0, 81, 60), False),
        (None, True),
    ):
        assert is_same_bird(LEFT, box) is is_same_bird(box, LEFT) is expected, box


def test_rows_tables_and_exports_have_both_labels(photo: Path, tmp_path: Path) -> None:
    from recognize.exports.camera_traps import camtrap_dp, megadetector
    from recognize.exports.document import Facts
    from recognize.exports.observations import inaturalist

    file = Corrections(photo.with_name("corrections.jsonl"))
    given = row(photo, LEFT, status="identified", date="2026-05-01T08:00:00")
    file.add([(given, JAY)])
    corrected = file.applied(given)
    message = message_of(corrected)
    assert (message.headline, message.sure.split(" by ")[0]) == ("Blue Jay (Cyanocitta cristata)", "corrected")
    assert message.notes == ("Before: Probably Common Raven (Corvus corax), 62 % sure.",)
    (record,) = records(corrected)
    shown = {key: record[key] for key in ("answer_scientific_name", "answer_before", "confidence", "status")}
    assert shown == {
        "answer_scientific_name": JAY.name, "answer_before": "Corvus corax", "confidence": None, "status": "identified",
    }  # fmt: skip
    facts = Facts(program="Fieldmark", folder=photo.parent, place=(47.6, -122.3))
    camera = camtrap_dp([corrected], facts).files["observations.csv"]
    assert "Cyanocitta cristata" in camera and ",human," in camera and "Before: Probably Common Raven" in camera
    detections = json.loads(megadetector([corrected], facts).files[""])
    names = detections["classification_categories"]
    ((first, sure), *_) = detections["images"][0]["detections"][0]["classifications"]
    assert (names[first], sure) == (JAY.name, 1.0)
    assert JAY.name in inaturalist([corrected], facts).files[""]
    file.add([(given, Answer(rank="none", name=NO_BIRD))])
    empty = file.applied(given)
    assert message_of(empty).name == "No bird" and ",blank," in camtrap_dp([empty], facts).files["observations.csv"]
    assert json.loads(megadetector([empty], facts).files[""])["images"][0]["detections"] == []
    file.add([(given, replace(CROW, confidence=None, p_unknown=None))])
    assert message_of(file.applied(given)).sure.startswith("confirmed") and not message_of(file.applied(given)).notes
