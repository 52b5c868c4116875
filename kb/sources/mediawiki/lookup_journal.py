"""Journal of look-ups, so that a build that was killed does not ask the wiki again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

OLDEST_S: Final = 24 * 3600
"""Age at which the answers of an interrupted build are too old to go on with."""


class LookupJournal:
    """Answers by question, a line of JSON each in one file; without a file, nothing is kept.

    An outdated file is started afresh, and damaged lines are skipped: it only saves requests.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._lock = file, threading.Lock()
        self._known: dict[str, Any] = {}
        with suppress(OSError):
            if file is not None and time.time() - file.stat().st_mtime > OLDEST_S:
                self.remove()
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if file else ():
                with suppress(ValueError, TypeError, RecursionError):
                    question, answer = json.loads(line)
                    self._known[json.dumps(question)] = answer

    def answer(self, question: object, ask: Callable[[], Any]) -> Any:  # noqa: ANN401  # JSON values
        """Return the answer of `ask`, in JSON values, or the one of an interrupted build to the same question."""
        if (key := json.dumps(question)) in self._known:
            return self._known[key]
        found = ask()
        if self._file is not None:
            with suppress(OSError), self._lock:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                with self._file.open("a", encoding="utf-8") as journal:
                    journal.write(json.dumps([question, found]) + "\n")
        return found

    def remove(self) -> None:
        """Delete the file: the build has come to its end."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
