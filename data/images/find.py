"""Image files in paths, folders, patterns and lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import iglob
from pathlib import Path
from typing import Final
from unicodedata import normalize

from data.images import RAW, SUFFIXES

_KEPT_OUT: Final = frozenset(
    (
        "@eadir", "@tmp", "@sharebin", "@recycle", "@recently-snapshot", "@__thumb", "#recycle", "#snapshot",
        "$recycle.bin", "recycler", "system volume information", "lost+found", "__macosx",
        "files_trashbin", "files_versions",
    )
)  # fmt: skip
"""Folders in which storage systems keep thumbnails and deleted files, in lower case."""


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden (`.dtrash`, `._a.jpg`), or a folder of thumbnails or deleted files."""
    return name.startswith(".") or name.lower() in _KEPT_OUT


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files and folders that a search of photos left out, but for hidden ones."""

    files: set[Path] = field(default_factory=set)
    """Files that are no photos."""
    folders: set[Path] = field(default_factory=set)
    """Folders of thumbnails and deleted files, and links to folders above."""
    unlisted: list[Path] = field(default_factory=list)
    """Folders that cannot be listed."""


def find_images(paths: Iterable[str | Path], *, skipped: Skipped | None = None) -> list[Path]:
    """Return the image files of the paths, each once, in the order of the paths.

    A folder stands for the images below it, sorted; a pattern (`*.jpg`, `**/*.png`) for its sorted matches. Both leave
    out hidden files and folders, and RAW photos beside an image of the same name. A file may have any name, spelled as
    `ListedFiles` allows; one that does not exist is kept, so that reading it reports the error. `skipped` receives what
    is left out.
    """
    skipped = Skipped() if skipped is None else skipped
    found: dict[Path, None] = {}
    files = ListedFiles(Path())
    for given in paths:
        found.update(dict.fromkeys(_named(files.path_of(str(given)), skipped)))
    skipped.files.difference_update(found)
    return list(found)


def _named(path: Path, skipped: Skipped) -> list[Path]:
    try:
        if path.is_dir():
            return _images(_files_below(path, skipped), skipped)
        if not path.exists() and any(sign in str(path) for sign in "*?["):
            return _images(_matches(path, skipped), skipped)
    except (OSError, ValueError):  # an invalid path: reading reports it
        pass
    return [path]


def _images(files: Iterable[Path], skipped: Skipped) -> list[Path]:
    """Return the image files, sorted, without RAW photos beside an image of the same name; XMP files are no others."""
    files = list(files)
    images = {path for path in files if path.suffix.lower() in SUFFIXES}
    names = {path.with_suffix("") for path in images if path.suffix.lower() not in RAW}
    images -= {path for path in images if path.suffix.lower() in RAW and path.with_suffix("") in names}
    skipped.files.update(path for path in files if path not in images and path.suffix.lower() != ".xmp")
    return sorted(images)


def _files_below(folder: Path, skipped: Skipped) -> Iterator[Path]:
    """Yield all below a folder that is no folder, without hidden ones; each folder is visited once.

    Links to folders are followed after all folders, but for links to a folder above. Pipes and links without a target
    are among the files, so that reading them reports an error.
    """
    root = folder.resolve()
    folders, links, visited = [folder], list[Path](), set[tuple[int, int]]()
    while folders or links:
        is_link = not folders
        path = links.pop(0) if is_link else folders.pop()
        try:
            state = path.stat()
            if (state.st_dev, state.st_ino) in visited:
                continue
            visited.add((state.st_dev, state.st_ino))
            if is_link and root.is_relative_to(path.resolve()):
                skipped.folders.add(path)
                continue
            with os.scandir(path) as entries:
                for entry in entries:
                    if is_hidden(entry.name):
                        if not entry.name.startswith("."):
                            skipped.folders.add(Path(entry.path))
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif _leads_to_folder(entry):
                        links.append(Path(entry.path))
                    else:
                        yield Path(entry.path)
        except OSError:
            skipped.unlisted.append(path)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False


def _matches(pattern: Path, skipped: Skipped) -> Iterator[Path]:
    """Yield the files of a pattern; `**` stands for any number of folders, searched as a folder is."""
    first_wild = next(i for i, part in enumerate(pattern.parts) if any(sign in part for sign in "*?["))
    # As in shells and Python 3.13: `**` beside other characters means `*`.
    parts = [part if part == "**" else re.sub(r"\*\*+", "*", part) for part in pattern.parts]
    deep = parts.index("**") if "**" in parts else len(parts)
    start = str(Path(*parts[:deep]))
    starts = iglob(start) if deep > first_wild else [start]  # noqa: PTH207  # unlike `Path.glob`, without hidden ones
    for found in map(Path, starts):
        if any(is_hidden(part) for part in found.parts[first_wild:] if part not in parts):
            skipped.folders.update(path for path in (found, *found.parents) if is_hidden(path.name) and path.is_dir())
        elif found.is_dir():
            files = _files_below(found, skipped) if deep < len(parts) else ()
            yield from (path for path in files if _fits(path.relative_to(found).parts, parts[deep:]))
        elif deep == len(parts):
            yield found


def _fits(names: tuple[str, ...], parts: list[str]) -> bool:
    """Return whether the names of a path are those of a pattern."""
    if not parts:
        return not names
    if parts[0] == "**":
        return _fits(names, parts[1:]) or (bool(names) and _fits(names[1:], parts))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


class FileNames:
    """Names of files, found as other systems spell them: in another Unicode form, or another case where it is clear."""

    def __init__(self, names: Iterable[str]) -> None:
        """Index the names."""
        self._found: list[dict[str, set[str]]] = [{}, {}, {}]
        for name in names:
            for found, spelling in zip(self._found, _spellings(name), strict=True):
                found.setdefault(spelling, set()).add(name)

    def find(self, name: str) -> str | None:
        """Return the file of a name; None if there is none, or several that differ in case alone."""
        for found, spelling in zip(self._found, _spellings(name), strict=True):
            if names := found.get(spelling):
                return next(iter(names)) if len(names) == 1 else None
        return None


def _spellings(name: str) -> tuple[str, str, str]:
    composed = normalize("NFC", name)
    return name, composed, composed.casefold()


class ListedFiles:
    """Files of a list, by paths relative to its folder, also with backslashes or spelled as `FileNames` allows."""

    def __init__(self, folder: Path) -> None:
        """`folder`: that of the list."""
        self._folder = folder
        self._names: dict[Path, FileNames] = {}

    def path_of(self, name: str) -> Path:
        """Return the file that is meant; the path as written if there is none, so that reading it reports this."""
        path = self._folder / os.path.expanduser(name)  # noqa: PTH111  # which leaves unknown users
        if os.path.lexists(path):
            return path
        other = self._folder / os.path.expanduser(name.replace("\\", "/"))  # noqa: PTH111
        found = Path(other.anchor)
        for part in other.relative_to(other.anchor).parts:
            spelled: str | None = part
            if not os.path.lexists(found / part):
                if found not in self._names:
                    self._names[found] = FileNames((path.name for path in found.iterdir()) if found.is_dir() else ())
                spelled = self._names[found].find(part)
            if spelled is None:
                return path
            found /= spelled
        return found
