"""A Chroma embedded in the folder of a knowledge base: errors, and space on its disk.

On a full disk, a failed write of an embedded Chroma keeps its database locked, and the next call would wait for ever,
deaf to Ctrl-C. So space is checked before each write, and the client is closed after an error on a full disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.errors import MissingRequirement, StoreError
from data.storage_errors import storage_errors
from kb.store.chroma import folder_clients

SPARE_BYTES = 8 << 20  # to remain free after a batch


class ChromaFolder:
    """The Chroma in a folder.

    Args:
        root: the folder of the knowledge base, which errors name.
        folder: the folder of Chroma, inside `root`.

    Raises:
        StoreError: if the folder cannot be opened as Chroma.
        MissingRequirement: if the disk is full.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.client = folder_clients.borrow(folder)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of Chroma.

        Raises:
            MissingRequirement: if the disk is full or the folder is not writable.
            StoreError: for all other errors.
        """
        if not folder_clients.is_open(self._folder, self.client):
            raise StoreError(f"The Chroma of {self._root} was closed after an error", hint="kb verify repairs it")
        try:
            with storage_errors(self._root):
                yield
        except (MissingRequirement, StoreError) as error:
            if not self.has_little_space():
                raise
            folder_clients.close(self._folder, self.client)
            raise self._no_space() from error

    def check_space(self, n_bytes: int) -> None:
        """Raise `MissingRequirement` if the disk has too little space for a batch of so many bytes."""
        needed = SPARE_BYTES + 4 * n_bytes
        if self.has_little_space(needed):
            raise self._no_space(needed)

    def has_little_space(self, needed: int = SPARE_BYTES) -> bool:
        """Return whether fewer bytes are free than needed."""
        return shutil.disk_usage(self._root).free < needed

    def _no_space(self, needed: int = SPARE_BYTES) -> MissingRequirement:
        free = shutil.disk_usage(self._root).free
        return MissingRequirement(
            f"{self._root}: {free / 2**20:.0f} MiB are free on this disk, expected at least {needed / 2**20:.0f} MiB",
            hint="Nothing is lost; free some space and run the same command again.",
        )

    def close(self) -> None:
        """Close the folder, unless others use it."""
        folder_clients.give_back(self._folder, self.client)
