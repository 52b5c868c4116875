"""Texts that the evidence of a published species points into.

A build, an update or an addition changes the results of stages long before it publishes new entries; until then
readers see the old entries, and evidence must be read from the old texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from data.codec import dumps, loads
from kb.store.additions import STAGE, AddedText, Addition, held_pages, with_pages
from kb.store.layout import Layout
from kb.store.ledger import Ledger, Step
from kb.store.stage_outputs import DistilOutput

TEXTS = "texts"
"""Name of the results, in the ledger's table of stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTexts:
    """The texts of a species: added by the user, from web pages, and the hash of that of the article."""

    texts: tuple[AddedText, ...] = ()
    article: str | None = None


def texts_now(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_id: str
) -> PublishedTexts:
    """Return the texts of a species by the present results of the stages; `pages` are those of all species."""
    added = ledger.outputs(STAGE, Addition, ids=[taxon_id]).get(taxon_id, Addition())
    output = ledger.outputs("distil", DistilOutput, ids=[taxon_id]).get(taxon_id, DistilOutput())
    texts = with_pages(added, pages.get(taxon_id, {}), layout).texts
    return PublishedTexts(texts=tuple(replace(text, summary=None) for text in texts), article=output.text_sha256)


def note_texts(
    layout: Layout, ledger: Ledger, pages: Mapping[str, Mapping[str, DistilOutput]], taxon_ids: Iterable[str]
) -> None:
    """Record the present texts of species, in the transaction that publishes their entries."""
    ledger.record(
        Step(subject_id=key, stage=TEXTS, fingerprint="", output=dumps(texts_now(layout, ledger, pages, key)))
        for key in taxon_ids
    )


def texts_of(layout: Layout, ledger: Ledger, taxon_id: str) -> PublishedTexts:
    """Return the texts of a published species; those of the stages where a text was lost, until the next build."""
    if (step := ledger.step(taxon_id, TEXTS)) is not None and step.output is not None:
        return loads(PublishedTexts, step.output)
    return texts_now(layout, ledger, held_pages(ledger), taxon_id)
