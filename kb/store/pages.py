"""Pages of the web that belong to a species or term: subjects of their own in the ledger.

A page adds to the text of its species: its summary comes after the user's own texts and before that of the article.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from data.batches import grouped
from data.records import LeftOut, Term
from kb import reasons
from kb.sources.page_keys import owner_of
from kb.store.additions import AddedText, Addition
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import DistilOutput

READ = 500  # pages at a time


def held_pages(ledger: Ledger) -> dict[str, dict[str, DistilOutput]]:
    """Return species or term -> its distilled pages by id; a page that is gone does not count."""
    pages = ledger.subject_names("page")
    found: dict[str, dict[str, DistilOutput]] = {}
    for group in grouped(pages, READ):
        fetched = ledger.steps_of(group, "fetch")
        for key, output in ledger.outputs_of(group, "distil", DistilOutput).items():
            if key not in fetched or fetched[key].status != "left-out":
                found.setdefault(owner_of(key), {})[key] = output
    return found


def note_empty_pages(ledger: Ledger) -> None:
    """Report pages that were distilled to nothing as left out, until they say something."""
    if not (names := ledger.subject_names("page")):
        return
    noted = {name for name, reason, _ in ledger.left_out() if reason == reasons.NO_DESCRIPTION}
    with ledger.transaction():
        for pages in held_pages(ledger).values():
            for key, output in pages.items():
                if output.summary is None and output.term is None:
                    ledger.set_left_out([LeftOut(name=names[key], reason=reasons.NO_DESCRIPTION)])
                elif names[key] in noted:
                    ledger.drop_left_out([names[key]])


def with_pages(addition: Addition, pages: Mapping[str, DistilOutput], layout: Layout) -> Addition:
    """Return an addition with the texts of pages after its own; pages without a summary add nothing.

    Raises:
        StoreError: if a text is missing or damaged.
    """
    texts = []
    for output in pages.values():
        if output.summary is not None and output.text_sha256 is not None and output.source is not None:
            length = len(layout.articles.read(output.text_sha256).decode())
            texts.append(
                AddedText(sha256=output.text_sha256, length=length, source=output.source, summary=output.summary)
            )
    return replace(addition, texts=(*addition.texts, *texts))


def page_term(pages: Mapping[str, DistilOutput]) -> Term | None:
    """Return the term that the first page with a definition gives, or None."""
    return next((output.term for output in pages.values() if output.term is not None), None)
