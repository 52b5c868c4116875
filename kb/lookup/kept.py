"""Arrays read from all summaries, kept in `cache/`, so that a new process maps them instead of reading the summaries.

The name of a file has a hash of the species that were opened, then one of the language, and of the code and word lists
that read the summaries. A learnt term changes neither. A damaged file is made again; where `cache/` cannot be written,
nothing is kept. The writer of the matrices removes the files of other species.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import data.lexicon
from data.checksums import file_checksum
from data.errors import FieldmarkError
from data.files import sha256_hex
from data.version import fieldmark_version
from kb.lookup.bm25 import Postings
from kb.store.knowledge_base import KnowledgeBase
from kb.store.matrices import prefix_of_lookups

log = logging.getLogger(__name__)
Arrays = Mapping[str, NDArray[Any]]
_ALIGNED = 64  # bytes


def kept(store: KnowledgeBase, name: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of `make()`, from their file if there is one."""
    try:
        folder = store.layout.cache
    except FieldmarkError:  # a store in memory
        return make()
    mark = sha256_hex("\n".join((store.language, name, _code())))[:20]
    path = folder / f"{store.derived(_prefix)}{mark}.bin"
    found = _read(path)
    if found is None:
        found = make()
        try:
            _write(path, found)
        except OSError as error:
            log.debug("%s is not kept: %s", path, error)
    return found


def _prefix(store: KnowledgeBase) -> str:
    return prefix_of_lookups(store.ledger)


def as_arrays(postings: Postings, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return postings as arrays to keep."""
    keys = as_bytes(list(postings.keys))
    return {
        f"{prefix}keys": keys,
        f"{prefix}starts": postings.starts,
        f"{prefix}rows": postings.rows,
        f"{prefix}values": postings.values,
    }


def as_postings(arrays: Arrays, prefix: str = "") -> Postings:
    """Return the postings in kept arrays."""
    keys = {key: i for i, key in enumerate(from_bytes(arrays[f"{prefix}keys"]))}
    return Postings(keys, *(arrays[prefix + name] for name in ("starts", "rows", "values")))


def as_bytes(texts: list[str]) -> NDArray[np.uint8]:
    """Return texts as an array to keep."""
    return np.frombuffer(json.dumps(texts, ensure_ascii=False).encode(), dtype=np.uint8)


def from_bytes(content: NDArray[Any]) -> list[str]:
    """Return the texts of `as_bytes`."""
    found: list[str] = json.loads(content.tobytes())
    return found


@cache
def _code() -> str:
    """Return a hash of the code and word lists on which the arrays depend, and of the version."""
    folders = (Path(__file__).parent, *map(Path, data.lexicon.__path__))
    found = (file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".csv", ".txt"))
    files = [*sorted(found), Path(__file__).parents[1] / "checklist" / "names.py"]
    return sha256_hex(b"".join((fieldmark_version().encode(), *(file.read_bytes() for file in files))))


def _write(path: Path, arrays: Arrays) -> None:
    """Write a file: arrays, then their places as JSON, its length, and beside it the checksum of all."""
    temporary = path.parent / f".part-{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            places = []
            for name, array in arrays.items():
                file.write(bytes(-file.tell() % _ALIGNED))
                places.append((name, file.tell(), array.dtype.str, len(array)))
                np.ascontiguousarray(array).tofile(file)
            index = json.dumps(places).encode()
            file.write(index + len(index).to_bytes(8, "little"))
        checksum = file_checksum(temporary)
        with temporary.open("ab") as file:
            file.write(bytes.fromhex(checksum))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> Arrays | None:
    """Return the arrays of a file, mapped, or None if it is missing or damaged."""
    try:
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        end = len(whole) - 16
        if end < 8 or file_checksum(path, end) != whole[end:].tobytes().hex():
            return None
        size = int.from_bytes(whole[end - 8 : end].tobytes(), "little")
        places = json.loads(whole[end - 8 - size : end - 8].tobytes())
        return {
            name: np.frombuffer(whole, dtype=dtype, count=count, offset=start) for name, start, dtype, count in places
        }
    except (OSError, ValueError, TypeError):
        return None
