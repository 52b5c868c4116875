"""Errors of the iterator of items, raised in their turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class ItemsToError(Iterator[ItemT], Generic[ItemT]):
    """Items up to the first error of their iterator.

    Items are taken ahead of the results. The error waits, so that the results before it are handed out and stored.
    """

    def __init__(self, items: Iterable[ItemT]) -> None:
        self._items = iter(items)
        self._error: Exception | None = None

    def __next__(self) -> ItemT:
        """Return the next item; after an error there is none."""
        if self._error is not None:
            raise StopIteration
        try:
            return next(self._items)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise StopIteration from None

    def raise_error(self) -> None:
        """Raise the error, if there was one; for the time when all results are handed out."""
        if self._error is not None:
            raise self._error
