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
from data.records import Answer, Box, Candidate, Correction, EncounterPhoto, Identification
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


BY_ANA = Correction(by="Ana", at="2024-05-06T06:00:00", status="identified", answer=OWL)
BARE = [shot("a.jpg", place=None), shot("b.jpg", place=None, date=None)]
TWO = [shot("1.jpg", n_birds=2), shot("1.jpg", n_birds=2, bird=2), shot("2.jpg", date="2024-05-04T05:00:00+02:00")]
GIVEN = replace(FACTS, place=(1.5, -2.5), place_name="Pond, west", date="2025-01-02")
DOCUMENTS = {
    "Camtrap DP": lambda: camtrap_dp(ROWS, FACTS), "Camtrap DP at a given place": lambda: camtrap_dp(BARE, GIVEN),
    "Camtrap DP in another folder": lambda: camtrap_dp(ROWS[:1], replace(FACTS, folder=Path("/elsewhere"))),
    "MegaDetector": lambda: megadetector(ROWS, FACTS), "iNaturalist": lambda: inaturalist(ROWS, FACTS),
    "eBird": lambda: ebird([*TWO, shot("3.jpg", date="2024-05-05", correction=BY_ANA), ROWS[1], ROWS[3]], FACTS),
    "eBird at a given place": lambda: ebird(BARE, GIVEN),
    "eBird without its species": lambda: ebird(ROWS, replace(FACTS, name_in_ebird=lambda _: None)),
}  # fmt: skip


def recorded() -> str:
    """Return files and notes of every document, but for the time at which it was made."""
    lines = []
    for name, make in DOCUMENTS.items():
        made = make()
        lines += [f"== {name}: {file}\n{text.rstrip()}" for file, text in made.files.items()]
        lines += [f"note: {note}" for note in made.notes]
    return re.sub(r'"created": "[^"]+"', '"created": ""', "\n".join(lines)) + "\n"


def test_documents_are_those_on_record_and_camtrap_dp_is_valid_for_frictionless(tmp_path: Path) -> None:
    """MegaDetector's form is also as `validate_batch_results` of megadetector-utils 10 checks, which is too heavy."""
    assert recorded() == Path(__file__).with_name("documents.txt").read_text(encoding="utf-8")
    assert problems(camtrap_dp(ROWS, FACTS), tmp_path) == []


def test_other_programs_find_their_columns_and_one_row_of_a_species() -> None:
    table = pandas.read_csv(io.StringIO(inaturalist(ROWS, FACTS).files[""]))
    assert tuple(table.columns) == INATURALIST
    text = DOCUMENTS["eBird"]().files[""]
    assert '"' not in text, "eBird takes no quotation marks"
    found = pandas.read_csv(io.StringIO(text), header=None, dtype=str).fillna("")
    assert found.shape == (2, EBIRD_COLUMNS)
    assert found[[0, 1, 2, 3, 8]].values.tolist() == [
        ["Snowy Owl", "Bubo", "scandiacus", n, day] for n, day in (("2", "05/04/2024"), ("1", "05/05/2024"))
    ]


def test_rows_without_place_or_date_and_impossible_paths_are_refused() -> None:
    for make in (camtrap_dp, ebird):
        with pytest.raises(BadInput, match="no photo has a place or a "):
            make(BARE, FACTS)
    with pytest.raises(BadInput, match=r"no paths such as \.x/a\.jpg"):
        camtrap_dp([shot(".x/a.jpg"), shot("b.jpg")], FACTS)


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
