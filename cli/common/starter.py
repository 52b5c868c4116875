"""The knowledge that ships with Fieldmark, as a knowledge base under FIELDMARK_HOME."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common.output import note
from data.errors import KnowledgeBaseLocked
from data.files import sha256_hex, writer_lock

if TYPE_CHECKING:
    from data.contracts import Encoders

CALIBRATION = "calibration.json"
MAX_WAIT_S = 300.0  # for another process that is unpacking it


def starter_knowledge(home: Path, encoders: Encoders) -> Path:
    """Return the folder of the starter knowledge base, unpacked there on first use.

    Its name holds the source's version, the encoders' spaces and the calibration, so that an upgrade unpacks anew. It
    is made under another name and renamed when it is whole; of several processes that come at once one makes it and
    the others wait.

    Raises:
        KnowledgeBaseLocked: if another process is still unpacking it after five minutes.
    """
    import kb
    from data.starter.knowledge import read_bytes
    from kb.sources.starter import StarterSource
    from kb.store.calibrations import keep_calibration
    from kb.store.layout import Layout
    from kb.store.ledger import Ledger

    source = StarterSource(spaces=anchor_spaces(encoders))
    calibration = read_bytes(CALIBRATION)
    key = sha256_hex("\n".join([source.name, *encoders.spaces, sha256_hex(calibration)]))[:16]
    folder = home / "starter"
    path = folder / f"{key}.kb"
    if path.is_dir():
        return path
    with _patient_lock(folder / f"{key}.lock"):
        if path.is_dir():
            return path
        note("unpacking the starter knowledge (once)")
        parts = folder / f"{key}.part"
        shutil.rmtree(parts, ignore_errors=True)  # of a process that was killed: we hold its lock
        kb.build(parts, source.taxa(), source, encoders, terms=source.terms())
        if calibration:
            with closing(Ledger(Layout(parts).ledger)) as ledger:
                keep_calibration(Layout(parts), ledger, calibration_file("default"), calibration)
                ledger.checkpoint()
        parts.rename(path)
    return path


def calibration_file(preset: str) -> str:
    """Return the name of the file, in the folder `calibration` of a knowledge base, with the chances of a preset."""
    return f"{preset}.json"


def anchor_spaces(encoders: Encoders) -> tuple[str, ...]:
    """Return the spaces in which anchors must have vectors."""
    return tuple(dict.fromkeys((*(encoder.space for encoder in encoders.text_image), encoders.visual.space)))


@contextmanager
def _patient_lock(path: Path) -> Iterator[None]:
    deadline = time.monotonic() + MAX_WAIT_S
    while True:
        try:
            with writer_lock(path):
                yield
                return
        except KnowledgeBaseLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
