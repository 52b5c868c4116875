"""How `kb build` is wired: a source, what is chosen of it, and the profile's encoders become one call of `kb.build`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cli.config import Settings
from cli.order import BuildOrder
from cli.wiring import load_encoders
from data.errors import BadInput, SourceError
from data.records import LeftOut, PageRef, Progress, Status, Taxon, Term

if TYPE_CHECKING:
    from data.contracts import ArticleSource, TaxonSource  # numpy is behind it
    from kb.wikipedia_source import WikipediaSource

Located = tuple[Taxon | str, PageRef | LeftOut]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a source is asked for: taxa to look up, or pages that are known (`located`, named by `selection`)."""

    source: ArticleSource
    taxa: Sequence[Taxon] = ()
    located: Iterable[Located] | None = None
    selection: str = ""
    terms: Sequence[Term | tuple[str, str | None]] = ()
    unknown: Sequence[LeftOut] = ()
    """Names of a CSV file that the checklist does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build left behind and what it cost."""

    path: Path
    status: Status
    n_requests: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a build would take in; nothing was written."""

    path: Path
    source: str
    n_taxa: int
    n_pages: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    n_requests: int | None = None


def built(order: BuildOrder, settings: Settings, path: Path, progress: Callable[[Progress], None]) -> Built:
    """Build what was ordered, and return what is there now.

    Raises:
        SourceError: if the source gave nothing at all, for failures alone.
    """
    import kb

    choice = _choose(order, settings)
    status = kb.build(
        path,
        choice.taxa,
        choice.source,
        load_encoders(settings.profile),
        terms=choice.terms,
        located=choice.located,
        selection=choice.selection,
        limit=order.limit,
        only=order.only,
        progress=progress,
    )
    if status.failures and not status.articles:
        first = status.failures[0]
        raise SourceError(f"{choice.source.name} gave nothing: {first.taxon}: {first.reason}")
    return Built(path=path, status=status, n_requests=_requests(choice.source))


def planned(order: BuildOrder, settings: Settings, path: Path) -> Plan:
    """Return what a build would take in; pages are looked up, no body is fetched, nothing is written."""
    choice = _choose(order, settings)
    located = choice.located if choice.located is not None else choice.source.locate(choice.taxa)
    n_taxa, n_pages = 0, 0
    reasons: Counter[str] = Counter()
    for _, place in located:
        n_taxa += 1
        if isinstance(place, LeftOut):
            reasons[place.reason] += 1
        else:
            n_pages += 1
            if n_pages == order.limit:
                break
    return Plan(
        path=path,
        source=choice.source.name,
        n_taxa=n_taxa,
        n_pages=n_pages,
        left_out=dict(reasons),
        n_requests=_requests(choice.source),
    )


def _choose(order: BuildOrder, settings: Settings) -> Choice:
    if order.kind == "starter":
        return _from_starter(order)
    from kb.taxa import load_checklist

    checklist = load_checklist()
    terms: Sequence[tuple[str, str | None]] = ()
    if order.terms is not None:
        from kb.terms import read_terms

        terms = read_terms(order.terms)
    if order.kind == "folder":
        from kb.folder_source import FolderSource

        source: ArticleSource = FolderSource(order.folder or Path())
        return Choice(source=source, taxa=_taxa(order, checklist), terms=terms)
    from kb.wikipedia_source import WikipediaSource

    wiki = WikipediaSource(
        settings.api_url,
        contact=settings.contact,
        language=settings.language,
        allow_any_licence=settings.licences == "any",
    )
    if order.list_page is None and order.category is None:
        return Choice(source=wiki, taxa=_taxa(order, checklist), terms=terms)
    titles = wiki.titles_in_list(order.list_page) if order.list_page else wiki.titles_in_category(order.category or "")
    located = _matched(wiki, titles, checklist, below=_below(order, checklist))
    # Named by its titles: a list that has grown is another selection, the same list is not matched twice.
    return Choice(source=wiki, located=located, selection=repr((titles, order.taxa)), terms=terms)


def _from_starter(order: BuildOrder) -> Choice:
    from kb.starter_source import StarterSource
    from kb.taxa import load_checklist

    source = StarterSource()
    below = _below(order, load_checklist()) if order.taxa else None
    taxa = [taxon for taxon in source.taxa() if below is None or taxon.taxon_id in below]
    if not taxa:
        raise BadInput(f"the starter knowledge has nothing of {', '.join(order.taxa)}")
    return Choice(source=source, taxa=taxa, terms=source.terms())


def _taxa(order: BuildOrder, checklist: TaxonSource) -> list[Taxon]:
    """Return the species that the names of a file or the taxa, or both, choose."""
    from kb.selection import read_names, select

    if order.names is None:
        # A folder offers what it has: the source says for each bird of the world whether it does.
        return list(dict.fromkeys(taxon for name in order.taxa or ("Aves",) for taxon in select(checklist, name)))
    below = _below(order, checklist)
    return [taxon for taxon in read_names(order.names, checklist) if below is None or taxon.taxon_id in below]


def _below(order: BuildOrder, checklist: TaxonSource) -> frozenset[str] | None:
    """Return the ids of all species below the taxa; None where no taxon narrows the choice."""
    from kb.selection import select

    if not order.taxa:
        return None
    return frozenset(taxon.taxon_id for name in order.taxa for taxon in select(checklist, name))


def _matched(
    wiki: WikipediaSource, titles: Sequence[str], checklist: TaxonSource, *, below: frozenset[str] | None
) -> Iterator[Located]:
    from kb.reasons import NOT_ASKED_FOR

    for title, match in wiki.match_titles(titles, checklist):
        if isinstance(match, LeftOut):
            yield title, match
        elif below is None or match[0].taxon_id in below:
            yield match
        else:
            yield title, LeftOut(name=title, reason=NOT_ASKED_FOR)


def _requests(source: ArticleSource) -> int | None:
    client = getattr(source, "client", None)
    return getattr(client, "requests_made", None)
