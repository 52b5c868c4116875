"""Image files in paths, folders and patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from data.images import SUFFIXES


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
