"""Calibration files of a knowledge base, each with its hash in the ledger.

`recognize` reads the contents, and ignores calibrations for other species, encoders or weights. Here they are only
protected from damage: a wrong confidence is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from data.errors import BadInput
from data.files import sha256_hex, write_atomic, writer_lock
from data.records import vocabulary_hash
from kb.store.layout import Layout
from kb.store.ledger import Ledger

FACT = "calibration:"
MAX_BYTES = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,49}\.json")


def is_calibration(name: str) -> bool:
    """Return whether a file name is the name of a preset and `.json`."""
    return _NAME.fullmatch(name) is not None


def calibration_files(layout: Layout) -> list[Path]:
    """Return the calibration files, sorted by name."""
    found = layout.calibration.glob("*.json")
    return sorted(path for path in found if is_calibration(path.name) and path.is_file() and not path.is_symlink())


def save_calibration(path: Path, preset: str, content: bytes) -> None:
    """Write the calibration of a preset into a knowledge base; a process killed meanwhile leaves the old one.

    Raises:
        MissingKnowledgeBase: if there is none at `path`.
        KnowledgeBaseLocked: if another process writes to it.
        BadInput: as `keep_calibration`.
    """
    layout = Layout(path)
    layout.require()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        keep_calibration(layout, ledger, f"{preset}.json", content)
        ledger.checkpoint()


def calibration_notes(layout: Layout, taxon_ids: Sequence[str]) -> dict[str, str]:
    """Return preset -> what its calibration was fitted on, and whether the species have changed since."""
    notes = {}
    for path in calibration_files(layout):
        content = path.read_bytes()
        found = json.loads(content) if _is_object(content) else {}
        note = str(found.get("fitted_on") or "unknown photos")
        if found.get("vocabulary") != vocabulary_hash(taxon_ids):
            note += " (not used: the species have changed since; run kb calibrate)"
        notes[path.stem] = note
    return notes


def keep_calibration(layout: Layout, ledger: Ledger, name: str, content: bytes) -> None:
    """Write a calibration and its hash; for the holder of the writer's lock.

    Raises:
        BadInput: if the name is not that of a preset, or the content is too large or not a JSON object.
    """
    if not is_calibration(name):
        raise BadInput(f"Expected a calibration named like a preset, got {name!r}")
    if not _is_object(content):
        raise BadInput(f"calibration/{name}: expected a JSON object of at most {MAX_BYTES:,} bytes")
    ledger.drop_fact(FACT + name)  # if killed now, the new file has no hash instead of a wrong one
    write_atomic(layout.calibration / name, content)
    ledger.set_fact(FACT + name, sha256_hex(content))


def mend_calibrations(layout: Layout, ledger: Ledger) -> Iterator[str]:
    """Delete damaged calibrations and yield a message for each; for the holder of the writer's lock.

    A file without a hash in the ledger must at least be a JSON object.
    """
    hashes = {key.removeprefix(FACT): sha256 for key, sha256 in ledger.facts(FACT)}
    for name in sorted({*hashes, *(path.name for path in calibration_files(layout))}):
        path = layout.calibration / name
        content = path.read_bytes() if path.is_file() else b""
        if _is_object(content) and hashes.get(name, sha256_hex(content)) == sha256_hex(content):
            continue
        state = "was damaged and has been deleted" if path.is_file() else "is missing"
        path.unlink(missing_ok=True)
        ledger.drop_fact(FACT + name)
        yield f"calibration/{name} {state}; run kb calibrate, or import the bundle again"


def _is_object(content: bytes) -> bool:
    try:
        return len(content) <= MAX_BYTES and isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False
