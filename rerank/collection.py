"""Collections: the photos of a folder with their vectors on disk."""

from __future__ import annotations

import json
import mmap
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from data.arrays import FloatArray, IntArray, as_fixed_point, check_vectors, exact_cosines
from data.batches import grouped
from data.contracts import ImageEncoder
from data.engines.contract import LOCAL, Engine
from data.errors import BadImage, BadInput, KnowledgeBaseLocked, NothingReadable, StoreError
from data.files import file_state, remove_parts, replacing, sha256_hex, user_folder, write_atomic, writer_lock
from data.images.find import Skipped, find_images
from data.words import plural
from rerank.jobs import id_of_path, path_of_id
from rerank.photo_vectors import READING, EncodeWhole

TABLE: Final = "photos.jsonl"
_ROWS_AT_A_TIME: Final = 1 << 12


class StoredPhoto(NamedTuple):
    """A photo as the index knows it: size and time of its file, and why it cannot be read; its vector when written."""

    path: str
    """Below the folder, with slashes."""
    size: int
    mtime_ns: int
    error: str | None = None
    vector: FloatArray | None = None


class Index(NamedTuple):
    """The photos of a folder, sorted by path: first by its first folder, then by its second, and so on."""

    photos: list[StoredPhoto]
    vectors: FloatArray
    """`(n, dim)` of the readable photos, mapped from disk."""
    mapped: mmap.mmap | None

    def with_vectors(self) -> dict[str, StoredPhoto]:
        """Return path -> photo with its vector."""
        rows = iter(self.vectors)
        found = (each._replace(vector=next(rows)) if each.error is None else each for each in self.photos)
        return {each.path: each for each in found}


def read_index(folder: Path, dim: int) -> Index:
    """Return the index in a folder, without photos if there is none.

    Raises:
        StoreError: if it is damaged.
    """
    problem: Exception | None = None
    for _ in range(2):  # another process may replace the vectors after the table was read
        if not (folder / TABLE).exists():
            return Index([], np.empty((0, dim), dtype=np.float32), None)
        try:
            with (folder / TABLE).open("rb") as table:
                name = json.loads(next(table))
                photos = [StoredPhoto(*json.loads(line)) for line in table]
            vectors, mapped = _mapped(folder / str(name), sum(photo.error is None for photo in photos), dim)
        except (OSError, ValueError, TypeError, StopIteration) as error:
            problem = error
            continue
        return Index(photos, vectors, mapped)
    raise StoreError(
        f"The index of photos in {folder} is damaged: {problem}.",
        hint=f"Delete the folder {folder}. It holds no photos; they are indexed again.",
    )


def write_index(folder: Path, photos: Iterable[StoredPhoto]) -> None:
    """Replace the index in a folder; for its only writer.

    Raises:
        MissingRequirement: if the disk is full.
    """
    photos = sorted(photos, key=lambda photo: sort_key(photo.path))
    file = folder / f"vectors-{secrets.token_hex(8)}.f32"
    with replacing(file) as temporary, temporary.open("wb") as out:
        for some in grouped((photo.vector for photo in photos if photo.vector is not None), _ROWS_AT_A_TIME):
            out.write(np.stack(some).astype("<f4").tobytes())
    lines = [file.name, *(photo[:4] for photo in photos)]
    write_atomic(folder / TABLE, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    remove_parts(folder)
    for other in folder.glob("*vectors-*.f32*"):
        if other != file:
            other.unlink(missing_ok=True)


def _mapped(file: Path, n: int, dim: int) -> tuple[FloatArray, mmap.mmap | None]:
    with file.open("rb") as opened:
        if opened.seek(0, 2) != n * dim * 4:
            raise ValueError(f"{file} has {opened.tell():,} bytes, expected {n * dim * 4:,}")
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if n else None
    vectors: FloatArray = np.frombuffer(mapped or b"", dtype="<f4").reshape(n, dim)
    return vectors, mapped


def sort_key(path: str) -> bytes:
    """Return the bytes of a path so that they sort as its parts do: `a/b` before `a.b/c`."""
    return os.fsencode(path).replace(b"/", b"\0")


_RETRY = -1
"""Size of a photo that the system refused to read: it is tried again by the next run, changed or not."""
_WAIT_S: Final = 10.0  # for another process that indexes the same folder
_SAVING: Final = 0.05  # share of the time of an update that goes into saving what is done
_BLOCK_BYTES: Final = 1 << 26  # of vectors in memory at a time

OnProgress = Callable[[int, int, int], None]
"""Called with photos done, photos to do, and unreadable ones among those done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Counts of an update of an index."""

    n_new: int = 0
    """Photos that were read: added, changed, or refused by the system before."""
    n_removed: int = 0
    skipped: Skipped = field(default_factory=Skipped)
    """Other files in the folder, and folders that were left out."""


class Collection:
    """The photos of a folder in one space, unchanged whatever happens to folder and index; an `ImageCollection`."""

    def __init__(self, index: Index, folder: Path, space: str, update: Indexed) -> None:
        self.folder, self.space, self.update = folder, space, update
        self._vectors, self._mapped = index.vectors, index.mapped
        self.ids: tuple[str, ...] = tuple(id_of_path(photo.path) for photo in index.photos if photo.error is None)
        self.errors: Mapping[str, str] = {
            id_of_path(photo.path): photo.error for photo in index.photos if photo.error is not None
        }
        self._known = frozenset(self.ids)

    def reasons(self) -> dict[str, int]:
        """Return kind of error -> number of unreadable photos, the most frequent first."""
        return dict(Counter(map(_kind, self.errors.values())).most_common())

    def path(self, image_id: str) -> Path:
        """Return the file of a photo, readable or not.

        Raises:
            BadInput: if the collection has no such photo.
        """
        if image_id not in self._known and image_id not in self.errors:
            raise BadInput(
                f"The collection {self.folder} has no photo {image_id!r}.",
                hint="It was removed or renamed, or it belongs to another folder.",
            )
        return self.folder / path_of_id(image_id)

    def vectors(self, rows: IntArray) -> FloatArray:
        """Return the `(len(rows), dim)` float32 unit vectors of these rows."""
        return self._vectors[rows]

    def scores(self, queries: FloatArray) -> NDArray[np.float64]:
        """Return the `(q, n)` cosines of all photos to each of `(q, dim)` queries; equal vectors have equal scores.

        Exact for the stored vectors; besides the result, 64 MB of vectors are in memory at a time.
        """
        n, dim = self._vectors.shape
        queries = check_vectors(queries, dim=dim)
        scores: NDArray[np.float64] = np.empty((len(queries), n))
        step = _BLOCK_BYTES // (dim * 4) // mmap.PAGESIZE * mmap.PAGESIZE or mmap.PAGESIZE
        for first in range(0, n, step):
            last = min(first + step, n)
            scores[:, first:last] = exact_cosines(queries, self._vectors[first:last])
            if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                # This process lets the pages go; the operating system may keep them as cache.
                self._mapped.madvise(mmap.MADV_DONTNEED, first * dim * 4, (last - first) * dim * 4)
        return scores


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

    An update that is killed continues where it last saved. Photos are encoded whole, as by the method `similarity`.

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
        MissingRequirement: if the disk is full or not writable.
    """
    folder = Path(folder).expanduser().resolve()
    present, skipped = _present(folder)
    name = sha256_hex("\n".join((str(folder), encoder.space, READING)))[:24]
    own = (home or user_folder()) / "collections" / name
    index = read_index(own, encoder.dim)
    new, removed = changes(present, index.photos)
    if new or removed:
        with _writing(own, folder):
            index = read_index(own, encoder.dim)
            new, removed = changes(present, index.photos)  # another process may have been faster
            if new or removed:
                index = _updated(index, new, removed, own, folder, encoder, on_progress, engine)
    update = Indexed(n_new=len(new), n_removed=len(removed), skipped=skipped)
    collection = Collection(index, folder, encoder.space, update)
    if not collection.ids:
        why = "; ".join(f"{n:,} {kind}" for kind, n in collection.reasons().items())
        raise NothingReadable(f"None of the {plural(len(collection.errors), 'photo')} in {folder} can be read: {why}.")
    yield collection


def _present(folder: Path) -> tuple[Mapping[str, tuple[int, int]], Skipped]:
    """Return path below the folder -> size and modification time in ns of its photos, and the skipped files.

    A folder below it that cannot be listed stands there as a photo, which cannot be read either, and so does a link
    without a target. Hidden files are not counted.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder." if folder.exists() else f"The folder {folder} does not exist.")
    skipped = Skipped()
    photos = find_images([folder], skipped=skipped)
    # A link without a target has no state.
    present = {str(path.relative_to(folder)): file_state(path) or (_RETRY, 0) for path in photos}
    present |= {str(path.relative_to(folder)): (_RETRY, 0) for path in skipped.unlisted if path != folder}
    if not present:
        raise NothingReadable(f"No photo found in {folder}.")
    return present, skipped


def changes(
    present: Mapping[str, tuple[int, int]], stored: Sequence[StoredPhoto]
) -> tuple[list[StoredPhoto], list[str]]:
    """Return the added and changed photos, sorted by path, and the removed ones.

    Photos in folders that cannot be listed are kept.
    """
    unlisted = [f"{path}/" for path, (size, _) in present.items() if size == _RETRY]
    known = {photo.path: (photo.size, photo.mtime_ns) for photo in stored}
    new = [path for path, state in present.items() if known.get(path) != state or state[0] == _RETRY]
    removed = [path for path in known if path not in present and not any(map(path.startswith, unlisted))]
    return [StoredPhoto(path, *present[path]) for path in sorted(new, key=sort_key)], removed


def _updated(
    index: Index,
    new: Sequence[StoredPhoto],
    removed: Sequence[str],
    own: Path,
    folder: Path,
    encoder: ImageEncoder,
    on_progress: OnProgress,
    engine: Engine,
) -> Index:
    """Return the index with the new photos and without the removed ones, saved now and then."""
    known = index.with_vectors()
    for path in removed:
        del known[path]
    done = failed = 0
    due = 0.0
    on_progress(done, len(new), failed)
    waiting = iter(new)
    for results in engine.map(EncodeWhole(encoder=encoder), (folder / photo.path for photo in new)):
        for photo, found in zip(islice(waiting, len(results)), results, strict=True):
            known[photo.path] = _read(photo, found, folder)
            failed += isinstance(found, BadImage)
        done += len(results)
        if time.monotonic() >= due and done < len(new):
            began = time.monotonic()
            write_index(own, known.values())
            known = read_index(own, encoder.dim).with_vectors()  # mapped, not in memory
            due = time.monotonic() + (time.monotonic() - began) / _SAVING
        on_progress(done, len(new), failed)
    write_index(own, known.values())
    return read_index(own, encoder.dim)


def _read(photo: StoredPhoto, found: FloatArray | BadImage, folder: Path) -> StoredPhoto:
    """Return a photo with its vector or error."""
    if not isinstance(found, BadImage):
        return photo._replace(vector=as_fixed_point(found[None, :])[0])
    reason = str(found).removeprefix(str(folder / photo.path)).strip()
    is_refused = getattr(found.__cause__, "errno", None) is not None
    return photo._replace(error=reason, size=_RETRY if is_refused else photo.size)


@contextmanager
def _writing(own: Path, folder: Path) -> Iterator[None]:
    try:
        with writer_lock(own / "lock", wait_s=_WAIT_S):
            yield
    except KnowledgeBaseLocked as error:
        raise KnowledgeBaseLocked(f"Another process is indexing {folder}.", hint="Wait for it to end.") from error


def _kind(reason: str) -> str:
    """Return an error without its details."""
    for sign in (" (", ", ", ": ", "; "):
        reason = reason.partition(sign)[0]
    return reason
