"""Records that the stages of a build keep in the ledger, and where its pages came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.codec import loads
from data.contracts import ArticleSource
from data.records import Anchor, LeftOut, Source, Summary, Term
from kb import reasons
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step

FACT = "distiller"
"""The fact of the ledger that names the kind of distiller of the last build."""


ORIGIN = "source:"
"""The facts of the ledger that say how each source is opened again; never a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOutput:
    """What the ledger keeps of a fetched page; the body itself lies in `articles/` under `sha256`."""

    sha256: str
    media_type: Literal["text/html", "text/plain", "application/json"]
    source: Source
    categories: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    retrieved_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilOutput:
    """What the ledger keeps: the summary or the term, and the plain text (in `articles/`) that evidence points into."""

    summary: Summary | None = None
    term: Term | None = None
    source: Source | None = None
    text_sha256: str | None = None
    draft: Summary | None = None
    """What the first of two passes made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorOutput:
    """What the ledger keeps: the anchors, and which photos were not taken and why."""

    anchors: tuple[Anchor, ...] = ()
    skipped: tuple[LeftOut, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """File -> version of the photos that were looked at, where the source tells versions."""


def anchors_of(step: Step) -> AnchorOutput:
    """Return what a species has: for want of its new photos the earlier ones, if there were any."""
    return loads(AnchorOutput, step.output) if step.output is not None else AnchorOutput()


def removed(ledger: Ledger) -> frozenset[str]:
    """Return the scientific names of species and the names of terms that the user removed."""
    marked = (reasons.REMOVED, f"term: {reasons.REMOVED}")
    return frozenset(name for name, reason, _ in ledger.left_out() if reason in marked)


def draft_text(ledger: Ledger, taxon_id: str) -> str | None:
    """Return the summary that the first of two passes made of a species, or None if there was one pass.

    Source: VR-RAG, section 3 and table 5: the Wikipedia summary, which is then refined.
    """
    step = ledger.step(taxon_id, "distil")
    draft = loads(DistilOutput, step.output).draft if step is not None and step.output else None
    return None if draft is None else draft.text


def last_distiller(path: Path) -> str | None:
    """Return the kind of distiller that the knowledge base at `path` was last built with; None if there is none."""
    file = Layout(path).ledger
    if not file.is_file():
        return None
    with closing(Ledger(file, read_only=True)) as ledger:
        return ledger.fact(FACT)


def note_origin(ledger: Ledger, source: ArticleSource) -> None:
    """Keep in the ledger how a source is opened again, under the name that all its pages are noted with."""
    if source.origin:
        ledger.set_fact(ORIGIN + source.name, json.dumps(dict(source.origin), sort_keys=True))


def read_origins(ledger: Ledger) -> dict[str, Mapping[str, str]]:
    """Return name of the source -> how it is opened again, of all that built the knowledge base, sorted by name."""
    return {key.removeprefix(ORIGIN): json.loads(value) for key, value in ledger.facts(ORIGIN)}
