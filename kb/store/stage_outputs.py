"""Stage results as records in the ledger, and the sources of its pages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.codec import loads
from data.records import Anchor, LeftOut, Source, Summary, Term, WebAnswer
from kb import reasons
from kb.sources.article_source import ArticleSource
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step, ledger_so_far

FACT = "distiller"
"""Fact with the kind of distiller of the last build."""


ORIGIN = "source:"
"""Prefix of the facts that say how to open each source again; they hold no secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOutput:
    """A fetched page; its body is stored in `articles/` under `sha256`."""

    sha256: str
    media_type: Literal["text/html", "text/plain", "application/json"]
    source: Source
    categories: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Language code -> title of the same article."""
    retrieved_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOutput:
    """A summary or term, and the hash of the plain text in `articles/` that its evidence points into."""

    summary: Summary | None = None
    term: WebAnswer | Term | None = None
    source: Source | None = None
    text_sha256: str | None = None
    draft: Summary | None = None
    """Summary of the first of two passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOutput:
    """The anchors of a species, and the skipped photos with reasons."""

    anchors: tuple[Anchor, ...] = ()
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version of the photos examined, for sources with versions."""


def anchors_of(step: Step) -> AnchorOutput:
    """Return the anchors of a species; a failed step keeps the earlier ones."""
    return loads(AnchorOutput, step.output) if step.output is not None else AnchorOutput()


def removed(ledger: Ledger) -> frozenset[str]:
    """Return the names of the species and terms that the user removed."""
    marked = (reasons.REMOVED, f"term: {reasons.REMOVED}")
    return frozenset(name for name, reason, _ in ledger.left_out() if reason in marked)


def draft_text(ledger: Ledger, taxon_id: str) -> str | None:
    """Return the summary of the first of two passes, or None if there was only one.

    Source: VR-RAG, section 3 and table 5: the Wikipedia summary, which is then refined.
    """
    draft = ledger.outputs("distil", DistilOutput, ids=[taxon_id]).get(taxon_id, DistilOutput()).draft
    return None if draft is None else draft.text


def last_distiller(path: Path) -> str | None:
    """Return the kind of distiller of the last build of the knowledge base at `path`, or None."""
    with ledger_so_far(Layout(path).ledger) as ledger:
        return None if ledger is None else ledger.fact(FACT)


def note_origin(ledger: Ledger, source: ArticleSource) -> None:
    """Record in the ledger how to open a source again, under its name."""
    if source.origin:
        ledger.set_fact(ORIGIN + source.name, json.dumps(dict(source.origin), sort_keys=True))


def read_origins(ledger: Ledger) -> dict[str, Mapping[str, str]]:
    """Return name of a source -> how to open it again, sorted by name."""
    return {key.removeprefix(ORIGIN): json.loads(value) for key, value in ledger.facts(ORIGIN)}
