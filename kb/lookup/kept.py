"""Arrays read from all summaries, kept in `cache/`, so that a new process need not read the summaries.

The name of a file has a hash of the species that were opened, then one of the language, and of the code and word lists
that read the summaries. A damaged file is made again; the writer of the matrices removes the files of other species.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import data.lexicon
from data.errors import FieldmarkError, MissingRequirement
from data.files import sha256_hex, write_atomic
from data.version import fieldmark_version
from kb.lookup.bm25 import Postings
from kb.store.knowledge_base import KnowledgeBase
from kb.store.matrices import prefix_of_lookups

log = logging.getLogger(__name__)
Arrays = Mapping[str, NDArray[Any]]


def kept(store: KnowledgeBase, name: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of `make()`, from their file if there is a sound one."""
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
            content = io.BytesIO()
            np.savez(content, **found)  # type: ignore[arg-type]  # its stub takes them for `allow_pickle`
            packed = content.getvalue()
            write_atomic(path, sha256(packed).digest() + packed, is_durable=False)
        except (OSError, MissingRequirement) as error:
            log.debug("%s is not kept: %s", path, error)
    return found


def _prefix(store: KnowledgeBase) -> str:
    return prefix_of_lookups(store.ledger)


def as_arrays(postings: Postings) -> dict[str, NDArray[Any]]:
    """Return postings as arrays to keep."""
    keys = as_bytes(list(postings.keys))
    return {"keys": keys, "starts": postings.starts, "rows": postings.rows, "values": postings.values}


def as_postings(arrays: Arrays) -> Postings:
    """Return the postings in kept arrays."""
    keys = {key: i for i, key in enumerate(from_bytes(arrays["keys"]))}
    return Postings(keys, arrays["starts"], arrays["rows"], arrays["values"])


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


def _read(path: Path) -> Arrays | None:
    """Return the arrays of a file, or None if it is missing, or damaged by the checksum before them."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if sha256(content[32:]).digest() != content[:32]:
        return None
    with np.load(io.BytesIO(content[32:]), allow_pickle=False) as held:
        return {name: held[name] for name in held.files}
