"""Changes of known pages: newest revisions requested in batches, changed pages matched again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from data.records import Failure, LeftOut, PageRef, Taxon
from kb import reasons
from kb.checklist.names import fold
from kb.sources.article_source import left_out
from kb.sources.mediawiki.locate import Locator, assign, candidates, merged, page_ref
from kb.sources.mediawiki.wiki_pages import WikiPage, WikiPages

KnownPage = tuple[Taxon | str, PageRef]


def newest_pages(
    pages: WikiPages, locator: Locator, known: Sequence[KnownPage]
) -> Iterator[tuple[Taxon | str, PageRef | LeftOut | Failure]]:
    """Yield the current page of each `(taxon or term, its page so far)`, in this order.

    Revisions are requested for all titles, 50 per request; pages with the same revision need no more. Changed, moved
    and missing pages are matched with their taxa as in a build, so that an update and a fresh build agree: first the
    page under the old title, then a look-up of the names.

    Raises:
        SourceError: if the wiki is not available.
    """
    current = pages.look_up([ref.title for _, ref in known], with_clues=False)
    same = [i for i, (_, ref) in enumerate(known) if _is_same(ref, current.get(ref.title))]
    result: dict[int, PageRef | LeftOut] = {i: known[i][1] for i in same}
    changed = [i for i in range(len(known)) if i not in result]
    unchanged_titles = {known[i][1].title for i in same}
    for i in changed:
        subject, ref = known[i]
        if isinstance(subject, str):
            result[i] = _newest_term(locator, subject, ref, current.get(ref.title))
    result |= _newest_taxa(pages, locator, {i: known[i] for i in changed if i not in result}, current, unchanged_titles)
    for i, (subject, _) in enumerate(known):
        yield subject, result[i]


def _is_same(ref: PageRef, page: WikiPage | None) -> bool:
    return (
        page is not None
        and page.title == ref.title
        and page.revision == ref.revision
        and not page.clues.is_disambiguation
    )


def _newest_taxa(
    pages: WikiPages,
    locator: Locator,
    known: dict[int, KnownPage],
    current: dict[str, WikiPage],
    unchanged_titles: set[str],
) -> dict[int, PageRef | LeftOut]:
    """Return position -> page or reason for taxa with changed pages; no taxon gets an unchanged page of another."""
    taxa = {i: subject for i, (subject, _) in known.items() if isinstance(subject, Taxon)}
    order = list(taxa)
    existing = [known[i][1].title for i in order if known[i][1].title in current]
    looked_up = merged(pages.look_up(existing)) if existing else []
    articles = [page for page in looked_up if page.namespace == 0 and page.title not in unchanged_titles]
    matched = assign([taxa[i] for i in order], candidates([taxa[i] for i in order], articles))
    found = {order[k]: page for k, page in matched.items() if isinstance(page, WikiPage)}
    result: dict[int, PageRef | LeftOut] = {i: page_ref(taxa[i], page) for i, page in found.items()}
    taken = unchanged_titles | {page.title for page in found.values()}
    unmatched = [i for i in order if i not in result]
    for i, (taxon, place) in zip(unmatched, locator.locate([taxa[i] for i in unmatched]), strict=True):
        if isinstance(place, PageRef) and place.title in taken:
            place = left_out(taxon, reasons.DUPLICATE, place.title)
        elif isinstance(place, PageRef):
            taken.add(place.title)
        result[i] = place
    return result


def _newest_term(locator: Locator, name: str, ref: PageRef, page: WikiPage | None) -> PageRef | LeftOut:
    if page is not None and not page.clues.is_disambiguation and page.namespace == 0:
        return PageRef(subject_id=ref.subject_id, title=page.title, revision=page.revision)
    title = None if fold(ref.title) == fold(name) else ref.title
    [(_, place)] = locator.locate_terms([(name, title)])
    return place
