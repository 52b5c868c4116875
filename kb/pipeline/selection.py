"""Selection: the species, pages and terms that a build takes in, with the profile and checklist that suit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.codec import loads
from data.contracts import Checklist
from data.errors import BadInput, SourceError, UnknownTaxon
from data.records import LeftOut, PageRef, Status, Taxon, Term
from kb import reasons
from kb.checklist.avilist import AVILIST_NAME, is_bird, load_checklist, profile_for
from kb.checklist.names import fold
from kb.checklist.names_table import names_in, read_names
from kb.checklist.selection import is_binomial, limits_of, own_taxon, select, species_ids
from kb.checklist.shelf import checklist_of_species, name_of_file
from kb.checklist.wiki_checklist import WIKI, WikiChecklist, WithTaxoboxes
from kb.distill.terms import read_terms
from kb.pipeline.stages.resolve import Located
from kb.sources.article_source import ArticleSource
from kb.sources.folder import FolderSource
from kb.sources.mediawiki.locate import with_group_articles, with_title
from kb.sources.starter import StarterSource
from kb.store.layout import Layout
from kb.store.ledger import ledger_so_far

if TYPE_CHECKING:
    from kb.sources.mediawiki.wiki_source import WikipediaSource
    from kb.sources.web_pages import WebSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Source, species and terms of a build."""

    source: ArticleSource
    located: Iterable[Located]
    """Species and their pages, looked up on iteration."""
    name: str
    """Identifies `located`, so that a resumed build does not repeat the look-up."""
    terms: Sequence[Term | tuple[str, str | None]] = ()
    checklist: Checklist | None = None
    """The checklist that gave the species."""
    named: tuple[Taxon, ...] = ()
    """All species of a table of names, those without a page too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The size of a selection: taxa, pages found, and names left out by reason."""

    n_taxa: int
    n_pages: int
    left_out: Mapping[str, int]


def select_shipped(taxa: Sequence[str] = (), *, spaces: Sequence[str] = ()) -> Selection:
    """Return the shipped species below the taxa (all without taxa), with vectors in the encoder spaces.

    Raises:
        UnknownTaxon: for a name that is not in the checklist.
        BadInput: if no shipped species lies below the taxa.
    """
    source = StarterSource(spaces=spaces)
    checklist = load_checklist()
    below = _below(taxa, checklist)
    chosen = [taxon for taxon in source.taxa() if below is None or taxon.taxon_id in below]
    if not chosen:
        raise BadInput(f"The shipped knowledge has no species of {', '.join(taxa)}.")
    return Selection(
        source=source, located=source.locate(chosen), name=_name(chosen), terms=source.terms(), checklist=checklist
    )


def select_from_folder(
    folder: Path,
    taxa: Sequence[str] = (),
    *,
    names: Path | None = None,
    terms: Path | None = None,
    checklist: Checklist | None = None,
) -> Selection:
    """Return the species of a folder of articles, narrowed by taxa and by the names in a file.

    Raises:
        UnknownTaxon: for a taxon that is not in the checklist.
        BadInput: for a file that cannot be read.
    """
    checklist = checklist or load_checklist()
    source = FolderSource(folder)
    named = source.match(checklist)
    if taxa or names is not None or checklist.group:
        chosen, unknown = _species(checklist, taxa, names)
    else:  # a checklist of any group has millions of species
        chosen, unknown = named, ()
    # Folders without a species are reported, but not all species without a folder.
    birds = checklist.find("Aves") if checklist.group else None
    others = named if birds is None else checklist.species_of(birds)
    unclaimed = source.unclaimed([*chosen, *others])
    lacking = reasons.NO_FOLDER if taxa else reasons.UNASKED
    found = source.locate(chosen) if names is not None else _of_group(source, chosen, lacking)
    return Selection(
        source=source,
        located=chain(found, _as_located([*unknown, *unclaimed])),
        name=_name(chosen, unknown),
        terms=read_terms(terms) if terms is not None else (),
        checklist=checklist,
        named=tuple(chosen) if names is not None else (),
    )


def select_from_wiki(
    open_wiki: Callable[[], WikipediaSource],
    taxa: Sequence[str] = (),
    *,
    list_page: str | None = None,
    category: str | None = None,
    names: Path | None = None,
    terms: Path | None = None,
    checklist: Checklist | None = None,
) -> Selection:
    """Return the pages of a list page, a category or a file of names, narrowed by taxa, or all species below the taxa.

    The wiki is opened after all names are checked. With a `WikiChecklist` the pages state their species themselves;
    with `WithTaxoboxes`, pages of species outside the checklist do.

    Raises:
        UnknownTaxon: for a taxon that is not in the checklist.
        BadInput: for a file that cannot be read.
    """
    checklist = checklist or load_checklist()
    known_terms = read_terms(terms) if terms is not None else ()
    is_stated = isinstance(checklist, WikiChecklist)

    def opened() -> WikipediaSource:
        wiki = open_wiki()
        wiki.leaves_out_birds = isinstance(checklist, WithTaxoboxes) and bool(checklist.listed.group)
        return wiki

    if is_stated or list_page is not None or category is not None:
        below = None if is_stated else _below(taxa, checklist)
        wiki = opened()
        named, limits = (names, taxa) if is_stated else (None, ())
        titles = _titles(wiki, limits, list_page=list_page, category=category, names=named)
        located = _matched(wiki, titles, checklist, below=below)
        if named is not None:
            located = _with_groups_of_names(located, wiki, checklist)
        # Named by its titles: a list that has grown is another selection, the same list is not matched twice.
        name = repr((titles, tuple(taxa)))
        return Selection(source=wiki, located=located, name=name, terms=known_terms, checklist=checklist)
    chosen, unknown = _species(checklist, taxa, names)  # all, if no stage resolves
    wiki = opened()
    others = _unlisted(wiki, unknown, checklist)
    located = chain(
        with_group_articles(wiki.locate(chosen), wiki, checklist),
        (each for each in others if not taxa or _may_be_below(each[0], taxa)),
        _unclaimed(wiki, checklist) if names is None else (),
    )
    return Selection(
        source=wiki,
        located=located,
        name=_name(chosen, unknown),
        terms=known_terms,
        checklist=checklist,
        named=tuple(chosen) if names is not None else (),
    )


def select_pages(
    table: Path, path: Path, open_web: Callable[[], WebSource], *, checklist: Checklist | None = None
) -> Selection:
    """Return the pages in a table for species and terms of the knowledge base at `path`, or of the checklist."""
    from kb.pipeline.page_list import read_pages

    checklist = checklist or load_checklist()
    listed = read_pages(table, checklist, held_species(path))
    return Selection(
        source=open_web(),
        located=chain(listed.pages, _as_located(listed.left_out)),
        name=" ".join(["pages", *(page.subject_id for _, page in listed.pages)]),
        terms=listed.terms,
        checklist=checklist,
    )


def preview(selection: Selection, *, limit: int | None = None) -> Preview:
    """Return the size of a selection, up to `limit` pages: pages are looked up, none is fetched, nothing is written."""
    n_taxa, n_pages = 0, 0
    left_out: Counter[str] = Counter()
    for subject, place in selection.located:
        n_taxa += isinstance(subject, Taxon)
        if isinstance(place, LeftOut):
            left_out[place.reason] += 1
        else:
            n_pages += 1
            if n_pages == limit:
                break
    return Preview(n_taxa=n_taxa, n_pages=n_pages, left_out=dict(left_out))


def held_species(path: Path) -> list[Taxon]:
    """Return the species of the knowledge base at `path`; none if there is none."""
    with ledger_so_far(Layout(path).ledger) as ledger:
        records = {} if ledger is None else ledger.subjects("taxon")
        return [loads(Taxon, record) for record in records.values()]


def require_species(status: Status, selection: Selection) -> None:
    """Check that a build found something.

    Raises:
        SourceError: if the wiki gave nothing; BadInput: if the folder did. Both give the reasons.
    """
    if status.species:
        return
    source = selection.source.name
    if status.failures:
        first = status.failures[0]
        raise SourceError(f"No species from {source}. First failure: {first.taxon}: {first.stage}: {first.reason}")
    counts = ", ".join(f"{reason} {n:,}" for reason, n in sorted(status.left_out.items()))
    hints = [f"Left out: {counts}"] if counts else []
    if reasons.NOT_IN_CHECKLIST in status.left_out:
        hints += filter(None, [limits_of(selection.checklist) if selection.checklist else ""])
    error = BadInput if isinstance(selection.source, FolderSource) else SourceError
    raise error(f"None of the requested species were found in {source}.", hint=". ".join(hints) or None)


def _species(checklist: Checklist, taxa: Sequence[str], names: Path | None) -> tuple[list[Taxon], Sequence[LeftOut]]:
    """Return the species of a file of names that lie below the taxa, or all below them, and the unknown names."""
    if names is None:
        below = (taxon for name in taxa or ("Aves",) for taxon in select(checklist, name))
        return list({taxon.taxon_id: taxon for taxon in below}.values()), ()
    listed = read_names(names, checklist, may_be_empty=isinstance(checklist, WithTaxoboxes))
    return _narrowed(listed.taxa, taxa, checklist), listed.left_out


def _narrowed(species: Sequence[Taxon], taxa: Sequence[str], checklist: Checklist) -> list[Taxon]:
    """Return the species of a table below one of the taxa, by its own columns or the checklist; all without taxa."""
    ids: set[str] = set()
    for name in taxa:
        own = {taxon.taxon_id for taxon in species if _is_below(taxon, name)}
        try:
            ids |= own | set(species_ids(checklist, name))
        except UnknownTaxon as unlisted:
            if not own:
                where = f"{checklist.name}, nor in a row of the table"
                raise UnknownTaxon(name, suggestions=unlisted.suggestions, where=where) from None
            ids |= own
    return [taxon for taxon in species if not taxa or taxon.taxon_id in ids]


def _is_below(taxon: Taxon, name: str) -> bool:
    return fold(name) in map(fold, (taxon.scientific_name, *taxon.lineage.values()))


def _may_be_below(subject: Taxon | str, taxa: Sequence[str]) -> bool:
    return isinstance(subject, str) or any(_is_below(subject, name) for name in taxa)


def _titles(
    wiki: WikipediaSource, taxa: Sequence[str], *, list_page: str | None, category: str | None, names: Path | None
) -> list[str]:
    if list_page is None and category is None and names is None:
        return list(dict.fromkeys(title for taxon in taxa for title in wiki.titles_below(taxon)))
    for taxon in taxa:
        wiki.limit_to(taxon)
    if names is not None:
        return names_in(names)
    return wiki.titles_in_list(list_page) if list_page is not None else wiki.titles_in_category(category or "")


def _below(taxa: Sequence[str], checklist: Checklist) -> frozenset[str] | None:
    """Return the ids of all species below the taxa; None without taxa."""
    if not taxa:
        return None
    return frozenset(each for name in taxa for each in species_ids(checklist, name))


def _name(taxa: Sequence[Taxon], unknown: Sequence[LeftOut] = ()) -> str:
    return " ".join([*(taxon.taxon_id for taxon in taxa), *(item.name for item in unknown)])


def _unclaimed(wiki: WikipediaSource, checklist: Checklist) -> Iterator[Located]:
    """Yield the pages of a small wiki on none of the taxa; of other groups than birds, only those on a species."""
    for item in wiki.unclaimed(checklist):  # complete once the species are located
        if checklist.group or item.reason != reasons.NOT_A_SPECIES:
            yield item.name, item


def _unlisted(wiki: WikipediaSource, unknown: Sequence[LeftOut], checklist: Checklist) -> Iterator[Located]:
    """Yield the species of names that the checklist lacks, by the taxoboxes of their pages where it may."""
    if not isinstance(checklist, WithTaxoboxes):
        yield from _as_located(unknown)
        return
    lacking = {item.name: item for item in unknown if item.reason == reasons.NOT_IN_CHECKLIST}
    yield from _as_located(item for item in unknown if item.name not in lacking)
    named = _with_groups_of_names(_matched(wiki, list(lacking), checklist, below=None), wiki, checklist)
    for subject, place in named:
        if isinstance(subject, str) and isinstance(place, LeftOut) and place.reason == reasons.NO_PAGE:
            yield subject, replace(lacking.get(subject, place), reason=reasons.NO_PAGE)
        else:
            yield subject, place


_SEARCHED = (reasons.NO_PAGE, reasons.NO_TAXOBOX)


def _with_groups_of_names(located: Iterable[Located], wiki: WikipediaSource, checklist: Checklist) -> Iterator[Located]:
    """Yield the located species; binomials without a page of that title are searched, or get that of their genus."""
    species: list[tuple[Taxon, PageRef | LeftOut]] = []
    missing: list[Taxon] = []
    for subject, place in located:
        if isinstance(subject, Taxon):
            species.append((subject, place))
        elif isinstance(place, LeftOut) and place.reason in _SEARCHED and is_binomial(subject):
            missing.append(own_taxon(subject))
        else:
            yield subject, place
    held = {taxon.taxon_id for taxon, _ in species}
    searched = wiki.locate([taxon for taxon in missing if taxon.taxon_id not in held])
    for taxon, place in with_group_articles(chain(species, searched), wiki, checklist):
        if isinstance(place, LeftOut) and place.reason in (reasons.NO_PAGE, reasons.IN_GROUP_ARTICLE):
            yield taxon.scientific_name, place
        elif isinstance(place, PageRef) and not taxon.common_names and taxon.rank == "species":
            yield with_title(taxon, place.title), place
        else:
            yield taxon, place


def _of_group(source: FolderSource, taxa: Sequence[Taxon], lacking: str) -> Iterator[Located]:
    """Yield species of a group; most have no folder, which is the reason `lacking` and not worth a report each."""
    for taxon, place in source.locate(taxa):
        if isinstance(place, LeftOut) and source.folder_of(taxon) is None:
            yield taxon, replace(place, reason=lacking)
        else:
            yield taxon, place


def _as_located(left_out: Iterable[LeftOut]) -> Iterator[Located]:
    return ((item.name, item) for item in left_out)


def _matched(
    wiki: WikipediaSource, titles: Sequence[str], checklist: Checklist, *, below: frozenset[str] | None
) -> Iterator[Located]:
    """Yield the species of each title, without those outside the taxa."""
    for title, match in wiki.match_titles(titles, checklist):
        if isinstance(match, LeftOut):
            yield title, match
        elif below is None or match[0].taxon_id in below:
            yield match


N_ASKED: Final = 50
"""Names that are looked up before the profile is chosen: one call of a wiki. Models are fixed when a build begins."""


def with_profile(selection: Selection) -> tuple[str, Selection]:
    """Return the profile for the first species of a selection, and the selection with the look-ups for it.

    At least one species is found first, if there is any.
    """
    found, asked, others = list[Taxon](), [], iter(selection.located)
    for taxon, place in others:
        asked.append((taxon, place))
        if isinstance(taxon, Taxon) and not isinstance(place, LeftOut):
            found.append(taxon)
        if found and len(asked) >= N_ASKED:
            break
    return profile_for(found), replace(selection, located=chain(asked, others))


def with_names_as_checklist(selection: Selection, table: Path, path: Path, folder: Path) -> Selection:
    """Return a selection by a table of names with the species of that table as its checklist, unless there are birds.

    So species without a page are known by name, with their common names and lineage.

    Args:
        selection: the species of the table, looked up in AviList.
        table: the table; its name becomes that of the checklist.
        path: the knowledge base to build.
        folder: where the checklist is written.
    """
    looked_up_in = selection.checklist
    if not selection.named or any(map(is_bird, (*selection.named, *held_species(path)))):
        return selection
    name = name_of_file(table)
    name = f"names-{name}" if name.startswith(AVILIST_NAME) or name == WIKI else name
    made = checklist_of_species(selection.named, folder / "names.sqlite", name)
    return replace(selection, checklist=WithTaxoboxes(made) if isinstance(looked_up_in, WithTaxoboxes) else made)
