"""State that the stages of a build share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from data.contracts import ArticleSource, Encoders
from data.records import Progress, Stage
from kb.distill.distillers import AnyDistiller
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, collection_names
from kb.store.ledger import Ledger

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRun:
    """One run of `kb.build`: where it writes, where from, and with what."""

    layout: Layout
    info: KnowledgeBaseInfo
    ledger: Ledger
    source: ArticleSource
    encoders: Encoders
    distiller: AnyDistiller
    anchors_per_species: int
    report: Callable[[Progress], None] = field(repr=False)

    @property
    def collections(self) -> dict[str, tuple[CollectionKind, str]]:
        """Collection name -> (kind, space) of the collections that the encoders fill."""
        return collection_names(self.info)

    def track(self, stage: Stage, total: int) -> Tracker:
        """Return a counter that reports the progress of a stage."""
        return Tracker(self.report, stage, total)


class Tracker:
    """Counts what a stage has done and reports each step."""

    def __init__(self, report: Callable[[Progress], None], stage: Stage, total: int) -> None:
        self._report, self._stage, self._total = report, stage, total
        self.done = 0
        self.failed = 0
        self._tell()

    def add(self, n: int = 1, *, failed: int = 0) -> None:
        """Count `n` more subjects, `failed` of them in vain."""
        self.done += n
        self.failed += failed
        self._tell()

    def _tell(self) -> None:
        self._report(Progress(stage=self._stage, done=self.done, total=self._total, failed=self.failed))


def grouped(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Yield the items in lists of `size`, the last one shorter."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
