"""Inputs, outputs and progress that the stages of a build share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from data.contracts import Encoders
from data.engines.contract import LOCAL, Engine
from data.images.views import views_mark
from data.records import Progress, Stage
from kb.distill.distillers import AnyDistiller
from kb.distill.extractive import ExtractiveDistiller
from kb.pipeline.settings import DEFAULTS, BuildSettings
from kb.sources.article_source import ArticleSource
from kb.sources.folder import OwnSource
from kb.store.layout import CollectionKind, KnowledgeBaseInfo, Layout, collection_names
from kb.store.ledger import Ledger, Step

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRun:
    """One run of the stages; by default it encodes and indexes the contents, without a source or a model."""

    layout: Layout
    info: KnowledgeBaseInfo
    ledger: Ledger
    encoders: Encoders
    source: ArticleSource = field(default_factory=OwnSource)
    distiller: AnyDistiller = field(default_factory=ExtractiveDistiller)
    settings: BuildSettings = DEFAULTS
    engine: Engine = LOCAL
    progress: Callable[[Progress], None] | None = field(default=None, repr=False)

    @property
    def views(self) -> str:
        """The detector and the rule of views that anchors are encoded by."""
        return views_mark(self.encoders.detector)

    @property
    def collections(self) -> dict[str, tuple[CollectionKind, str]]:
        """Collection name -> (kind, space) of the collections that the encoders fill."""
        return collection_names(self.info)

    def todo(self, stage: Stage, marks: Mapping[str, str]) -> list[str]:
        """Return the subjects of `marks` (subject_id -> fingerprint) whose step is missing, failed or outdated."""
        steps = self.ledger.each_step(stage)
        current = {step.subject_id for step in steps if is_current(step, marks.get(step.subject_id))}
        return [key for key in marks if key not in current]

    def track(self, stage: Stage, total: int, *, kept: int = 0) -> Tracker:
        """Return a counter of the progress of a stage, which goes on after the `kept` subjects of earlier runs."""
        _log.info("stage %s: %d subjects to do, %d done before", stage, total, kept)
        return Tracker(self.progress, stage, total, kept)


def is_current(step: Step | None, mark: str | None) -> bool:
    """Return whether a step has this fingerprint and did not fail."""
    return step is not None and step.fingerprint == mark and step.status != "failed"


class Tracker:
    """Counts finished subjects of a stage and reports each step."""

    def __init__(self, progress: Callable[[Progress], None] | None, stage: Stage, total: int, kept: int = 0) -> None:
        self._done, self._failed = kept if total else 0, 0  # nothing to do, nothing to report
        self._progress, self._stage, self._total = progress, stage, total + self._done
        self.add(0)

    def add(self, n: int = 1, *, failed: int = 0) -> None:
        """Count `n` more subjects, `failed` of them without success."""
        self._done += n
        self._failed += failed
        if self._progress is not None:
            self._progress(Progress(stage=self._stage, done=self._done, total=self._total, failed=self._failed))
