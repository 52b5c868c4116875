"""Identified photos for programs of camera traps: Camtrap DP and the format of MegaDetector.

Camtrap DP is a folder with datapackage.json and three tables (camtrap-dp.tdwg.org, 1.0); MegaDetector's is one JSON
file (format 1.6), which Timelapse and others read.
"""

from __future__ import annotations

import json
import mimetypes
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from typing import Final

from data.errors import BadInput
from data.files import sha256_hex
from data.records import EncounterPhoto, Identification
from recognize.answers import BLANK, message_of
from recognize.detect.birds import CLASSES
from recognize.exports.document import (
    Document,
    Facts,
    as_rows,
    in_utc,
    left_out,
    photos_of,
    refuse_without,
    share_of,
)

SCHEMAS: Final = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/"
_DEPLOYMENTS: Final = """
deploymentID locationID locationName latitude longitude coordinateUncertainty deploymentStart deploymentEnd
setupBy cameraID cameraModel cameraDelay cameraHeight cameraDepth cameraTilt cameraHeading detectionDistance
timestampIssues baitUse featureType habitat deploymentGroups deploymentTags deploymentComments
"""
_MEDIA: Final = """
mediaID deploymentID captureMethod timestamp filePath filePublic fileName fileMediatype exifData favorite
mediaComments
"""
_OBSERVATIONS: Final = """
observationID deploymentID mediaID eventID eventStart eventEnd observationLevel observationType cameraSetupType
scientificName count lifeStage sex behavior individualID individualPositionRadius individualPositionAngle
individualSpeed bboxX bboxY bboxWidth bboxHeight classificationMethod classifiedBy classificationTimestamp
classificationProbability observationTags observationComments
"""
COLUMNS: Final = {
    "deployments": _DEPLOYMENTS.split(),
    "media": _MEDIA.split(),
    "observations": _OBSERVATIONS.split(),
}
"""All columns of the tables of Camtrap DP, in its order; most are empty."""
VEHICLES: Final = ("bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "vehicle")
_PATH: Final = re.compile(r"(?![./~])(?!.*\.\.).+")  # of the standard
_DECIMALS: Final = 3  # of degrees: a hundred metres, within which receivers differ
_MEDIA_TYPES: Final = {".heic": "image/heic", ".heif": "image/heif", ".hif": "image/heif", ".avif": "image/avif"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deployment:
    deploymentID: str
    locationName: str
    latitude: float
    longitude: float
    deploymentStart: datetime
    deploymentEnd: datetime
    timestampIssues: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Media:
    mediaID: str
    deploymentID: str
    timestamp: datetime
    filePath: str
    filePublic: bool
    fileName: str
    fileMediatype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observation:
    observationID: str
    deploymentID: str
    mediaID: str | None
    eventID: str | None
    eventStart: datetime
    eventEnd: datetime
    observationLevel: str
    observationType: str
    scientificName: str | None
    count: int | None
    bboxX: float | None
    bboxY: float | None
    bboxWidth: float | None
    bboxHeight: float | None
    classificationMethod: str
    classifiedBy: str
    classificationProbability: float | None
    observationComments: str


_Record = _Deployment | _Media | _Observation


def camtrap_dp(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return a Camera Trap Data Package: a deployment for each folder and place, a medium for each photo.

    An encounter is an observation of an event, a photo's bird one of its medium. Times without an offset from UTC are
    written as UTC, and `timestampIssues` of their deployment is true.

    Raises:
        BadInput: if no photo has both a place and a time.
    """
    # Long: three tables that refer to each other are made in one pass.
    given = list(rows)
    root = _root((photo.image for row in given for photo in photos_of(row)), facts.folder)
    media: dict[str, _Media] = {}
    deployments: dict[str, _Deployment] = {}
    at: dict[str, list[tuple[float, float]]] = {}  # folder -> its places
    observations: list[_Observation] = []
    n_photos, n_unreadable, without = 0, 0, {"place": 0, "time": 0}
    in_local_time = False
    for row in given:
        place, of_row = facts.place_of(row), list[_Media]()
        for photo in photos_of(row):
            moment = facts.moment_of(photo.date or row.date)
            n_photos += row.bird == 1
            n_unreadable += photo.error is not None
            if photo.error is not None:
                continue
            if place is None or moment is None:
                without["place"] += place is None and row.bird == 1
                without["time"] += moment is None and row.bird == 1
                continue
            in_local_time |= moment.tzinfo is None
            medium = _medium(photo, root, place, moment, at)
            of_row.append(medium)
            media[medium.mediaID] = medium
            earlier = deployments.get(medium.deploymentID)
            deployments[medium.deploymentID] = _Deployment(
                deploymentID=medium.deploymentID,
                locationName=facts.place_name or medium.deploymentID,
                latitude=earlier.latitude if earlier else round(place[0], 5),
                longitude=earlier.longitude if earlier else round(place[1], 5),
                deploymentStart=min(medium.timestamp, earlier.deploymentStart) if earlier else medium.timestamp,
                deploymentEnd=max(medium.timestamp, earlier.deploymentEnd) if earlier else medium.timestamp,
                timestampIssues=moment.tzinfo is None or (earlier is not None and earlier.timestampIssues),
            )
        if of_row:
            observations.append(_observation(row, of_row, facts.program))
    if not media:
        missing = " or ".join(f"a {name}" for name, n in without.items() if n)
        raise refuse_without(missing or "been readable", "camtrap-dp")
    notes = [
        *left_out(n_unreadable, n_photos, "photo", "unreadable"),
        *left_out(without["place"], n_photos, "photo", "no place; --place gives it"),
        *left_out(without["time"], n_photos, "photo", "no time; --date gives it"),
        "datapackage.json has no contributors of yours, and a title and a sampling design that were assumed: edit it",
    ]
    if in_local_time:
        notes.append("Times without an offset from UTC are written as UTC, and timestampIssues says so")
    if root != facts.folder.absolute():
        notes.append(f"Paths in media.csv are relative to {root}: move the tables there, or the photos to the tables")
    tables: dict[str, Iterable[_Record]] = {
        "deployments": deployments.values(),
        "media": media.values(),
        "observations": observations,
    }
    files = {f"{name}.csv": _table(COLUMNS[name], records) for name, records in tables.items()}
    package = _package(given, deployments, observations, facts, root)
    return Document(files={"datapackage.json": json.dumps(package, indent=2, ensure_ascii=False) + "\n", **files},
                    notes=tuple(notes))  # fmt: skip


def _root(images: Iterable[str], folder: Path) -> Path:
    """Return the folder that paths are relative to: that of the document if it holds all photos, else theirs."""
    parents = {str(_absolute(image).parent) for image in images}
    common = Path(os.path.commonpath(parents)) if parents else folder.absolute()
    return folder.absolute() if common.is_relative_to(folder.absolute()) else common


def _absolute(image: str) -> Path:
    return Path(os.path.normpath(Path(image).absolute()))  # links stay as they are


def _relative(image: str, root: Path) -> str:
    return PurePath(os.path.relpath(_absolute(image), root)).as_posix()


def _medium(
    photo: EncounterPhoto,
    root: Path,
    place: tuple[float, float],
    moment: datetime,
    at: dict[str, list[tuple[float, float]]],
) -> _Media:
    """Return a medium; its deployment is called by its folder, with a number for each further place of the folder."""
    path = _relative(photo.image, root)
    if not _PATH.fullmatch(path):
        raise BadInput(
            f"Camtrap DP has no paths such as {path}: they must not begin with . or ~, nor hold two dots.",
            hint="Rename the photo or its folder.",
        )
    folder = path.rpartition("/")[0] or root.name
    near = (round(place[0], _DECIMALS), round(place[1], _DECIMALS))
    places = at.setdefault(folder, [near])
    if near not in places:
        places.append(near)
    number = places.index(near)
    suffix = PurePath(path).suffix.lower()
    return _Media(
        mediaID=sha256_hex(path)[:12],
        deploymentID=f"{folder} ({number + 1})" if number else folder,
        timestamp=in_utc(moment),
        filePath=path,
        filePublic=False,
        fileName=PurePath(path).name,
        fileMediatype=_MEDIA_TYPES.get(suffix) or mimetypes.guess_type(f"a{suffix}")[0] or "image/jpeg",
    )


def _observation(row: Identification, media: list[_Media], program: str) -> _Observation:
    is_event, first = bool(row.photos), media[0]
    kind = _observation_type(row)
    is_named = row.status == "identified" and row.answer is not None
    box = None if is_event else share_of(photos_of(row)[0])
    left, top, width, height = box or (None,) * 4
    return _Observation(
        observationID=f"{first.mediaID}-{row.bird}",
        deploymentID=first.deploymentID,
        mediaID=None if is_event else first.mediaID,
        eventID=first.mediaID if is_event else None,
        eventStart=min(each.timestamp for each in media),
        eventEnd=max(each.timestamp for each in media),
        observationLevel="event" if is_event else "media",
        observationType=kind,
        scientificName=row.answer.name if is_named and row.answer else None,
        count=1 if kind == "animal" else None,
        bboxX=left, bboxY=top, bboxWidth=width or None, bboxHeight=height or None,
        classificationMethod="machine",
        classifiedBy=program,
        classificationProbability=row.answer.confidence if is_named and row.answer else None,
        observationComments="" if is_named else message_of(row).headline + (f": {row.shows}" if row.shows else ""),
    )  # fmt: skip


def _observation_type(row: Identification) -> str:
    """Return the type of an observation; a photo without a bird is only blank if MegaDetector saw no animal."""
    if row.status != "no_bird":
        return "unknown" if row.status == "not_sure" and row.shown_box is None else "animal"
    if row.shows == "person":
        return "human"
    if row.shows in VEHICLES:
        return "vehicle"
    if row.shows == BLANK:
        return "blank"
    return "animal" if row.shows == "animal" or row.shows in CLASSES else "unclassified"


def _table(columns: Sequence[str], records: Iterable[_Record]) -> str:
    """Return records as CSV with these columns, empty where a record has no such field."""
    return as_rows([columns, *([_cell(getattr(record, name, None)) for name in columns] for record in records)])


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(microsecond=0).isoformat()
    return str(value).lower() if isinstance(value, bool) else value


def _package(
    rows: Iterable[Identification],
    deployments: Mapping[str, _Deployment],
    observations: Iterable[_Observation],
    facts: Facts,
    root: Path,
) -> dict[str, object]:
    """Return the metadata of a package."""
    taxa: dict[str, dict[str, object]] = {}
    for row in rows:
        if row.status == "identified" and row.answer is not None:
            answer = row.answer
            ranks = {name: value for name in ("order", "family") if (value := getattr(answer, name))}
            english = {"vernacularNames": {"eng": answer.common_name}} if answer.common_name else {}
            taxa[answer.name] = {"scientificName": answer.name, "taxonRank": answer.rank, **ranks, **english}
    points = sorted({(each.longitude, each.latitude) for each in deployments.values()})
    resources = [
        {
            "name": name, "path": f"{name}.csv", "profile": "tabular-data-resource", "format": "csv",
            "mediatype": "text/csv", "encoding": "utf-8", "schema": f"{SCHEMAS}{name}-table-schema.json",
        }
        for name in ("deployments", "media", "observations")
    ]  # fmt: skip
    name = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-") or "photos"
    return {
        "resources": resources,
        "profile": f"{SCHEMAS}camtrap-dp-profile.json",
        "name": name,
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "title": root.name or name,
        "contributors": [{"title": facts.program, "role": "contributor"}],
        "project": {
            "title": root.name or name,
            "samplingDesign": "opportunistic",
            "captureMethod": ["activityDetection"],
            "individualAnimals": False,
            "observationLevel": sorted({each.observationLevel for each in observations}),
        },
        "spatial": {"type": "MultiPoint", "coordinates": [list(point) for point in points]},
        "temporal": {
            "start": min(each.deploymentStart for each in deployments.values()).date().isoformat(),
            "end": max(each.deploymentEnd for each in deployments.values()).date().isoformat(),
        },
        "taxonomic": [taxa[name] for name in sorted(taxa)],
    }


MEGADETECTOR_CATEGORIES: Final = {"1": "animal", "2": "person", "3": "vehicle"}
_WHOLE: Final = (0.0, 0.0, 1.0, 1.0)


def megadetector(rows: Iterable[Identification], facts: Facts) -> Document:
    """Return MegaDetector's format 1.6: the box of each bird with its answer and candidates as classifications.

    An identified photo without a box has one of the whole photo. Names without a confidence have 1.
    """
    given = list(rows)
    root = _root((photo.image for row in given for photo in photos_of(row)), facts.folder)
    names: dict[str, str] = {}  # of a class -> its number
    descriptions: dict[str, str] = {}
    images: dict[str, dict[str, object]] = {}
    for row in given:
        classes = []
        for name, confidence, description in _classes(row):
            number = names.setdefault(name, str(len(names)))
            descriptions[number] = description
            classes.append((number, confidence))
        for photo in photos_of(row):
            path = _relative(photo.image, root)
            if photo.error is not None:
                images[path] = {"file": path, "failure": photo.error, "detections": None}
                continue
            image = images.setdefault(path, {"file": path, "detections": []})
            box = share_of(photo)
            if box is None and not (row.status == "identified" and classes):
                continue
            score = photo.box_score if photo.box_score is not None else classes[0][1]
            named = {"classifications": classes} if classes else {}
            found = {"category": "1", "conf": float(score), "bbox": box or _WHOLE, **named}
            image["detections"].append(found)  # type: ignore[attr-defined]
    document = {
        "info": {"format_version": "1.6", "detector": facts.program, "classifier": facts.program},
        "detection_categories": MEGADETECTOR_CATEGORIES,
        "classification_categories": {number: name for name, number in names.items()},
        "classification_category_descriptions": descriptions,
        "images": list(images.values()),
    }
    is_plain = any(row.status == "identified" and row.answer and row.answer.confidence is None for row in given)
    notes = [f"Paths are relative to {root}"] if root != facts.folder.absolute() else []
    notes += ["Names without a confidence are written with 1: see kb calibrate"] if is_plain else []
    return Document(files={"": json.dumps(document, indent=1, ensure_ascii=False) + "\n"}, notes=tuple(notes))


def _classes(row: Identification) -> list[tuple[str, float, str]]:
    """Return English name, confidence and lineage of the answer and of the candidates, the most confident first."""
    answer, classes = row.answer, dict[str, tuple[str, float, str]]()
    if row.status == "identified" and answer is not None:
        genus = answer.name if answer.rank == "genus" else ""
        lineage = _lineage(answer.order, answer.family, answer.name if answer.rank == "species" else genus)
        confidence = 1.0 if answer.confidence is None else answer.confidence
        classes[answer.name] = (answer.name, confidence, f"{lineage};{answer.common_name or ''}")
    for each in row.candidates if row.status not in ("error", "no_bird") else ():
        if each.confidence is not None and each.scientific_name not in classes:
            lineage = _lineage(each.order, each.family, each.scientific_name)
            classes[each.scientific_name] = (each.scientific_name, each.confidence, f"{lineage};{each.common_name}")
    return sorted(classes.values(), key=lambda each: -each[1])


def _lineage(order: str | None, family: str | None, name: str) -> str:
    """Return id, class, order, family, genus and epithet, as SpeciesNet writes its labels; id and class are empty."""
    genus, _, epithet = name.partition(" ")
    return ";".join(("", "", order or "", family or "", genus, epithet)).lower()
