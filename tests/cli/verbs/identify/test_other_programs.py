"""`kb identify` with lists of photos of other programs, and output for them."""

import json
from pathlib import Path
from typing import Any

import pandas
import pytest

OWL, JAY = "bubo-scandiacus.png", "cyanocitta-cristata.png"
TIMELAPSE = f"File,RelativePath,DeleteFlag\n{OWL},drawings,false\n{JAY},drawings,false\n"
CAMTRAP_DP = f"""mediaID,filePath,filePublic,fileName
m1,drawings/{OWL},true,x.png\nm0,drawings/a.MP4,true,a.MP4\nm2,drawings\\{JAY},true,y.png
"""
SPECIESNET = json.dumps({"predictions": [
    {"filepath": f"drawings/{OWL}", "detections": [
        {"category": "1", "label": "animal", "conf": 0.9, "bbox": [0.1, 0.1, 0.8, 0.8]},
        {"category": "2", "label": "human", "conf": 0.9, "bbox": [0, 0, 0.1, 0.1]},
        {"category": "1", "label": "animal", "conf": 0.9, "bbox": [0.5, 0.1, 0.0, 0.1]},
    ]},
    {"filepath": f"drawings/{JAY}", "failures": ["DETECTOR"]},
]})  # fmt: skip
MEGADETECTOR: dict[str, Any] = {
    "info": {"format_version": "1.4"},
    "detection_categories": {"1": "animal", "2": "person"},
    "images": [
        {"file": f"drawings/{OWL}", "detections": [
            {"category": "1", "conf": 0.9, "bbox": [0.25, 0.25, 0.5, 0.5]}, {"category": "2", "conf": 0.95,
                                                                            "bbox": [0, 0, 1, 1]},
        ]},
        {"file": f"drawings/{JAY}", "detections": [{"category": "1", "conf": 0.1, "bbox": [0.1, 0.1, 0.5, 0.5]}]},
        {"file": "drawings/cardinalis-cardinalis.png", "failure": "Failure image access"},
        {"file": "drawings/film.MP4", "detections": []},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("TimelapseData.csv", TIMELAPSE),
        ("media.csv", CAMTRAP_DP),
        ("record_table.csv", f"Station,Directory,FileName\nA,drawings,{OWL}\nA,drawings,{JAY}\n"),
        ("names.csv", f"status,image,note\nidentified,drawings/{OWL},a\nidentified,drawings/{JAY},b\n"),
        ("predictions.json", SPECIESNET),
        ("list.txt", f"drawings/{OWL}\ndrawings/{JAY}\n"),
    ],
)
def test_lists_of_other_programs_are_read(
    cli: Any, built_kb: Path, drawings: Path, name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / "lists").mkdir()
    drawings.rename(tmp_path / "lists" / "drawings")
    Path("lists", name).write_text(content)
    outcome = cli.call("identify", f"lists/{name}", "--kb", built_kb, "--format", "jsonl", check=True)
    assert ("1 video skipped: save stills as JPEG" in outcome.stderr) == ("MP4" in content)
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(row["image"], row["answer"]["name"]) for row in rows] == [
        (f"lists/drawings/{OWL}", "Bubo scandiacus"), (f"lists/drawings/{JAY}", "Cyanocitta cristata"),
    ]  # fmt: skip


def test_the_boxes_of_megadetector_replace_ours_and_blanks_are_told(cli: Any, built_kb: Path, drawings: Path) -> None:
    Path("md.json").write_text("\ufeff" + json.dumps(MEGADETECTOR))
    command = ("identify", "md.json", "--kb", built_kb, "--format", "jsonl")
    outcome = cli.call(*command, check=True)
    owl, jay, cardinal = [json.loads(line) for line in outcome.stdout.splitlines()]
    across, down = owl["size"]
    assert owl["box"] == [across / 4, down / 4, across * 3 / 4, down * 3 / 4]
    assert (owl["box_score"], owl["answer"]["name"]) == (0.9, "Bubo scandiacus")
    assert (jay["status"], jay["shows"], jay["box"]) == ("no_bird", "blank", None)
    assert cardinal["answer"]["name"] == "Cardinalis cardinalis", "our detector looks where MegaDetector failed"
    said = "3 photos, 1 of them blank (nothing scores 0.2 or more); 1 where it failed; 1 video skipped"
    assert said in outcome.stderr
    assert "Blank" in cli.call("identify", "md.json", "--kb", built_kb, check=True).stdout
    fast = cli.call(*command, "--fast", check=True)
    assert "the boxes of MegaDetector are not used" in fast.stderr
    assert [json.loads(line)["box"] for line in fast.stdout.splitlines()] == [None] * 3
    cli.call(*command, "--output", "rows.jsonl", check=True)
    Path("md.json").write_text(json.dumps({**MEGADETECTOR, "images": MEGADETECTOR["images"][:1]}))
    other = cli.call(*command, "--output", "rows.jsonl")
    assert (other.exit_code, "other boxes of MegaDetector" in other.stderr) == (2, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"profile": "tabular"}', "of a Camtrap DP, give media.csv"),
        ("[1, 2", "is no list of photos"),
        ('{"images": [{"file": "a.jpg", "detections": [{"category": "1", "conf": 1, "bbox": [0.5, 0, -1, 1]}]}]}',
         "bbox [0.5, 0, -1, 1], expected left, top, width and height"),
    ],
)  # fmt: skip
def test_other_json_is_refused_with_the_remedy(cli: Any, built_kb: Path, content: str, message: str) -> None:
    Path("a.json").write_text(content)
    outcome = cli.call("identify", "a.json", "--kb", built_kb)
    assert (outcome.exit_code, message in outcome.stderr) == (5, True), outcome.stderr


def test_each_format_is_written_to_its_place_resumed_and_read_back(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", "drawings", "--kb", built_kb)
    for form in ("camtrap-dp", "ebird"):
        refused = cli.call(*command, "--format", form, "--output", "out")
        assert (refused.exit_code, "no photo has a place or a time" in refused.stderr) == (5, True), refused.stderr
    wrong = cli.call(*command, "--format", "ebird", "--place", "1,2", "--date", "2026-5-3")
    assert (wrong.exit_code, "Expected a date such as 2026-05-31, got 2026-5-3" in wrong.stderr) == (2, True)
    where = ("--place", "60.39299,5.32415", "--date", "2026-05-31", "--min-confidence", 0)
    folder = ("--format", "camtrap-dp", "--output", "drawings")
    cli.call(*command, *where, *folder, check=True)
    media = pandas.read_csv("drawings/media.csv")
    assert media["filePath"].to_list() == sorted(path.name for path in drawings.glob("*.png"))
    assert "4 of 4 photos done before" in cli.call(*command, *where, *folder, check=True).stderr
    Path("drawings/media.csv").write_text("mine")
    changed = cli.call(*command, *where, *folder)
    assert (changed.exit_code, "media.csv is not as kb identify wrote it" in changed.stderr) == (2, True)
    assert "needs --output DIR" in cli.call(*command, *where, "--format", "camtrap-dp").stderr
    text = cli.call(*command, *where, "--format", "ebird", check=True).stdout
    lines = [line.split(",") for line in text.splitlines()]
    assert ["Snowy Owl", "Bubo", "scandiacus", "1"] in [line[:4] for line in lines]
    assert {(line[6], line[7], line[8]) for line in lines} == {("60.39299", "5.32415", "05/31/2026")}
    cli.call(*command, "--format", "megadetector", "--output", "md.json", check=True)
    again = cli.call("identify", "md.json", "--kb", built_kb, "--format", "jsonl", check=True)
    assert len(again.stdout.splitlines()) == 4, "our own output is a list of photos"
    table = cli.call(*command, *where, "--format", "inaturalist", check=True).stdout
    assert len(table.splitlines()) == 5


def test_excel_gets_a_mark_and_photos_get_keywords(cli: Any, built_kb: Path, drawings: Path) -> None:
    command = ("identify", drawings, "--kb", built_kb, "--min-confidence", 0)
    cli.call(*command, "--excel", "--xmp", "--output", "names.csv", check=True)
    assert Path("names.csv").read_bytes().startswith(b"\xef\xbb\xbfimage,")
    assert "4 of 4 photos done before" in cli.call(*command, "--excel", "--output", "names.csv", check=True).stderr
    assert len(pandas.read_csv("names.csv")) == 4
    assert not cli.call(*command, "--format", "csv", check=True).stdout.startswith("\ufeff")
    assert "--excel only changes CSV, not jsonl" in cli.call(*command, "--excel", "--format", "jsonl").stderr
    assert "<rdf:li>Bubo scandiacus</rdf:li>" in Path(f"drawings/{OWL}.xmp").read_text()
    assert len(list(drawings.glob("*.xmp"))) == 4


def test_names_of_ebird_replace_those_of_avilist() -> None:
    from kb.checklist.avilist import ebird_names, load_checklist

    for name, expected in (("Ardea cinerea", "Gray Heron"), ("Megaloprepia magnifica", "Wompoo Fruit-Dove")):
        taxon = load_checklist().find(name)
        assert taxon is not None
        assert ebird_names()[taxon.ids["ebird"]][0] == expected
