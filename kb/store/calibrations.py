"""Calibrations of a knowledge base, in its ledger: `recognize` reads the contents, here they are checked texts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from data.errors import BadInput
from data.files import writer_lock
from data.records import vocabulary_hash
from kb.store.layout import Layout
from kb.store.ledger import Ledger

FACT = "calibration:"
"""Prefix of the facts with the JSON of the calibration of each preset."""
MAX_BYTES = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")


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
        keep_calibration(ledger, preset, content)
        ledger.checkpoint()


def keep_calibration(ledger: Ledger, preset: str, content: bytes) -> None:
    """Write a calibration; for the holder of the writer's lock.

    Raises:
        BadInput: if the name is not that of a preset, or the content is too large or not a JSON object.
    """
    if not _NAME.fullmatch(preset):
        raise BadInput(f"Expected a calibration named like a preset, got {preset!r}")
    try:
        text = content.decode()
        is_object = len(content) <= MAX_BYTES and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise BadInput(f"Calibration of {preset}: expected a JSON object of at most {MAX_BYTES:,} bytes")
    ledger.set_fact(FACT + preset, text)


def calibrations(ledger: Ledger) -> dict[str, str]:
    """Return preset -> JSON of its calibration, sorted by preset."""
    return {key.removeprefix(FACT): text for key, text in ledger.facts(FACT)}


def calibration_notes(ledger: Ledger, taxon_ids: Sequence[str]) -> dict[str, str]:
    """Return preset -> what its calibration was fitted on, and whether the species have changed since."""
    notes = {}
    for preset, text in calibrations(ledger).items():
        found = json.loads(text)
        note = str(found.get("fitted_on") or "unknown photos")
        if found.get("vocabulary") != vocabulary_hash(taxon_ids):
            note += " (not used: the species have changed since; run kb calibrate)"
        notes[preset] = note
    return notes
