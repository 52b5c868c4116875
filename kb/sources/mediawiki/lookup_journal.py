"""Journal of look-ups, so that a build that was killed does not ask the wiki again."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from data.cache_file import CacheFile
from data.errors import FieldmarkError

OLDEST_S: Final = 24 * 3600
"""Age at which the answers of an interrupted build are too old to go on with."""
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS answers (question BLOB PRIMARY KEY, answer BLOB NOT NULL)"


class LookupJournal:
    """Answers by question in one file; without a file, nothing is kept.

    A damaged or outdated file is started afresh: it only saves requests.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._files = [file.with_name(file.name + ending) for ending in ("", "-wal", "-shm")] if file else []
        self._cache: CacheFile | None = None
        if file is not None:
            # A power cut costs the answers.
            self._cache = CacheFile(file, schema=_SCHEMA, synchronous="OFF", lost="the wiki is asked again")
            written = [each.stat().st_mtime for each in self._files if each.is_file()]
            if written and time.time() - max(written) > OLDEST_S:
                self._unlink()

    def answer(self, question: object, ask: Callable[[], Any]) -> Any:  # noqa: ANN401  # JSON values
        """Return the answer of `ask`, in JSON values, or the one of an interrupted build.

        Args:
            question: by which the answer is found again, in JSON values.
            ask: asks the wiki.
        """
        cache = self._cache
        if cache is None:
            return ask()
        key = sha256(json.dumps(question, sort_keys=True).encode()).digest()
        with suppress(FieldmarkError, OSError, ValueError, TypeError, RecursionError, zlib.error):
            row = cache.run(lambda db: db.execute("SELECT answer FROM answers WHERE question = ?", (key,)).fetchone())
            if row is not None:
                return json.loads(zlib.decompress(row[0]))
        found = ask()
        packed = zlib.compress(json.dumps(found).encode(), 1)
        with suppress(FieldmarkError, OSError):
            cache.run(lambda db: db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, packed)))
        return found

    def remove(self) -> None:
        """Delete the file: the build has come to its end."""
        self.close()
        self._unlink()

    def close(self) -> None:
        """Close the file and keep it."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _unlink(self) -> None:
        if self._files:
            file = self._files[0]
            damaged = file.parent.glob(f"{escape(file.name)}.damaged-*")  # as a `CacheFile` sets them aside
            for each in (*self._files, *damaged):
                with suppress(OSError):
                    each.unlink(missing_ok=True)
