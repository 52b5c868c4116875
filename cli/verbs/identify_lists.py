"""Lists of photos: tables of one's own, of Timelapse and of Camtrap DP, lines of paths, and MegaDetector's JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from data.errors import BadInput, did_you_mean
from data.records import Box, Detection
from data.words import plural

if TYPE_CHECKING:
    from data.images.find import ListedFiles
    from data.tables import Table

SUFFIXES: Final = (".csv", ".tsv", ".txt", ".xlsx", ".json")
HEADINGS: Final[Mapping[str, Sequence[str]]] = {
    "path": ("path", "file path", "image path", "source file", "file", "file name", "image", "photo"),
    "folder": ("relative path", "directory"),
}
"""Meaning -> headings: of our own lists and output, Camtrap DP (filePath), exiftool (SourceFile), Timelapse (File,
RelativePath), camtrapR (Directory, FileName)."""
THRESHOLD: Final = 0.2
"""Least score of a box, where MegaDetector's file names no other as typical of its model."""
_OTHERS: Final = {"person": "person", "human": "person", "vehicle": "vehicle", "bird": "bird"}
"""Category of MegaDetector -> kind; all others are animals."""
_NUMBERS: Final = {"1": "animal", "2": "person", "3": "vehicle"}
"""Categories of files that do not name theirs, as SpeciesNet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The photos of a list."""

    groups: dict[str, str]
    """Photo -> value of the column of groups; empty without one."""
    detections: dict[str, tuple[Detection, ...]] = field(default_factory=dict)
    """Photo -> detections of MegaDetector, as `Recognizer` takes them."""
    notes: tuple[str, ...] = ()
    """Sentences, without full stop, on photos skipped and values guessed."""


def read_photo_list(file: Path, column: str | None = None) -> Listed:
    """Return the photos of a list with their values of a column; paths are relative to the folder of the file.

    Raises:
        BadInput: if the file is unreadable or no list, lacks a column, or puts a photo into two groups.
    """
    if file.suffix.lower() == ".json":
        if column is not None:
            raise BadInput(f'{file} has no column "{column}".', hint="--group-by needs a table of photos.")
        return _of_megadetector(file)
    from data.images.find import ListedFiles
    from data.tables import LINE, open_table

    table = open_table(file, HEADINGS, needed=lambda found: "path" in found)
    is_lines = table.heading == (LINE,) and file.suffix.lower() == ".txt"
    if not (is_lines or "path" in table.columns):
        raise _no_column(table, "path")
    if column is not None and column not in table.heading:
        raise _no_column(table, column)
    name = LINE if is_lines else table.columns["path"][0]
    [folder] = table.columns.get("folder", ())[:1] or [None]
    groups: dict[str, str] = {}
    files, n_videos = ListedFiles(file.parent), 0
    for frame in table.chunks():
        values = (frame[one] if one else [""] * len(frame) for one in (name, folder, column))
        for line, path, above, group in zip(frame.index, *values, strict=True):
            if not path:
                raise table.refused("no path", line=line)
            if _is_video(path):
                n_videos += 1
                continue
            if above and not {"/", "\\"}.intersection(path):
                path = f"{above}/{path}"
            if groups.setdefault(_path_of(files, path), group) != group:
                raise table.refused(f"{path} is in two groups of {column}", line=line)
    return Listed(groups=groups, notes=tuple(f"{file}: {note}" for note in (*table.notes, *_of_videos(n_videos))))


def _path_of(files: ListedFiles, path: str) -> str:
    """Return a path of a list; web addresses stay, for the error that reading them gives."""
    from data.images.decode import is_web_address

    return path if is_web_address(path) else str(files.path_of(path))


def _is_video(path: str) -> bool:
    from data.images.header import VIDEO

    return PurePosixPath(path.lower()).suffix in VIDEO


def _of_videos(n: int) -> list[str]:
    return [f"{plural(n, 'video')} skipped: save stills as JPEG"] if n else []


def _no_column(table: Table, name: str) -> BadInput:
    heading = table.heading if table.heading_line else table.first
    hint = did_you_mean(name, heading) or f"Columns: {', '.join(heading) or 'none'}."
    return table.refused(f'no column "{name}"', hint=hint)


def _of_megadetector(file: Path) -> Listed:
    """Return the photos of MegaDetector's JSON, of any version, or SpeciesNet's (`predictions`), with their boxes."""
    from data.images.find import ListedFiles

    files = ListedFiles(file.parent)
    try:
        content = json.loads(file.read_bytes().decode("utf-8-sig"))
        images = content["images"] if "images" in content else content["predictions"]
        info = content.get("info") or {}
        categories = content.get("detection_categories") or _NUMBERS
        names = {str(key): str(name).strip().lower() for key, name in categories.items()}
        metadata = info.get("detector_metadata") or {}
        least = float(metadata.get("typical_detection_threshold") or THRESHOLD)
        groups, detections, counts = dict[str, str](), dict[str, tuple[Detection, ...]](), Counter[str]()
        for image in images:
            name = image.get("file") or image["filepath"]
            if _is_video(name):
                counts["video"] += 1
                continue
            path = _path_of(files, name)
            groups[path] = ""
            if image.get("failure") or image.get("detections") is None:
                counts["failure"] += 1  # our detector looks at it
                continue
            sure = [each for each in image["detections"] if float(each["conf"]) >= least]
            found = [_detection(each, names) for each in sure if all(each["bbox"][2:])]  # rounded to nothing
            detections[path] = tuple(sorted(found, key=lambda each: -each.score))
            counts["blank"] += not found
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        hint = "Expected MegaDetector's results, with images and their detections; of a Camtrap DP, give media.csv."
        raise BadInput(f"{file} is no list of photos ({what}).", hint=hint) from error
    parts = [f"{plural(len(groups), 'photo')}, {counts['blank']:,} of them blank (nothing scores {least:g} or more)"]
    parts += [f"{counts['failure']:,} where it failed"] if counts["failure"] else []
    parts += _of_videos(counts["video"])
    return Listed(groups=groups, detections=detections, notes=(f"{file} (MegaDetector): {'; '.join(parts)}",))


def _detection(given: Mapping[str, Any], names: Mapping[str, str]) -> Detection:
    left, top, width, height = (float(side) for side in given["bbox"])
    right, bottom = min(left + width, 1), min(top + height, 1)
    if not (0 <= left < right and 0 <= top < bottom):
        raise ValueError(f"bbox {given['bbox']}, expected left, top, width and height as shares of the sides")
    kind = _OTHERS.get(names.get(str(given["category"]), "animal"), "animal")
    return Detection(box=Box(left, top, right, bottom), kind=kind, score=float(given["conf"]))
