"""Vector tables of the state that a reader opened.

Look-ups and photos are scored against all vectors of a collection, exactly: they are memory-mapped from `cache/`, which
is filled from Chroma after each change. With a warm cache, chromadb is not loaded. If Chroma does not hold the state
that was opened, the same answers are computed from the ledger's vectors.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

from data.closing import Closing
from data.contracts import VectorTable
from data.errors import ChromaDiffers, MissingRequirement, SpaceMismatch, StoreError
from data.vectors import read_table
from kb.store.chroma import Collections  # which imports chromadb when it is used
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, collection_name, subject_kind
from kb.store.ledger import Ledger
from kb.store.matrices import ledger_table, warm_cache
from kb.store.project import check_counts, is_newest, is_sealed

log = logging.getLogger(__name__)
AnswerT = TypeVar("AnswerT")


class VectorTables(Closing):
    """The vector tables of one state, each read once.

    Args:
        layout: the paths of the knowledge base.
        info: contents of `kb.toml`.
        ledger: the ledger, held in the state that was opened.
        generation: the name of this state.
    """

    def __init__(self, layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, generation: str) -> None:
        self._layout = layout
        self._info = info
        self._ledger = ledger
        self._generation = generation
        self._tables: dict[str, VectorTable] = {}
        self._chroma: Collections | None = None
        self._is_apart = False
        self._lock = Lock()

    def table(self, kind: CollectionKind, space: str, spaces: Sequence[str]) -> VectorTable:
        """Return the vectors of a collection.

        Raises:
            SpaceMismatch: if `space` is none of `spaces`, which this kind of collection has.
        """
        if space not in spaces:
            raise SpaceMismatch(expected=spaces, given=(space,))
        name = collection_name(kind, space)
        if name not in self._tables:
            generation = self._ledger.generation(subject_kind(kind))
            table = read_table(self._layout.cache, generation, name)
            if table is None and self.from_chroma(self._warm_cache):
                table = read_table(self._layout.cache, generation, name)
            self._tables[name] = ledger_table(self._ledger, name, kind) if table is None else table
        return self._tables[name]

    def _warm_cache(self, collections: Collections) -> bool:
        warm_cache(self._layout, self._ledger, collections)
        return True

    def from_chroma(self, work: Callable[[Collections], AnswerT]) -> AnswerT | None:
        """Return `work(collections)`, or None if Chroma does not hold this state; the ledger then answers.

        It does not after a writer's change, when it is missing or damaged, or in a read-only folder.
        """
        with self._lock:
            if self._is_apart:
                return None
            try:
                if self._chroma is None:
                    self._chroma = self._open_chroma()
                found = work(self._chroma)
            except (StoreError, MissingRequirement) as error:
                self._leave_chroma(str(error))
                return None
        return found if is_newest(self._layout, self._generation) else None  # a writer may have started meanwhile

    def _open_chroma(self) -> Collections:
        if not is_newest(self._layout, self._generation):
            raise ChromaDiffers(f"{self._layout.root} has changed")
        if not self._info.chroma and not is_sealed(self._layout, self._ledger):
            if "build" in self._ledger.unfinished():
                raise ChromaDiffers(f"The build of {self._layout.root} did not finish; run it again")
            raise ChromaDiffers(f"{self._layout.chroma} is missing or damaged; kb verify repairs it")
        collections = Collections(self._layout, self._info)
        try:
            check_counts(self._ledger, collections)
        except BaseException:
            collections.close()
            raise
        return collections

    def _leave_chroma(self, why: str) -> None:
        """Answer from the ledger until closed."""
        self._is_apart = True
        if self._chroma is not None:
            self._chroma.close()
            self._chroma = None
        if is_newest(self._layout, self._generation) and os.access(self._layout.root, os.W_OK):
            log.warning("%s. The ledger is used instead, which is slower.", why)

    def close(self) -> None:
        """Close Chroma."""
        self._tables.clear()
        if self._chroma is not None:
            self._chroma.close()
            self._chroma = None
