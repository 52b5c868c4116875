"""Opening of a folder as a collection: new and changed photos are encoded, removed ones forgotten, then it is read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_fixed_point
from data.contracts import ImageEncoder
from data.engines.contract import LOCAL, Engine, map_shards
from data.errors import BadImage, BadInput, KnowledgeBaseLocked, NothingReadable
from data.files import file_state, sha256_hex, user_folder, writer_lock
from data.images.find import SUFFIXES, unsupported_text, walk_files
from data.words import plural
from rerank.collection.files import CollectionFiles, StoredPhoto, sort_key
from rerank.collection.snapshot import Snapshot
from rerank.photo_vectors import READING, EncodeWhole

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


_WAIT_S: Final = 10.0  # for another process that indexes the same folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Counts of an update of an index."""

    n_new: int = 0
    """Photos that were read: added, changed, or refused by the system before."""
    n_removed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Extension -> number of the other files in the folder."""


class Collection(Snapshot):
    """A snapshot with the counts of the update before it."""

    update: Indexed

    def reasons(self) -> dict[str, int]:
        """Return kind of error -> number of unreadable photos, the most frequent first."""
        return dict(Counter(map(_kind, self.errors.values())).most_common())


@contextmanager
def open_collection(
    folder: str | Path,
    encoder: ImageEncoder,
    *,
    home: Path | None = None,
    on_progress: OnProgress = lambda _done, _total, _failed: None,
    engine: Engine = LOCAL,
) -> Iterator[Collection]:
    """Give the photos below a folder as a collection: new and changed ones are encoded first, removed ones forgotten.

    An update that is killed continues where it stopped. Photos are encoded whole, as by the method `similarity`.

    Args:
        folder: the folder of photos; hidden files and folders are skipped.
        encoder: makes the vectors; each space has an index of its own.
        home: folder of Fieldmark's own files; `FIELDMARK_HOME` by default.
        on_progress: called with the numbers of photos done, to do and unreadable, if any are new.
        engine: where photos are encoded.

    Raises:
        BadInput: if the folder does not exist.
        NothingReadable: if it has no photo, or none that can be read.
        KnowledgeBaseLocked: if another process is indexing it.
        StoreError: if the index is damaged.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from recognize import load_encoders
        >>> encoder = load_encoders("starter").text_image[0]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for colour in ("blue", "red"):
        ...         Image.new("RGB", (48, 48), colour).save(Path(folder) / f"{colour}.png")
        ...     with open_collection(folder, encoder, home=Path(folder) / ".home") as collection:
        ...         collection.ids
        ('blue.png', 'red.png')
    """
    folder = Path(folder).expanduser().resolve()
    present, skipped = _present(folder)
    own = index_folder(folder, encoder.space, home=home)
    with CollectionFiles(own, dim=encoder.dim) as files:
        found = changes(present, files.photos())
        if found:
            with _writing(own, folder):
                found = changes(present, files.photos())  # another process may have been faster
                apply(found, files, folder, encoder, on_progress, engine)
        with Collection(files, folder, encoder.space) as collection:
            collection.update = Indexed(n_new=len(found.new), n_removed=len(found.removed), skipped=skipped)
            if not collection.ids:
                why = "; ".join(f"{n:,} {kind}" for kind, n in collection.reasons().items())
                raise NothingReadable(
                    f"None of the {plural(len(collection.errors), 'photo')} in {folder} can be read: {why}."
                )
            yield collection


def index_folder(folder: Path, space: str, *, home: Path | None = None) -> Path:
    """Return the folder of the index of a resolved folder of photos in a space."""
    name = sha256_hex("\n".join((str(folder), space, READING)))[:24]
    return (home or user_folder()) / "collections" / name


def _present(folder: Path) -> tuple[Mapping[str, tuple[int, int]], Counter[str]]:
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder." if folder.exists() else f"The folder {folder} does not exist.")
    skipped: Counter[str] = Counter()
    present = photos_in(folder, skipped)
    if not present:
        remedies = filter(None, map(unsupported_text, skipped))
        raise NothingReadable(f"No photo found in {folder}.", hint=" ".join(dict.fromkeys(remedies)) or None)
    return present, skipped


@contextmanager
def _writing(own: Path, folder: Path) -> Iterator[None]:
    try:
        with writer_lock(own / "lock", wait_s=_WAIT_S):
            yield
    except KnowledgeBaseLocked as error:
        raise KnowledgeBaseLocked(f"Another process is indexing {folder}.", hint="Wait for it to end.") from error


def _kind(reason: str) -> str:
    """Return an error without its details.

    Example:
        >>> _kind("is damaged or incomplete (image file is truncated)")
        'is damaged or incomplete'
    """
    for sign in (" (", ", ", ": ", "; "):
        reason = reason.partition(sign)[0]
    return reason
