"""Build of made-up birds on a disk that fills up: `fill_disk.py DIR MOMENT FREE_KIB`; prints the error as JSON.

Moments: before the ledger or Chroma is opened, or between the check of the free space and a write to Chroma.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import kb
from data.errors import FieldmarkError
from kb.store.chroma import Collections, folder_clients
from kb.store.chroma.folder import ChromaFolder
from kb.store.ledger import file
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

MOMENTS: dict[str, tuple[Any, str]] = {
    "ledger": (file, "connect_writer"),
    "open": (folder_clients, "_open"),
    "upsert": (ChromaFolder, "check_space"),
}


def fill(disk: Path, free_kib: int) -> None:
    """Take all space of a disk but the last."""
    file = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(file, 0, max(1, shutil.disk_usage(disk).free - 1024 * free_kib))
    os.close(file)


if __name__ == "__main__":
    folder, moment, free_kib = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    home, name = MOMENTS[moment]
    work: Callable[..., Any] = getattr(home, name)
    is_filled = False

    def filled(*arguments: Any) -> Any:
        global is_filled
        found = None
        if moment == "upsert":
            found = work(*arguments)
        if not is_filled:
            fill(folder.parent, free_kib)
            is_filled = True
        return found if moment == "upsert" else work(*arguments)

    setattr(home, name, filled)
    failed: list[str] = []
    run = Collections._run

    def watched(self: Collections, name: str, work: Callable[[Any], Any], *, create: bool = False) -> Any:
        def tried(collection: Any) -> Any:
            if failed:
                raise AssertionError("Chroma was called after an error")
            try:
                return work(collection)
            except Exception as error:
                failed.append(str(error))
                raise

        return run(self, name, tried, create=create)

    setattr(Collections, "_run", watched)  # noqa: B010  # a method, which mypy would refuse
    try:
        kb.build(folder, made_up_taxa(30), PageSource(), toy_encoders())
        answer = {}
    except FieldmarkError as error:
        answer = {"code": str(error.exit_code), "message": str(error), "hint": error.hint or ""}
    sys.stdout.write(json.dumps(answer) + "\n")
