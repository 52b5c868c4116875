"""Identified photos for programs of camera traps: Camtrap DP and the format of MegaDetector.

Camtrap DP is a folder with datapackage.json and three tables (camtrap-dp.tdwg.org, 1.0); MegaDetector's is one JSON
file (format 1.6), which Timelapse and others read.
"""

from __future__ import annotations

import json
import mimetypes
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any, Final

from data.errors import BadInput
from data.files import sha256_hex
from data.records import EncounterPhoto, Identification
from recognize.answers import BLANK, message_of
from recognize.detect.birds import CLASSES
from recognize.exports.document import Document, Facts, as_rows, in_utc, left_out, photos_of, refuse_without, share_of

SCHEMAS: Final = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/"
_DEPLOYMENTS: Final = """
deploymentID locationID locationName latitude longitude coordinateUncertainty deploymentStart deploymentEnd setupBy
cameraID cameraModel cameraDelay cameraHeight cameraDepth cameraTilt cameraHeading detectionDistance timestampIssues
baitUse featureType habitat deploymentGroups deploymentTags deploymentComments
"""
_MEDIA: Final = """
mediaID deploymentID captureMethod timestamp filePath filePublic fileName fileMediatype exifData favorite mediaComments
"""
_OBSERVATIONS: Final = """
observationID deploymentID mediaID eventID eventStart eventEnd observationLevel observationType cameraSetupType
scientificName count lifeStage sex behavior individualID individualPositionRadius individualPositionAngle
individualSpeed bboxX bboxY bboxWidth bboxHeight classificationMethod classifiedBy classificationTimestamp
classificationProbability observationTags observationComments
"""
VEHICLES: Final = ("bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "vehicle")
_PATH: Final = re.compile(r"(?![./~])(?!.*\.\.).+")  # of the standard
_DECIMALS: Final = 3  # of degrees: a hundred metres, within which receivers differ
_MEDIA_TYPES: Final = {".heic": "image/heic", ".heif": "image/heif", ".hif": "image/heif", ".avif": "image/avif"}

Cells = dict[str, Any]
"""Column of a table of Camtrap DP -> value; columns that are not here are empty."""


class _Package:
    """The tables of Camtrap DP as rows come in."""

    def __init__(self, root: Path, facts: Facts) -> None:
        self.root, self.facts = root, facts
        self.deployments: dict[str, Cells] = {}
        self.media: dict[str, Cells] = {}
        self.observations: list[Cells] = []
        self.taxa: dict[str, Cells] = {}
        self.n_photos = 0
        self.lacks: Counter[str] = Counter()
        """Reason for which photos are left out -> their number."""
        self._places: dict[str, dict[tuple[float, float], int]] = {}

    def add(self, row: Identification) -> None:
        """Add the photos of a row that have a place and a time, their deployments, and the observation."""
        place, media = self.facts.place_of(row), list[Cells]()
        for photo in photos_of(row):
            moment = self.facts.moment_of(photo.date or row.date)
            is_new = row.bird == 1
            self.n_photos += is_new
            self.lacks["readable"] += is_new and photo.error is not None
            if photo.error is None:
                self.lacks["place"] += is_new and place is None
                self.lacks["time"] += is_new and moment is None
                if place is not None and moment is not None:
                    media.append(self._medium(photo, place, moment))
        if media:
            self.observations.append(self._observation(row, media))

    def _medium(self, photo: EncounterPhoto, place: tuple[float, float], moment: datetime) -> Cells:
        """Add a medium and its deployment, called by its folder, with a number for each further place of the folder."""
        path = relative(photo.image, self.root)
        if not _PATH.fullmatch(path):
            raise BadInput(
                f"Camtrap DP has no paths such as {path}: they must not begin with . or ~, nor hold two dots.",
                hint="Rename the photo or its folder.",
            )
        time, suffix = in_utc(moment), PurePath(path).suffix.lower()
        folder = path.rpartition("/")[0] or self.root.name
        places = self._places.setdefault(folder, {})
        number = places.setdefault((round(place[0], _DECIMALS), round(place[1], _DECIMALS)), len(places))
        key = f"{folder} ({number + 1})" if number else folder
        deployment = self.deployments.setdefault(
            key,
            {
                "deploymentID": key, "locationName": self.facts.place_name or key, "latitude": round(place[0], 5),
                "longitude": round(place[1], 5), "deploymentStart": time, "deploymentEnd": time,
                "timestampIssues": False,
            },
        )  # fmt: skip
        deployment["deploymentStart"] = min(deployment["deploymentStart"], time)
        deployment["deploymentEnd"] = max(deployment["deploymentEnd"], time)
        deployment["timestampIssues"] |= moment.tzinfo is None
        medium: Cells = {
            "mediaID": sha256_hex(path)[:12], "deploymentID": key, "timestamp": time, "filePath": path,
            "filePublic": False, "fileName": PurePath(path).name,
            "fileMediatype": _MEDIA_TYPES.get(suffix) or mimetypes.guess_type(f"a{suffix}")[0] or "image/jpeg",
        }  # fmt: skip
        return self.media.setdefault(medium["mediaID"], medium)

    def _observation(self, row: Identification, media: Sequence[Cells]) -> Cells:
        """Return an observation: of an event for an encounter, else of a medium."""
        is_event, first, kind = bool(row.photos), media[0], _observation_type(row)
        named = row.answer if row.status == "identified" else None
        box = None if is_event or kind == "blank" else share_of(photos_of(row)[0])
        if named is not None:
            ranks = {name: value for name in ("order", "family") if (value := getattr(named, name))}
            self.taxa[named.name] = {"scientificName": named.name, "taxonRank": named.rank, **ranks}
        return {
            "observationID": f"{first['mediaID']}-{row.bird}", "deploymentID": first["deploymentID"],
            "eventID" if is_event else "mediaID": first["mediaID"],
            "eventStart": min(each["timestamp"] for each in media),
            "eventEnd": max(each["timestamp"] for each in media),
            "observationLevel": "event" if is_event else "media", "observationType": kind,
            "scientificName": named and named.name, "count": 1 if kind == "animal" else None,
            **dict(zip(("bboxX", "bboxY", "bboxWidth", "bboxHeight"), box or (), strict=False)),
            **self._classified(row), "observationComments": _comments(row),
        }  # fmt: skip

    def _classified(self, row: Identification) -> Cells:
        """Return the namer of a bird, a person or the program."""
        if row.correction is not None:
            by = {"classifiedBy": row.correction.by or "a person", "classificationTimestamp": row.correction.at}
            return {"classificationMethod": "human", **by}
        sure = row.answer.confidence if row.answer is not None and row.status == "identified" else None
        return {
            "classificationMethod": "machine", "classifiedBy": self.facts.program, "classificationProbability": sure,
        }  # fmt: skip

    def about(self) -> dict[str, object]:
        """Return the metadata."""
        resources = [
            {
                "name": name, "path": f"{name}.csv", "profile": "tabular-data-resource", "format": "csv",
                "mediatype": "text/csv", "encoding": "utf-8", "schema": f"{SCHEMAS}{name}-table-schema.json",
            }
            for name in ("deployments", "media", "observations")
        ]  # fmt: skip
        name = re.sub(r"[^a-z0-9]+", "-", self.root.name.lower()).strip("-") or "photos"
        held = self.deployments.values()
        points = sorted({(each["longitude"], each["latitude"]) for each in held})
        return {
            "resources": resources,
            "profile": f"{SCHEMAS}camtrap-dp-profile.json",
            "name": name,
            "created": datetime.now().astimezone().isoformat(timespec="seconds"),
            "title": self.root.name or name,
            "contributors": [{"title": self.facts.program, "role": "contributor"}],
            "project": {
                "title": self.root.name or name, "samplingDesign": "opportunistic",
                "captureMethod": ["activityDetection"], "individualAnimals": False,
                "observationLevel": sorted({each["observationLevel"] for each in self.observations}),
            },
            "spatial": {"type": "MultiPoint", "coordinates": points},
            "temporal": {
                "start": f"{min(each['deploymentStart'] for each in held):%Y-%m-%d}",
                "end": f"{max(each['deploymentEnd'] for each in held):%Y-%m-%d}",
            },
            "taxonomic": [self.taxa[name] for name in sorted(self.taxa)],
        }  # fmt: skip


def camtrap_dp(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return a Camera Trap Data Package: a deployment for each folder and place, a medium for each photo.

    Times without an offset from UTC are written as UTC, and `timestampIssues` of their deployment is true.

    Raises:
        BadInput: if no photo has both a place and a time, or for a path that the standard lacks.
    """
    given = list(rows)
    made = _Package(root_of(given, facts.folder), facts)
    with_birds = {row.image for row in given if row.status != "no_bird"}
    for row in given:
        if row.status != "no_bird" or row.image not in with_birds:  # a photo with a bird is not blank
            made.add(row)
    n, lacks = made.n_photos, made.lacks
    if not made.media:
        raise refuse_without([name for name in ("place", "time") if lacks[name]], "camtrap-dp")
    notes = [
        *left_out(lacks["readable"], n, "photo", "unreadable"),
        *left_out(lacks["place"], n, "photo", "no place; --place gives it"),
        *left_out(lacks["time"], n, "photo", "no time; --date gives it"),
        "datapackage.json has no contributors of yours, and a title and a sampling design that were assumed: edit it",
    ]
    if any(each["timestampIssues"] for each in made.deployments.values()):
        notes.append("Times without an offset from UTC are written as UTC, and timestampIssues says so")
    if made.root != facts.folder.absolute():
        notes.append(
            f"Paths in media.csv are relative to {made.root}: move the tables there, or the photos to the tables"
        )
    files = {
        "datapackage.json": json.dumps(made.about(), indent=2, ensure_ascii=False) + "\n",
        "deployments.csv": _table(_DEPLOYMENTS.split(), made.deployments.values()),
        "media.csv": _table(_MEDIA.split(), made.media.values()),
        "observations.csv": _table(_OBSERVATIONS.split(), made.observations),
    }
    return Document(files=files, notes=tuple(notes))


def root_of(rows: Iterable[Identification], folder: Path) -> Path:
    """Return the folder that paths are relative to: that of the document if it holds all photos, else theirs."""
    parents = {str(_absolute(photo.image).parent) for row in rows for photo in photos_of(row)}
    common = Path(os.path.commonpath(parents)) if parents else folder.absolute()
    return folder.absolute() if common.is_relative_to(folder.absolute()) else common


def relative(image: str, root: Path) -> str:
    """Return the path of a photo below a folder, with slashes."""
    return PurePath(os.path.relpath(_absolute(image), root)).as_posix()


def _absolute(image: str) -> Path:
    return Path(os.path.normpath(Path(image).absolute()))  # links stay as they are


def _comments(row: Identification) -> str | None:
    """Return the answer before that of a person, or why there is no name."""
    if row.correction is not None:
        return " ".join(message_of(row).notes[:1])
    return None if row.status == "identified" else ": ".join(filter(None, (message_of(row).headline, row.shows)))


def _observation_type(row: Identification) -> str:
    """Return the type of an observation; without a bird it is blank if MegaDetector or a person saw none."""
    if row.status != "no_bird":
        return "unknown" if row.status == "not_sure" and row.shown_box is None else "animal"
    if row.correction is not None:
        return "blank"
    kinds = {**dict.fromkeys((*CLASSES, "animal"), "animal"), **dict.fromkeys(VEHICLES, "vehicle")}
    return {**kinds, "person": "human", BLANK: "blank"}.get(row.shows or "", "unclassified")


def _table(columns: Sequence[str], rows: Iterable[Cells]) -> str:
    return as_rows([columns, *([_cell(row.get(name)) for name in columns] for row in rows)])


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return str(value).lower() if isinstance(value, bool) else value


def megadetector(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return MegaDetector's format 1.6: the box of each bird with its answer and candidates as classifications.

    An identified photo without a box has one of the whole photo. Names without a confidence have 1.
    """
    given = list(rows)
    root = root_of(given, facts.folder)
    numbers: dict[str, str] = {}  # of a class
    descriptions: dict[str, str] = {}
    images: dict[str, Cells] = {}
    for row in given:
        found = _classes(row)
        for name, (_, description) in found.items():
            descriptions[numbers.setdefault(name, str(len(numbers)))] = description
        classes = [(numbers[name], confidence) for name, (confidence, _) in found.items()]
        for photo in photos_of(row):
            path, box = relative(photo.image, root), share_of(photo)
            if photo.error is not None:
                images[path] = {"file": path, "failure": photo.error, "detections": None}
                continue
            image = images.setdefault(path, {"file": path, "detections": []})
            is_seen = box is not None and not (row.correction and row.status == "no_bird")
            if is_seen or (row.status == "identified" and classes):
                score = photo.box_score if photo.box_score is not None else next((sure for _, sure in classes), 1.0)
                named = {"classifications": classes} if classes else {}
                image["detections"].append(
                    {"category": "1", "conf": float(score), "bbox": box or (0, 0, 1, 1), **named}
                )
    document = {
        "info": {"format_version": "1.6", "detector": facts.program, "classifier": facts.program},
        "detection_categories": {"1": "animal", "2": "person", "3": "vehicle"},
        "classification_categories": {number: name for name, number in numbers.items()},
        "classification_category_descriptions": descriptions,
        "images": list(images.values()),
    }
    by_models = [row.answer for row in given if row.status == "identified" and not row.correction]
    is_plain = any(answer is not None and answer.confidence is None for answer in by_models)
    notes = [f"Paths are relative to {root}"] if root != facts.folder.absolute() else []
    notes += ["Names without a confidence are written with 1: see kb calibrate"] if is_plain else []
    return Document(files={"": json.dumps(document, indent=1, ensure_ascii=False) + "\n"}, notes=tuple(notes))


def _classes(row: Identification) -> dict[str, tuple[float, str]]:
    """Return name -> confidence and lineage of the answer and of the candidates, the most confident first.

    A lineage is one of SpeciesNet's labels: id, class (both empty), order, family, genus, epithet, common name.
    """
    found: dict[str, tuple[float, str]] = {}

    def add(name: str, rank: str, confidence: float, *parts: str | None, common: str | None) -> None:
        genus, _, epithet = name.partition(" ") if rank in ("species", "genus") else ("", "", "")
        lineage = ";".join(("", "", *(part or "" for part in parts), genus, epithet)).lower()
        found.setdefault(name, (confidence, f"{lineage};{common or ''}"))

    if row.status == "identified" and (answer := row.answer) is not None:
        sure = 1.0 if answer.confidence is None else answer.confidence
        add(answer.name, answer.rank, sure, answer.order, answer.family, common=answer.common_name)
    is_open = row.correction is None and row.status not in ("error", "no_bird")
    for each in row.candidates if is_open else ():
        if each.confidence is not None:
            add(each.scientific_name, "species", each.confidence, each.order, each.family, common=each.common_name)
    return dict(sorted(found.items(), key=lambda item: -item[1][0]))
