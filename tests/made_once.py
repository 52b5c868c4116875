"""Folders that are made once for all workers of a run, and copied on each use."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a copy of the folder made by `make(path)`, which runs once for all workers of this run.

    Args:
        tmp_path_factory: the fixture; the workers of one run share the folder above theirs.
        name: of the folder; also of the copy.
        make: makes the folder at the path it is given, which does not exist yet.
    """
    base = tmp_path_factory.getbasetemp()
    shelf = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once"
    shelf.mkdir(exist_ok=True)
    whole, part = shelf / name, shelf / f"{name}.part"
    with (shelf / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(whole)
    return Path(shutil.copytree(whole, tmp_path_factory.mktemp("copy") / name))
