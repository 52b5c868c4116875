"""Finished queries of an unfinished evaluation on disk: a run that is killed resumes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from data.cache_file import CacheFile
from data.files import sha256_hex


class UnfinishedRuns:
    """A file for each method of one evaluation, until `remove`.

    Args:
        home: folder of Fieldmark's own files.
        parts: all inputs of the evaluation but the method; records without sets, which print in one way.
    """

    def __init__(self, home: Path, parts: Sequence[object]) -> None:
        self._folder = home / "feedback" / sha256_hex(repr(parts))[:24]

    @contextmanager
    def of(self, method: str) -> Iterator[CacheFile]:
        """Give the finished queries of a method.

        Raises:
            StoreError: if the file is damaged.
            MissingRequirement: if the disk is full or not writable.
        """
        with CacheFile(self._folder / f"{method}.sqlite") as store:
            yield store

    def remove(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)
