"""Image files in paths, folders and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SUFFIXES: Final = frozenset(
    (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".heic", ".heif", ".hif", ".avif")
)


def find_images(paths: Iterable[str | Path]) -> list[Path]:
    """Return the image files of the paths, each once, in the order of the paths.

    A folder stands for the images below it, sorted, without hidden ones; a pattern (`*.jpg`, `**/*.png`) for its sorted
    matches; a file may have any name. A path that does not exist is kept, so that reading it reports the error.
    """
    found: dict[Path, None] = {}
    for given in paths:
        found.update(dict.fromkeys(_named(Path(given))))
    return list(found)


def _named(path: Path) -> list[Path]:
    try:
        path = path.expanduser()
        if path.is_dir():
            return _pictures_below(path)
        if not path.exists() and any(sign in str(path) for sign in "*?["):
            return _matches(path)
    except (OSError, RuntimeError):  # an invalid path, such as an unknown `~user`: reading reports it
        pass
    return [path]


def _pictures_below(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(path for path in inside if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def _matches(pattern: Path) -> list[Path]:
    first_wild = next(i for i, part in enumerate(pattern.parts) if any(sign in part for sign in "*?["))
    # As in shells and Python 3.13: `**` beside other characters means `*`.
    wild = [part if part == "**" else re.sub(r"\*\*+", "*", part) for part in pattern.parts[first_wild:]]
    matched = Path(*pattern.parts[:first_wild]).glob(str(Path(*wild)))
    return sorted(path for path in matched if path.is_file() and path.suffix.lower() in SUFFIXES)
