"""Records that the stages of a build keep in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from data.codec import loads
from data.records import Anchor, LeftOut, Source, Summary, Term
from kb import reasons
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step

FACT = "distiller"
"""The fact of the ledger that names the kind of distiller of the last build."""


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


def last_distiller(path: Path) -> str | None:
    """Return the kind of distiller that the knowledge base at `path` was last built with; None if there is none."""
    file = Layout(path).ledger
    if not file.is_file():
        return None
    with closing(Ledger(file, read_only=True)) as ledger:
        return ledger.fact(FACT)
