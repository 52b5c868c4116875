"""Labels of people: found again for the same bird, taken back step by step, and shown in rows, tables and exports."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.errors import BadInput
from data.records import Answer, Box, Candidate, EncounterPhoto, Identification
from recognize.answers import message_of
from recognize.columns import records
from recognize.corrections import NO_BIRD, Corrections, corrected, corrections_beside, is_same_bird

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
    assert again.applied(row(moved, RIGHT)).status == "no_bird" and len(list(again)) == 2
    assert again.applied(row(moved, Box(0, 0, 5, 5))).correction is None, "another bird of the photo"
    Image.new("RGB", (90, 60), "red").save(moved)
    assert again.find(str(moved), LEFT) is None
    assert [line.label for line in again.undo()] == [CROW]
    assert Corrections(file.path).find(str(photo), LEFT).label == JAY
    assert {line.label.name for line in again.undo()} == {JAY.name, NO_BIRD}
    assert (list(again), again.undo(), again.applied(row(photo, LEFT)).correction) == ([], [], None)
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
    assert [list(each) for each in corrections_beside(photo.parent.parent, photo.parent.parent)] == [[]]


def test_a_file_that_is_edited_meanwhile_loses_no_line(photo: Path) -> None:
    path = photo.with_name("corrections.jsonl")
    file = Corrections(path)
    for box in (LEFT, RIGHT):
        file.add([(row(photo, box), JAY)])
    path.write_text(path.read_text().splitlines()[1])  # as by an editor: a line less, and no line end
    file.add([(row(photo, LEFT), CROW)])
    assert [(line.box, line.label) for line in Corrections(path)] == [(RIGHT, JAY), (LEFT, CROW)]
    path.unlink()
    file.refresh()
    assert (list(file), file.undo()) == ([], []) and not path.exists()


def test_undoing_a_word_on_the_whole_photo_brings_back_that_on_each_bird(photo: Path) -> None:
    file = Corrections(photo.with_name("corrections.jsonl"))
    file.add([(row(photo, LEFT), JAY), (row(photo, RIGHT), CROW)])
    file.add([(row(photo), Answer(rank="none", name=NO_BIRD))])
    file.undo()
    labels = [file.find(str(photo), box) for box in (LEFT, RIGHT)]
    assert [line and line.label for line in labels] == [JAY, CROW]


def test_a_burst_has_the_most_frequent_word_on_its_photos_and_several_files_the_last(photo: Path) -> None:
    photos = [photo, *(photo.with_name(f"{name}.png") for name in "bc")]
    for width, path in enumerate(photos, 90):
        Image.new("RGB", (width, 60), "navy").save(path)
    file = Corrections(photo.with_name("corrections.jsonl"))
    burst = row(photo, photos=tuple(EncounterPhoto(image=str(path)) for path in photos))
    file.add([(row(photos[1]), JAY)])
    assert file.applied(burst).answer == JAY
    file.add([(burst, CROW)])
    assert {file.applied(row(path)).answer for path in photos} == {CROW}
    file.add([(row(photos[2]), JAY)])
    assert file.applied(burst).answer == CROW
    other = Corrections(photo.parent.parent / "corrections.jsonl")
    other.add([(row(photo), JAY)])
    line = json.loads(other.path.read_text())
    for at, expected in (("2020-01-01", CROW), ("2120-01-01", JAY)):
        other.path.write_text(json.dumps({**line, "at": at}) + "\n")
        other.refresh()
        shown = corrected(row(photo), [file, other])
        assert shown.answer == expected and shown.correction and shown.correction.answer == CROW
    photo.unlink()
    with pytest.raises(BadInput, match="not there any more"):
        file.add([(row(photo), JAY)])


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
    from recognize.exports.keywords import write_keywords
    from recognize.exports.observations import inaturalist

    file = Corrections(photo.with_name("corrections.jsonl"))
    candidate = Candidate(
        taxon_id="corvus-corax", scientific_name="Corvus corax", common_name="Common Raven", score=1, confidence=0.62
    )
    given = row(photo, LEFT, status="identified", date="2026-05-01T08:00:00", candidates=(candidate,))
    file.add([(given, JAY)])
    by_person = file.applied(given)
    message = message_of(by_person)
    assert (message.headline, message.sure.split(" by ")[0]) == ("Blue Jay (Cyanocitta cristata)", "corrected")
    assert message.notes == ("Before: Probably Common Raven (Corvus corax), 62 % sure.",)
    (record,) = records(by_person)
    shown = {key: record[key] for key in ("answer_scientific_name", "answer_before", "confidence", "status")}
    assert shown == {
        "answer_scientific_name": JAY.name, "answer_before": "Corvus corax", "confidence": None, "status": "identified",
    }  # fmt: skip
    facts = Facts(program="Fieldmark", folder=photo.parent, place=(47.6, -122.3))
    camera = camtrap_dp([by_person], facts).files["observations.csv"]
    assert "Cyanocitta cristata" in camera and ",human," in camera and "Before: Probably Common Raven" in camera
    detections = json.loads(megadetector([by_person], facts).files[""])
    names = detections["classification_categories"]
    ((first, sure),) = detections["images"][0]["detections"][0]["classifications"]
    assert (names[first], sure) == (JAY.name, 1.0)
    write_keywords(given)
    sidecars = [path.read_text() for path in write_keywords(by_person)]
    assert all(JAY.name in text and "Raven" not in text and "corax" not in text for text in sidecars) and sidecars
    assert JAY.name in inaturalist([by_person], facts).files[""]
    file.add([(given, Answer(rank="none", name=NO_BIRD))])
    empty = file.applied(given)
    assert message_of(empty).name == "No bird" and ",blank," in camtrap_dp([empty], facts).files["observations.csv"]
    beside = replace(given, box=RIGHT, bird=2)
    assert ",blank," not in camtrap_dp([empty, beside], facts).files["observations.csv"]
    file.add([(given, Answer(rank="none", name="unknown"))])
    assert "corax" not in megadetector([file.applied(given)], facts).files[""], "a person does not know it"
    assert json.loads(megadetector([empty], facts).files[""])["images"][0]["detections"] == []
    file.add([(given, replace(CROW, confidence=None, p_unknown=None))])
    assert message_of(file.applied(given)).sure.startswith("confirmed") and not message_of(file.applied(given)).notes
