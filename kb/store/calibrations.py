"""The calibrations of a knowledge base: files that say how sure its answers are, each with its hash in the ledger.

What is in one is for `recognize` to read, and it uses none that was made for other species, encoders or weights. Here
they are contents that must stay whole: a digit that changed on the disk would be a wrong confidence, worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from data.errors import BadInput
from data.files import sha256_hex, write_atomic
from kb.store.layout import Layout
from kb.store.ledger import Ledger

FACT = "calibration:"
MAX_BYTES = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,49}\.json")


def is_calibration(name: str) -> bool:
    """Return whether a file of the folder `calibration` may be one: a preset's name and `.json`.

    Example:
        >>> is_calibration("vr-rag-v1.json"), is_calibration("../kb.json")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def calibration_files(layout: Layout) -> list[Path]:
    """Return the calibrations that a knowledge base has, sorted by name."""
    found = layout.calibration.glob("*.json")
    return sorted(path for path in found if is_calibration(path.name) and path.is_file() and not path.is_symlink())


def keep_calibration(layout: Layout, ledger: Ledger, name: str, content: bytes) -> None:
    """Write a calibration, and note its hash; for the holder of the lock.

    Raises:
        BadInput: if it bears another name than a calibration, is too large, or is no JSON object.
    """
    if not is_calibration(name):
        raise BadInput(f"expected a calibration named like a preset, got {name!r}")
    if not _is_object(content):
        raise BadInput(f"calibration/{name}: expected a JSON object of at most {MAX_BYTES:,} bytes")
    ledger.drop_fact(FACT + name)  # killed in between, the new file has no hash rather than that of the old one
    write_atomic(layout.calibration / name, content)
    ledger.set_fact(FACT + name, sha256_hex(content))


def mend_calibrations(layout: Layout, ledger: Ledger) -> Iterator[str]:
    """Take out every calibration that is not what was written, and say so; for the holder of the lock.

    One that came without a hash must at least be a JSON object.
    """
    noted = {key.removeprefix(FACT): sha256 for key, sha256 in ledger.facts(FACT)}
    for name in sorted({*noted, *(path.name for path in calibration_files(layout))}):
        path = layout.calibration / name
        content = path.read_bytes() if path.is_file() else b""
        if _is_object(content) and noted.get(name, sha256_hex(content)) == sha256_hex(content):
            continue
        what = "is damaged and was taken out" if path.is_file() else "is missing"
        path.unlink(missing_ok=True)
        ledger.drop_fact(FACT + name)
        yield f"calibration/{name} {what}: answers have no confidence until the knowledge base is made or imported anew"


def _is_object(content: bytes) -> bool:
    try:
        return len(content) <= MAX_BYTES and isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False
