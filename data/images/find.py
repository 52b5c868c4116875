"""Image files in paths, folders and patterns, and camera files that are not read, by extension."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

RAW: Final = frozenset(
    (
        ".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos", ".mrw",
        ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f",
    )
)  # fmt: skip
VIDEO: Final = frozenset(
    (".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv")
)
KINDS: Final = (
    ("RAW photo", RAW, "export JPEGs"),
    ("video", VIDEO, "save stills as JPEG"),
)
"""Kind of file, its extensions in lower case, remedy."""


def unsupported_text(suffix: str) -> str:
    """Return the kind of an unsupported file and the remedy; empty for any other extension."""
    for kind, suffixes, remedy in KINDS:
        if suffix.lower() in suffixes:
            return f"a {kind}, which is not supported: {remedy}"
    return ""


SUFFIXES: Final = frozenset(
    (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".hif", ".avif")
)


def is_web_address(name: str) -> bool:
    """Return whether a name is a web address rather than a path, also with one slash, as `Path` writes it."""
    return re.match(r"(https?|ftp):/", name, re.IGNORECASE) is not None


def find_images(paths: Iterable[str | Path], *, skipped: set[Path] | None = None) -> list[Path]:
    """Return the image files of the paths, each once, in the order of the paths.

    A folder stands for the images below it, sorted, without hidden ones; a pattern (`*.jpg`, `**/*.png`) for its sorted
    matches; a file may have any name. A path that does not exist is kept, so that reading it reports the error.
    `skipped` receives the other files below the folders and among the matches, without hidden ones.
    """
    found: dict[Path, None] = {}
    others: set[Path] = set()
    for given in paths:
        found.update(dict.fromkeys(_named(Path(given), others)))
    if skipped is not None:
        skipped.update(others.difference(found))
    return list(found)


def _named(path: Path, others: set[Path]) -> list[Path]:
    try:
        path = path.expanduser()
        if path.is_dir():
            return _images(_files_below(path), others)
        if not path.exists() and any(sign in str(path) for sign in "*?["):
            return _images(_matches(path), others)
    except (OSError, RuntimeError):  # an invalid path, such as an unknown `~user`: reading reports it
        pass
    return [path]


def _images(files: Iterable[Path], others: set[Path]) -> list[Path]:
    """Return the image files, sorted; add the others to `others`."""
    images = []
    for path in files:
        if path.suffix.lower() in SUFFIXES:
            images.append(path)
        elif not path.name.startswith("."):
            others.add(path)
    return sorted(images)


def walk_files(
    folder: str | Path, on_error: Callable[[OSError], None] = lambda _error: None
) -> Iterator[os.DirEntry[str]]:
    """Yield the entries below a folder that are no folders, without hidden ones; links to folders are not followed.

    Pipes and links without a target are among them, so that reading them reports an error. `on_error` gets the error of
    a folder that cannot be listed; its `filename` is the folder.
    """
    folders = [os.fspath(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not _leads_to_folder(entry):
                        yield entry
        except OSError as error:
            on_error(error)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _files_below(folder: Path) -> Iterator[Path]:
    return (Path(entry.path) for entry in walk_files(folder))


def _matches(pattern: Path) -> Iterator[Path]:
    first_wild = next(i for i, part in enumerate(pattern.parts) if any(sign in part for sign in "*?["))
    # As in shells and Python 3.13: `**` beside other characters means `*`.
    wild = [part if part == "**" else re.sub(r"\*\*+", "*", part) for part in pattern.parts[first_wild:]]
    matched = Path(*pattern.parts[:first_wild]).glob(str(Path(*wild)))
    return (path for path in matched if not path.is_dir())
