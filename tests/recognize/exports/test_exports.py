"""Identified photos in the formats of other programs, read back by other programs' readers."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import frictionless
import pandas
import pytest

from data.errors import BadInput
from data.records import Answer, Box, Candidate, EncounterPhoto, Identification
from recognize.exports.camera_traps import camtrap_dp, megadetector
from recognize.exports.document import Document, Facts
from recognize.exports.keywords import sidecar_of, with_keywords, write_keywords
from recognize.exports.observations import EBIRD_COLUMNS, INATURALIST, ebird, inaturalist

SCHEMAS = Path(__file__).with_name("camtrap-dp")
JAY = Candidate(taxon_id="a", scientific_name="Cyanocitta cristata", common_name="Blue Jay", score=1.0, confidence=0.1)
OWL = Answer(rank="species", name="Bubo scandiacus", common_name="Snowy Owl", confidence=0.9, family="Strigidae",
             order="Strigiformes")  # fmt: skip
HERE = Path("/photos")
FACTS = Facts(program="Fieldmark 1", folder=HERE, name_in_ebird=lambda name: ("Snowy, Owl", name))


def shot(name: str, **more: Any) -> Identification:
    first = Identification(
        image=f"/photos/{name}", answer=OWL, candidates=(JAY,), place=(-33.91, 18.423456), size=(400, 200),
        date="2024-05-04T06:00:00+02:00",
    )  # fmt: skip
    return replace(first, **more)


BOX = {"box": Box(100, 50, 200, 150), "box_score": 0.75}
NO_BIRD: dict[str, Any] = {"status": "no_bird", "answer": Answer(rank="none", name="")}
ROWS = [
    shot("Site A/=1.jpg", n_birds=2, **BOX),
    shot("Site A/=1.jpg", n_birds=2, bird=2, answer=replace(OWL, rank="genus", name="Bubo", common_name=None), **BOX),
    shot("Site A/2.heic", date="2024-05-04T07:30:00"),
    shot("b/3.jpg", shows="blank", **NO_BIRD),
    shot("b/4.jpg", shows="person", **NO_BIRD),
    shot("b/5.jpg", place=(10.0, 20.0), **NO_BIRD),
    shot("b/6.jpg", status="not_sure", answer=Answer(rank="none", name="")),
    shot("b/7.jpg", date=None),
    shot("b/8.jpg", place=None),
    shot("b/9.jpg", status="error", error="b/9.jpg is empty", answer=None, date=None, place=None),
    shot("c/1.jpg", photos=(
        EncounterPhoto(image="/photos/c/1.jpg", size=(400, 200), date="2024-05-05T06:00:00Z", **BOX),
        EncounterPhoto(image="/photos/c/2.jpg", size=(400, 200), date="2024-05-05T06:00:09Z"),
    )),
]  # fmt: skip


def tables(document: Document) -> dict[str, pandas.DataFrame]:
    return {
        name: pandas.read_csv(io.StringIO(text), keep_default_na=False)
        for name, text in document.files.items()
        if name.endswith(".csv")
    }


def problems(package: Document, folder: Path) -> list[Any]:
    """Return what frictionless finds wrong in a package, by the schemas of Camtrap DP."""
    for name, text in package.files.items():
        (folder / name).write_text(text)
    found = json.loads(package.files["datapackage.json"])
    for resource in found["resources"]:
        name = re.fullmatch(r"https://[^ ]+/camtrap-dp/1\.0\.2/([a-z]+-table-schema\.json)", resource["schema"])[1]
        resource["schema"] = json.loads((SCHEMAS / name).read_text())
    assert found.pop("profile").endswith("/1.0.2/camtrap-dp-profile.json")
    report = frictionless.Package.from_descriptor(found, basepath=str(folder)).validate()
    return report.flatten(["type", "message"])


def test_camtrap_dp_is_valid_for_frictionless_and_says_what_it_lacks(tmp_path: Path) -> None:
    package = camtrap_dp(ROWS, FACTS)
    assert problems(package, tmp_path) == []
    found = tables(package)
    media, observations = found["media.csv"], found["observations.csv"]
    assert list(media["filePath"]) == ["Site A/=1.jpg", "Site A/2.heic", *(f"b/{n}.jpg" for n in (3, 4, 5, 6)),
                                       "c/1.jpg", "c/2.jpg"]  # fmt: skip
    assert media["fileMediatype"][1] == "image/heic"
    assert media["timestamp"][:2].to_list() == ["2024-05-04T06:00:00+02:00", "2024-05-04T07:30:00+00:00"]
    columns = ["observationLevel", "observationType", "scientificName", "bboxX", "bboxWidth", "count"]
    assert observations[columns].values.tolist() == [
        ["media", "animal", "Bubo scandiacus", "0.25", "0.25", "1"],
        ["media", "animal", "Bubo", "0.25", "0.25", "1"],
        ["media", "animal", "Bubo scandiacus", "", "", "1"],
        ["media", "blank", "", "", "", ""],
        ["media", "human", "", "", "", ""],
        ["media", "unclassified", "", "", "", ""],
        ["media", "unknown", "", "", "", ""],
        ["event", "animal", "Bubo scandiacus", "", "", "1"],
    ]
    assert observations["eventEnd"].to_list()[-1] == "2024-05-05T06:00:09+00:00"
    deployments = found["deployments.csv"]
    assert deployments["deploymentID"].to_list() == ["Site A", "b", "b (2)", "c"]
    assert deployments["timestampIssues"].to_list() == [True, False, False, False]
    about = json.loads(package.files["datapackage.json"])
    assert [taxon["scientificName"] for taxon in about["taxonomic"]] == ["Bubo", "Bubo scandiacus"]
    assert about["temporal"] == {"start": "2024-05-04", "end": "2024-05-05"}
    for text in ("1 of 11 photos left out: unreadable", "1 of 11 photos left out: no place", "no time", "UTC"):
        assert any(text in note for note in package.notes), text
    elsewhere = camtrap_dp(ROWS, replace(FACTS, folder=tmp_path))
    assert any("Paths in media.csv are relative to /photos" in note for note in elsewhere.notes)


def test_place_and_date_of_a_run_replace_those_of_photos_and_their_lack_is_refused() -> None:
    bare = [shot("a.jpg", place=None), shot("b.jpg", place=None, date=None)]
    for make in (camtrap_dp, ebird):
        with pytest.raises(BadInput, match="no photo has a place or a "):
            make(bare, FACTS)
    given = replace(FACTS, place=(1.5, -2.5), place_name="Pond, west", date="2025-01-02")
    package = camtrap_dp(bare, given)
    assert tables(package)["deployments.csv"][["latitude", "longitude", "locationName"]].values.tolist() == [
        [1.5, -2.5, "Pond, west"]
    ]
    assert set(tables(package)["media.csv"]["timestamp"]) == {"2025-01-02T00:00:00+00:00"}
    assert ebird(bare, given).files[""] == (
        "Snowy Owl,Bubo,scandiacus,1,Named from 2 photos by Fieldmark 1,Pond west,1.5,-2.5,01/02/2025,,,,Incidental,,,"
        "N,,,\n"
    )
    with pytest.raises(BadInput, match=r"no paths such as \.x/a\.jpg"):
        camtrap_dp([shot(".x/a.jpg"), shot("b.jpg")], FACTS)


def test_megadetector_format_has_boxes_and_classes() -> None:
    """As `megadetector.postprocessing.validate_batch_results` of megadetector-utils 10 checks, which is too heavy."""
    found = json.loads(megadetector(ROWS, FACTS).files[""])
    assert found["info"]["format_version"] == "1.6"
    names = found["classification_categories"]
    assert set(found) == {"info", "images", "detection_categories", "classification_categories",
                          "classification_category_descriptions"}  # fmt: skip
    assert all(int(number) >= 0 and name.strip() for number, name in names.items())
    by_file = {image["file"]: image for image in found["images"]}
    assert len(by_file) == len(found["images"]) == 11
    assert by_file["b/9.jpg"] == {"file": "b/9.jpg", "failure": "b/9.jpg is empty", "detections": None}
    assert by_file["b/3.jpg"]["detections"] == by_file["b/6.jpg"]["detections"] == []
    first, second = by_file["Site A/=1.jpg"]["detections"]
    assert (first["category"], first["conf"], first["bbox"]) == ("1", 0.75, [0.25, 0.25, 0.25, 0.5])
    assert [(names[number], conf) for number, conf in first["classifications"]] == [
        ("Bubo scandiacus", 0.9), ("Cyanocitta cristata", 0.1),
    ]  # fmt: skip
    assert names[second["classifications"][0][0]] == "Bubo"
    [whole] = by_file["c/2.jpg"]["detections"]
    assert (whole["bbox"], whole["conf"]) == ([0, 0, 1, 1], 0.9)
    owl = next(number for number, name in names.items() if name == "Bubo scandiacus")
    description = found["classification_category_descriptions"][owl]
    assert description == ";;strigiformes;strigidae;bubo;scandiacus;Snowy Owl"


def test_portals_get_one_row_of_a_species_with_the_most_birds_in_a_photo() -> None:
    table = pandas.read_csv(io.StringIO(inaturalist(ROWS, FACTS).files[""]))
    assert tuple(table.columns) == INATURALIST
    assert table["Taxon name"].to_list() == ["Bubo scandiacus", "Bubo", *["Bubo scandiacus"] * 4]
    assert table["Date observed"].to_list()[:3] == ["2024-05-04 06:00:00"] * 2 + ["2024-05-04 07:30:00"]
    two = [shot("1.jpg", n_birds=2), shot("1.jpg", n_birds=2, bird=2), shot("2.jpg", date="2024-05-04T05:00:00+02:00")]
    other_day = shot("3.jpg", date="2024-05-05")
    document = ebird([*two, other_day, *ROWS[1:2], *ROWS[3:4]], FACTS)
    assert '"' not in document.files[""], "eBird takes no quotation marks"
    found = pandas.read_csv(io.StringIO(document.files[""]), header=None, dtype=str).fillna("")
    assert found.shape == (2, EBIRD_COLUMNS)
    assert found[[0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 15]].values.tolist() == [
        ["Snowy Owl", "Bubo", "scandiacus", n, "33.9100 S 18.4235 E", "-33.91", "18.42346", day, time, "Incidental",
         "N"]
        for n, day, time in (("2", "05/04/2024", "05:00"), ("1", "05/05/2024", ""))
    ]  # fmt: skip
    assert "2 of 6 rows left out: not named to species" in document.notes
    foreign = ebird(ROWS, replace(FACTS, name_in_ebird=lambda _: None))
    assert foreign.files[""] == ""
    assert any("no species of eBird" in note for note in foreign.notes)


LIGHTROOM = """<?xpacket begin="" id="W5"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><!-- mine -->
<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Description r:about="u"
 xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="48,23.1N"{more}</r:RDF></x:xmpmeta><?xpacket end="w"?>"""
LISTS = """ xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:lr="http://ns.adobe.com/lightroom/1.0/"
 xmlns:digiKam="http://www.digikam.org/ns/1.0/">
<d:subject><r:Bag><r:li>Étang</r:li><r:li>Snowy Owl</r:li></r:Bag></d:subject>
<digiKam:TagsList><r:Seq><r:li>Places/Étang</r:li></r:Seq></digiKam:TagsList>
<lr:hierarchicalSubject><r:Bag><r:li>Places|Étang</r:li></r:Bag></lr:hierarchicalSubject></r:Description>"""


def keywords(xmp: bytes) -> dict[str, list[str]]:
    rdf = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
    found = ElementTree.fromstring(xmp)
    properties = [each for each in found.iter() if each.findall(f"{rdf}Bag") + each.findall(f"{rdf}Seq")]
    return {each.tag.partition("}")[2]: [item.text or "" for item in each.iter(f"{rdf}li")] for each in properties}


def test_keywords_are_added_to_what_a_sidecar_has_and_replace_nothing() -> None:
    names = ["Snowy Owl", "Bubo scandiacus"]
    assert keywords(with_keywords(b"", names)) == {"subject": names}
    plain = with_keywords(LIGHTROOM.format(more="/>").encode(), names)
    assert keywords(plain) == {"subject": names}
    full = with_keywords(LIGHTROOM.format(more=LISTS).encode(), names)
    assert keywords(full) == {
        "subject": ["Étang", *names],
        "TagsList": ["Places/Étang", *names],
        "hierarchicalSubject": ["Places|Étang", *names],
    }
    for text in (plain, full):
        assert b"<!-- mine -->" in text
        assert b'exif:GPSLatitude="48,23.1N"' in text
        assert b'<?xpacket end="w"?>' in text
        assert with_keywords(text, names) == text, "a second time changes nothing"


def test_sidecars_are_found_by_either_name_and_others_are_refused(tmp_path: Path) -> None:
    raw, photo = tmp_path / "a.NEF", tmp_path / "a.jpg"
    assert (sidecar_of(raw).name, sidecar_of(photo).name) == ("a.xmp", "a.jpg.xmp")
    row = shot("a.jpg", image=str(photo))
    (tmp_path / "a.xmp").write_text(LIGHTROOM.format(more="/>"))
    assert write_keywords(row) == [tmp_path / "a.xmp"]
    for status, answer in (("not_sure", Answer(rank="none", name="")), ("no_bird", None)):
        assert write_keywords(replace(row, status=status, answer=answer)) == []
    for content in ("<html>", "<a/>", ""):
        (tmp_path / "a.xmp").write_text(content)
        if content:
            with pytest.raises(BadInput, match=r"a\.xmp is no XMP"):
                write_keywords(row)
            assert (tmp_path / "a.xmp").read_text() == content
