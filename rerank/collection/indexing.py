"""Indexing of a folder: new and changed photos are encoded, removed ones are forgotten."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from data.arrays import FloatArray, as_fixed_point
from data.contracts import ImageEncoder
from data.engines.contract import LOCAL, Engine, map_shards
from data.errors import BadImage
from data.files import file_state
from data.images.find import SUFFIXES, walk_files
from rerank.collection.files import CollectionFiles, StoredPhoto, sort_key
from rerank.photo_task import EncodeWhole

_RETRY = -1
"""Size of a photo that the system refused to read: it is tried again by the next run, changed or not."""

OnProgress = Callable[[int, int, int], None]
"""Called with photos done, photos to do, and unreadable ones among those done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Differences between a folder and its index."""

    new: Sequence[StoredPhoto] = ()
    """Added and changed photos, sorted by path."""
    removed: Sequence[str] = ()

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.new or self.removed)


def photos_in(folder: Path, skipped: Counter[str] | None = None) -> dict[str, tuple[int, int]]:
    """Return path below the folder -> size and modification time in ns of its photos.

    A folder below it that cannot be listed stands there as a photo, which cannot be read either, and so does a link
    without a target.
    `skipped`, if given, counts the other files by extension, without hidden ones.
    """
    unlisted: list[str] = []
    start = len(os.fspath(folder).rstrip("/")) + 1
    found = {}
    for entry in walk_files(folder, on_error=lambda error: unlisted.append(str(error.filename))):
        if Path(entry.name).suffix.lower() in SUFFIXES:
            found[entry.path[start:]] = file_state(Path(entry.path)) or (_RETRY, 0)  # a link without a target
        elif skipped is not None and not entry.name.startswith("."):
            skipped[Path(entry.name).suffix.lower()] += 1
    return found | {path[start:]: (_RETRY, 0) for path in unlisted if path[start:]}


def changes(present: Mapping[str, tuple[int, int]], stored: Sequence[StoredPhoto]) -> Changes:
    """Return what an index has to learn and to forget; photos in folders that cannot be listed are kept."""
    unlisted = [f"{path}/" for path, (size, _) in present.items() if size == _RETRY]
    known = {photo.path: (photo.size, photo.mtime_ns) for photo in stored}
    new = [path for path, state in present.items() if known.get(path) != state or state[0] == _RETRY]
    new.sort(key=sort_key)
    return Changes(
        new=[StoredPhoto(path, *present[path], None, None) for path in new],
        removed=[path for path in known if path not in present and not any(map(path.startswith, unlisted))],
    )


def apply(
    found: Changes,
    files: CollectionFiles,
    folder: Path,
    encoder: ImageEncoder,
    on_progress: OnProgress,
    engine: Engine = LOCAL,
) -> None:
    """Bring the index up to date; each batch of photos is on disk before the next one."""
    files.recover()
    if found.removed:
        files.remove(found.removed)
    done = failed = 0
    on_progress(done, len(found.new), failed)
    new = iter(found.new)
    for results in map_shards(EncodeWhole(encoder=encoder), (folder / photo.path for photo in found.new), engine):
        batch = list(islice(new, len(results)))
        rows = [_with_error(photo, each, folder) for photo, each in zip(batch, results, strict=True)]
        vectors = [each for each in results if not isinstance(each, BadImage)]
        files.add(rows, as_fixed_point(np.stack(vectors)) if vectors else np.empty((0, encoder.dim), np.float32))
        done, failed = done + len(batch), failed + len(batch) - len(vectors)
        on_progress(done, len(found.new), failed)
    files.compact()


def _with_error(photo: StoredPhoto, found: FloatArray | BadImage, folder: Path) -> StoredPhoto:
    if not isinstance(found, BadImage):
        return photo
    reason = str(found).removeprefix(str(folder / photo.path)).strip()
    is_refused = getattr(found.__cause__, "errno", None) is not None
    return photo._replace(error=reason, size=_RETRY if is_refused else photo.size)
