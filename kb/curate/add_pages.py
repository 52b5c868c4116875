"""Addition of pages of the web, or local documents, to a species or term."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from data.contracts import Encoders
from data.errors import BadInput, SourceError
from data.records import Added, Article, FetchedPage, LeftOut, PageRef, Taxon
from kb.curate.add import OwnPhoto, OwnText, require_shown, shown_in, store_addition, with_relatives
from kb.distill.distillers import AnyDistiller, AsyncDistiller
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.terms import term_from_article, term_id
from kb.pipeline.builder import build
from kb.pipeline.selection import held_species
from kb.sources.web_pages import WebSource, page_of
from kb.store.layout import Layout
from kb.store.ledger import Ledger, ledger_so_far


def add_pages(
    path: str | Path,
    subject: Taxon | str,
    addresses: Sequence[str],
    source: WebSource,
    encoders: Encoders,
    *,
    texts: Sequence[OwnText] = (),
    photos: Sequence[OwnPhoto] = (),
    distiller: AnyDistiller | None = None,
) -> Added:
    """Add pages to a species or term, with the user's own texts and photos, and return the result.

    Every page is read before anything is written. `kb.update` checks them for changes.

    Args:
        path: the knowledge base; created if it does not exist.
        subject: a species, of any checklist or none, or the name of a term.
        addresses: web addresses, or paths of .html, .txt, .md or .pdf files.
        source: reads the pages.
        encoders: the encoders of the knowledge base.
        texts: further descriptions, as in `add`.
        photos: photos, as in `add`.
        distiller: that of the knowledge base, if it needs a model.

    Raises:
        BadInput: if a page does not exist, may not be read, or says nothing on looks; nothing is added then.
        SourceError: if a page does not arrive; nothing is added then.
        StoreError: if a lost photo of the species keeps it as it was; the addition is kept.
        MissingDependency: without the extra `web`.
    """
    key = term_id(subject) if isinstance(subject, str) else subject.taxon_id
    pages = list({page.subject_id: page for page in (page_of(key, address) for address in addresses)}.values())
    articles = _read(source, pages)
    if isinstance(subject, Taxon):
        subject = with_relatives(subject, held_species(Path(path)))
    _check(subject, articles, distiller)
    held = _held(Path(path))
    if texts or photos or isinstance(subject, Taxon):  # a name alone lets a removed species in again
        added = store_addition(path, subject, encoders, texts=texts, photos=photos)
    else:
        added = Added(subject_id=key, name=subject, is_new=key not in held)
    build(
        path,
        (),
        source,
        encoders,
        terms=[(subject, page.title) for page in pages] if isinstance(subject, str) else (),
        located=[(subject, page) for page in pages] if isinstance(subject, Taxon) else (),
        selection=f"pages {' '.join(page.subject_id for page in pages)}",
        distiller=distiller,
    )
    with closing(Ledger(Layout(Path(path)).ledger, read_only=True)) as ledger:
        _, text, n_anchors = shown_in(ledger, key)
        failed = {step.subject_id: step.error for step in ledger.steps("distil").values() if step.status == "failed"}
    lost = [failed[page.subject_id] for page in pages if page.subject_id in failed]
    if lost:
        raise SourceError(f"{pages[0].title}: {lost[0]}", hint="The page is stored; kb update tries again.")
    require_shown(Path(path), encoders, added)
    return replace(
        added,
        is_new=key not in held,
        new_pages=sum(page.subject_id not in held for page in pages),
        text=text,
        anchors=n_anchors,
    )


def _read(source: WebSource, pages: Sequence[PageRef]) -> list[Article]:
    found = []
    for page, fetched in source.fetch(pages):
        if isinstance(fetched, LeftOut):
            raise BadInput(f"{page.title}: {fetched.reason} ({fetched.detail})", hint="Nothing was added.")
        if not isinstance(fetched, FetchedPage):
            raise SourceError(f"{page.title}: {fetched.reason}", hint="Nothing was added.")
        source.keep(fetched)
        found.append(source.parse(fetched))
    return found


def _check(subject: Taxon | str, articles: Sequence[Article], distiller: AnyDistiller | None) -> None:
    """Check that each page describes the species or defines the term, where that costs nothing."""
    for article in articles:
        if isinstance(subject, str):
            is_useful = term_from_article(subject, article) is not None
        else:
            extractive = ExtractiveDistiller()
            is_useful = isinstance(distiller, AsyncDistiller) or extractive.distil(article, subject) is not None
        if not is_useful:
            verb, name = ("defines", subject) if isinstance(subject, str) else ("describes", subject.common_name)
            raise BadInput(f"{article.source.url}: no sentence {verb} {name}.", hint="Nothing was added.")


def _held(path: Path) -> set[str]:
    with ledger_so_far(Layout(path).ledger) as ledger:
        if ledger is None:
            return set()
        return {*(entry.subject_id for entry in ledger.entries()), *ledger.subjects("page")}
