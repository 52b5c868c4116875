"""How `kb build` is wired: a source, what is chosen of it, and the profile's encoders become one call of `kb.build`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common.config import Settings
from cli.common.models import Distilling, chosen_distiller, estimate_fields, usage_fields
from cli.common.wiring import load_encoders
from cli.verbs.build.order import BuildOrder
from data.errors import BadInput, CostStop, FieldmarkError, SourceError
from data.records import LeftOut, PageRef, Progress, Status, Taxon, Term

if TYPE_CHECKING:
    from data.contracts import ArticleSource, TaxonSource  # numpy is behind it
    from kb.sources.mediawiki.source import WikipediaSource

Located = tuple[Taxon | str, PageRef | LeftOut]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a source is asked for: taxa to look up, or pages that are known (`located`, named by `selection`)."""

    source: ArticleSource
    taxa: Sequence[Taxon] = ()
    located: Iterable[Located] | None = None
    selection: str = ""
    terms: Sequence[Term | tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build left behind and what it cost."""

    path: Path
    status: Status
    n_requests: int | None = None
    model: Mapping[str, object] = field(default_factory=dict)
    """What was asked of a language model, as lines of the report."""
    stopped: CostStop | None = None
    """What ended the distilling before its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a build would take in; nothing was written."""

    path: Path
    source: str
    n_taxa: int
    n_pages: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    n_requests: int | None = None
    model: Mapping[str, object] = field(default_factory=dict)
    """What would be asked of a language model, as lines of the report."""


def built(order: BuildOrder, settings: Settings, path: Path, progress: Callable[[Progress], None]) -> Built:
    """Build what was ordered, and return what is there now.

    A knowledge base that is there keeps its profile.

    Raises:
        SourceError: if the wiki gave nothing at all.
        UsageError: if the knowledge base is of another profile than the one asked for.
        BadInput: if the folder did.
    """
    import kb
    from kb.pipeline.builder import profile_to_build

    encoders = load_encoders(profile_to_build(path, settings.profile))
    with ExitStack() as stack:
        distilling = stack.enter_context(
            chosen_distiller(settings, path, max_cost=order.max_cost, offline=order.is_offline)
        )
        choice = _choose(order, settings, stack, anchor_spaces=encoders.anchor_spaces)
        stopped: CostStop | None = None
        try:
            status = kb.build(
                path,
                choice.taxa,
                choice.source,
                encoders,
                terms=choice.terms,
                located=choice.located,
                selection=choice.selection,
                limit=order.limit,
                only=order.only,
                distiller=distilling.distiller,
                chroma=order.chroma_address,
                progress=progress,
            )
        except CostStop as error:
            stopped = error
            with kb.open(path) as store:
                status = store.status()
        model = usage_fields(distilling)
    if not status.species and order.only is None and stopped is None:
        raise _nothing(order, choice.source.name, status)
    return Built(path=path, status=status, n_requests=choice.source.n_requests or None, model=model, stopped=stopped)


def _nothing(order: BuildOrder, source: str, status: Status) -> FieldmarkError:
    if status.failures:
        first = status.failures[0]
        return SourceError(f"{source} gave nothing: {first.taxon}: {first.stage}: {first.reason}")
    reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(status.left_out.items()))
    kind = BadInput if order.kind == "folder" else SourceError
    return kind(f"{source} has nothing of what was asked for", hint=f"left out: {reasons}" if reasons else None)


def planned(order: BuildOrder, settings: Settings, path: Path) -> Plan:
    """Return what a build would take in; pages are looked up, no body is fetched, nothing is written."""
    with ExitStack() as stack:
        choice = _choose(order, settings, stack)
        located = choice.located if choice.located is not None else choice.source.locate(choice.taxa)
        n_taxa, n_pages = 0, 0
        reasons: Counter[str] = Counter()
        for subject, place in located:
            n_taxa += isinstance(subject, Taxon)
            if isinstance(place, LeftOut):
                reasons[place.reason] += 1
            else:
                n_pages += 1
                if n_pages == order.limit:
                    break
        distilling = stack.enter_context(
            chosen_distiller(settings, path, max_cost=order.max_cost, offline=order.is_offline, is_dry_run=True)
        )
        model = _estimated(distilling, path, choice.source, n_pages)
    return Plan(
        path=path,
        source=choice.source.name,
        n_taxa=n_taxa,
        n_pages=n_pages,
        left_out=dict(reasons),
        n_requests=choice.source.n_requests or None,
        model=model,
    )


def _estimated(distilling: Distilling, path: Path, source: ArticleSource, n_pages: int) -> Mapping[str, object]:
    from kb.distill.model import ModelDistiller
    from kb.pipeline.estimate import estimate_distilling

    if distilling.chat is None or not isinstance(distilling.distiller, ModelDistiller):
        return {}
    return estimate_fields(
        estimate_distilling(path, source, distilling.distiller, distilling.chat.endpoint, n_pages=n_pages)
    )


def _choose(order: BuildOrder, settings: Settings, stack: ExitStack, *, anchor_spaces: Sequence[str] = ()) -> Choice:
    """Return what is asked of which source; a name that nobody knows fails before any wiki is asked."""
    if order.kind == "starter":
        return _from_starter(order, anchor_spaces)
    from kb.checklist.avilist import load_checklist
    from kb.distill.terms import read_terms

    checklist = load_checklist()
    terms = read_terms(order.terms) if order.terms is not None else ()
    if order.list_page is not None or order.category is not None:
        below = _below(order, checklist)
        wiki = _wiki(settings, stack)
        chosen = order.list_page, order.category
        titles = wiki.titles_in_list(chosen[0]) if chosen[0] else wiki.titles_in_category(chosen[1] or "")
        located: Iterable[Located] = _matched(wiki, titles, checklist, below=below)
        # Named by its titles: a list that has grown is another selection, the same list is not matched twice.
        return Choice(source=wiki, located=located, selection=repr((titles, order.taxa)), terms=terms)
    taxa, unknown = _taxa(order, checklist)
    selection = " ".join([*(taxon.taxon_id for taxon in taxa), *(item.name for item in unknown)])
    if order.kind == "folder":
        from kb.sources.folder import FolderSource

        folder = FolderSource(order.folder or Path())
        source: ArticleSource = folder
        # Of each folder, and not of each bird of the world, a user wants to know why it was left out.
        birds = checklist.find("Aves")
        known = [*taxa, *(checklist.species_of(birds) if birds is not None else ())]
        strangers = folder.unclaimed(known)
        located = chain(source.locate(taxa), _as_located([*unknown, *strangers]))
    else:
        source = wiki = _wiki(settings, stack)
        located = chain(_looked_up(wiki, taxa, checklist), _as_located(unknown))
    return Choice(source=source, located=located, selection=selection, terms=terms)


def _wiki(settings: Settings, stack: ExitStack) -> WikipediaSource:
    from kb.sources.mediawiki.source import WikipediaSource

    wiki = WikipediaSource(
        settings.api_url,
        contact=settings.contact,
        language=settings.language,
        allow_any_licence=settings.licences == "any",
    )
    stack.callback(wiki.close)
    return wiki


def _from_starter(order: BuildOrder, spaces: Sequence[str]) -> Choice:
    from kb.checklist.avilist import load_checklist
    from kb.sources.starter import StarterSource

    source = StarterSource(spaces=spaces)
    below = _below(order, load_checklist()) if order.taxa else None
    taxa = [taxon for taxon in source.taxa() if below is None or taxon.taxon_id in below]
    if not taxa:
        raise BadInput(f"the starter knowledge has nothing of {', '.join(order.taxa)}")
    return Choice(source=source, taxa=taxa, terms=source.terms())


def _taxa(order: BuildOrder, checklist: TaxonSource) -> tuple[list[Taxon], Sequence[LeftOut]]:
    """Return the species that a file of names or the taxa, or both, choose, and the names that the checklist lacks."""
    from kb.checklist.selection import read_names, select

    if order.names is None:
        # A folder offers what it has: of each bird of the world the source says whether it does.
        chosen = {taxon.taxon_id: taxon for name in order.taxa or ("Aves",) for taxon in select(checklist, name)}
        return list(chosen.values()), ()
    names = read_names(order.names, checklist)
    below = _below(order, checklist)
    return [taxon for taxon in names.taxa if below is None or taxon.taxon_id in below], names.left_out


def _below(order: BuildOrder, checklist: TaxonSource) -> frozenset[str] | None:
    """Return the ids of all species below the taxa; None where no taxon narrows the choice."""
    from kb.checklist.selection import select

    if not order.taxa:
        return None
    return frozenset(taxon.taxon_id for name in order.taxa for taxon in select(checklist, name))


def _looked_up(wiki: WikipediaSource, taxa: Sequence[Taxon], checklist: TaxonSource) -> Iterator[Located]:
    """Yield the page of each taxon, then the pages of a small wiki that are no species', each with the reason."""
    yield from wiki.locate(taxa)
    yield from _as_located(wiki.unclaimed(checklist))


def _as_located(left_out: Iterable[LeftOut]) -> Iterator[Located]:
    return ((item.name, item) for item in left_out)


def _matched(
    wiki: WikipediaSource, titles: Sequence[str], checklist: TaxonSource, *, below: frozenset[str] | None
) -> Iterator[Located]:
    """Yield what each title stands for, but for species that are not below the taxa: nobody asked for those."""
    for title, match in wiki.match_titles(titles, checklist):
        if isinstance(match, LeftOut):
            yield title, match
        elif below is None or match[0].taxon_id in below:
            yield match
