"""How far a stream of rows is, told to whoever asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from data.records import Identification, PhotoProgress

OnPhoto = Callable[[PhotoProgress], None]
"""Called after each row that the caller takes, in the caller's own thread."""


def reported(rows: Iterable[Identification], total: int | None, on_photo: OnPhoto) -> Iterator[Identification]:
    """Yield the rows, and say after each how many of `total` have been taken.

    The clock starts with the first row that is asked for. What `on_photo` raises ends the stream.

    Example:
        >>> rows = [Identification(image="a.jpg"), Identification(image="b.jpg", status="error")]
        >>> for row in reported(rows, 2, lambda progress: print(progress.done, progress.failed, progress.total)):
        ...     pass
        1 0 2
        2 1 2
    """
    start = time.monotonic()
    n_failed = 0
    for done, row in enumerate(rows, 1):
        yield row
        n_failed += row.status == "error"
        on_photo(PhotoProgress(done=done, failed=n_failed, total=total, seconds=time.monotonic() - start))
