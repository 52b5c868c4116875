"""Selection of species by taxon or by a table of names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import AmbiguousTaxon, BadInput, UnknownTaxon
from data.records import HIGHER_RANKS, LeftOut, Taxon, taxon_id
from kb import reasons
from kb.checklist.names import fold
from kb.checklist.tables import columns_of, read_names_file, table_rows, with_genus

if TYPE_CHECKING:
    from data.contracts import Checklist

LIKE_A_GENUS = 0.87
"""A name of one word nearer than this to a genus of the checklist is a misspelt genus (Turduss), no name of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList:
    """The species of a table of names, and the unmatched rows."""

    taxa: tuple[Taxon, ...]
    left_out: tuple[LeftOut, ...] = ()


def limits_of(checklist: Checklist) -> str:
    """Return a sentence on the group that a checklist is limited to, and on the way out; empty for any group."""
    if not checklist.group:
        return ""
    return (
        f"{checklist.name} holds {checklist.group} only; kb build and kb taxa take another with --checklist. "
        "--checklist wiki takes the taxoboxes of a wiki, --names a table with a class, order or family in each row."
    )


def select(checklist: Checklist, taxon: str) -> list[Taxon]:
    """Return the species below a taxon of any rank, by scientific or common name, in checklist order.

    Raises:
        UnknownTaxon: with suggestions, if the name is not in the checklist.
        AmbiguousTaxon: with the choices, if several taxa have the name.
        BadInput: if the taxon has no species, as a subspecies.

    Example:
        >>> from kb.checklist.avilist import load_checklist
        >>> [species.common_name for species in select(load_checklist(), "Cardinalis")]
        ['Vermilion Cardinal', 'Northern Cardinal', 'Pyrrhuloxia']
    """
    return checklist.species_of(_with_species(checklist, taxon))


def species_ids(checklist: Checklist, taxon: str) -> Iterator[str]:
    """Yield the ids of the same species, with the same errors."""
    return checklist.species_ids(_with_species(checklist, taxon))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTaxon:
    """A taxon found by name; `n_held` of its `n_species` species are in a knowledge base, if one was given."""

    taxon: Taxon
    n_species: int
    n_held: int | None = None


def find_taxon(checklist: Checklist, name: str, held: Collection[str] | None = None) -> FoundTaxon:
    """Return the taxon of any rank with that scientific or common name.

    Raises:
        UnknownTaxon: with suggestions.
        AmbiguousTaxon: with the choices, if several taxa have the name.
    """
    taxon = _find(checklist, name)
    n_held = None if held is None else sum(found in held for found in checklist.species_ids(taxon))
    return FoundTaxon(taxon=taxon, n_species=checklist.n_species_of(taxon), n_held=n_held)


def _find(checklist: Checklist, name: str) -> Taxon:
    name = " ".join(name.split())
    found = checklist.find(name) if name else None
    if found is not None:
        return found
    if several := checklist.homonyms(name):
        raise AmbiguousTaxon(name, choices=choices(several), where=checklist.name)
    raise UnknownTaxon(name, suggestions=checklist.suggest(name), where=checklist.name, limits=limits_of(checklist))


def taxa_named(checklist: Checklist, name: str) -> list[Taxon]:
    """Return the taxa with a name: one, several that share it, or none."""
    found = checklist.find(name)
    return checklist.homonyms(name) if found is None else [found]


def _with_species(checklist: Checklist, name: str) -> Taxon:
    found = _find(checklist, name)
    if not checklist.n_species_of(found):
        above = list(found.lineage.values())[-1:]
        hint = f"It belongs to {above[0]}." if above else None
        raise BadInput(f"{found.scientific_name} is a {found.rank} without species in {checklist.name}.", hint=hint)
    return found


def choices(taxa: Sequence[Taxon]) -> list[str]:
    """Return names that tell taxa of the same name apart: scientific names, or a taxon above and the name.

    Example:
        >>> genera = [Taxon(taxon_id="prunella", scientific_name="Prunella", rank="genus", lineage={"kingdom": name})
        ...           for name in ("Animalia", "Plantae")]
        >>> choices(genera)
        ['Animalia: Prunella', 'Plantae: Prunella']
    """
    names = [taxon.scientific_name for taxon in taxa]
    if len(set(names)) == len(names):
        return names
    for rank in ("kingdom", "phylum", *HIGHER_RANKS):
        above = [taxon.lineage.get(rank) for taxon in taxa]
        if all(above) and len(set(above)) == len(above):
            return [f"{group}: {name}" for group, name in zip(above, names, strict=True)]
    return [f"{[taxon.rank, *taxon.lineage.values()][-1]}: {taxon.scientific_name}" for taxon in taxa]


def species_named(
    checklist: Checklist, name: str, *, common_names: Sequence[str] = (), lineage: Mapping[str, str] | None = None
) -> Taxon:
    """Return the species of the checklist with that name, else one made from the name (`own_taxon`).

    Args:
        checklist: the checklist.
        name: scientific or common name; the binomial, or one word, for a species outside the checklist.
        common_names: further English names.
        lineage: class, order, family, genus of a species outside the checklist.

    Raises:
        BadInput: if the name belongs to a higher taxon, or is unknown and neither a binomial nor one word with a
            common name or lineage; or if that word looks like a misspelt genus.
    """
    name = " ".join(name.split())
    found = checklist.find(name)
    if found is None:
        if (genus := _misspelt_genus(checklist, name)) and (lineage or {}).get("genus") != name:
            raise BadInput(
                f"{name} looks like the genus {genus}, expected a species.",
                hint=f"Give genus and epithet, or --lineage genus={name} if that is the whole name.",
            )
        is_named = bool(common_names or lineage)
        return own_taxon(name, common_names=common_names, lineage=lineage, may_be_one_word=is_named)
    if found.rank != "species":
        raise BadInput(f"{name} is a {found.rank}, expected a species.")
    return replace(found, common_names=tuple(dict.fromkeys((*found.common_names, *common_names))))


def read_names(path: Path | str, checklist: Checklist, *, may_be_empty: bool = False) -> NameList:
    """Return the species of a table of names, in its order, each once.

    The table is CSV (comma, semicolon or tab) with a column `scientific_name` or `common_name` or both, in any case and
    order, or a plain list with one name per line; lines that begin with `#` and empty lines are skipped. The
    scientific name is looked up first. A row that is not in the checklist makes a taxon of its own if it has a
    scientific name and a class, order, family or English name (so that frogs can be built from a table); otherwise it
    is left out as "not in the checklist". Such a name may be one word ("Pikachu"), unless it is or looks like a genus
    of the checklist, or is the genus of another row.

    Raises:
        BadInput: with the line number, if the table is not readable or has no names; or if none is of a species,
            unless `may_be_empty`.
    """
    taxa: dict[str, Taxon] = {}
    unmatched: list[LeftOut] = []
    rows = list(_named_rows(Path(path)))
    genera = {name.split(" ")[0] for _, _, names in rows for name in names[:1] if " " in name}
    for number, row, names in rows:
        listed = [taxon for name in names for taxon in _listed(checklist, name, row)]
        found = next((taxon for taxon in listed if taxon.rank == "species"), None)
        if found is None and (several := next(filter(None, map(checklist.homonyms, names)), None)):
            detail = f"line {number}: {', '.join(choices(several))}"
            unmatched.append(LeftOut(name=names[0], reason=reasons.SEVERAL_TAXA, detail=detail))
            continue
        if found is None and (lower := next((taxon for taxon in listed if "species" in taxon.lineage), None)):
            detail = f"line {number}: a {lower.rank} of {lower.lineage['species']}"
            unmatched.append(LeftOut(name=names[0], reason=reasons.NOT_A_SPECIES, detail=detail))
            continue
        is_genus = names[0] in genera or _misspelt_genus(checklist, names[0]) is not None
        found = found or _taxon_of_row(row, may_be_one_word=not listed and not is_genus)
        if found is not None:
            taxa.setdefault(found.taxon_id, found)
            continue
        nearest = ", ".join(checklist.suggest(names[0], 3))
        detail = f"line {number}" + (f"; did you mean {nearest}?" if nearest else "")
        unmatched.append(LeftOut(name=names[0], reason=reasons.NOT_IN_CHECKLIST, detail=detail))
    if not taxa and not may_be_empty:
        hint = " ".join(filter(None, (_sentence(unmatched[0].detail), limits_of(checklist)))) if unmatched else None
        raise BadInput(f"{path}: none of the names are in {checklist.name}.", hint=hint)
    return NameList(taxa=tuple(taxa.values()), left_out=tuple(unmatched))


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends as a sentence."""
    return text if not text or text.endswith(("?", ".")) else f"{text}."


def names_in(path: Path) -> list[str]:
    """Return the scientific name in each row of such a table, or else the common name.

    Raises:
        BadInput: with the line number, if the table is not readable or has no names.
    """
    return list(dict.fromkeys(names[0] for _, _, names in _named_rows(path)))


def _named_rows(path: Path) -> Iterator[tuple[int, dict[str, str], list[str]]]:
    """Yield the line number of each row, its cells by column, and its names, the scientific one first."""
    rows = table_rows(read_names_file(path), path)
    if not rows:
        raise BadInput(f"{path}: expected names of species, got an empty table.")
    (first, heading), *body = rows
    columns = columns_of(heading)
    is_plain = not {"scientific", "common"} & set(columns)
    if is_plain:
        if len(heading) > 1:
            expected = "expected a column scientific_name or common_name"
            raise BadInput(f"{path}: line {first}: {expected}, got {', '.join(heading)}.")
        columns, body = {"scientific": 0}, rows
    for number, cells in body:
        if is_plain and len(cells) > 1:
            raise BadInput(f"{path}: line {number}: expected one name per line, got {len(cells)} columns.")
        row = {column: cells[i] for column, i in columns.items() if i < len(cells) and cells[i]}
        if "scientific" in row:
            row["scientific"] = with_genus(row["scientific"], row.get("genus", ""))
        names = [row[column] for column in ("scientific", "common") if column in row]
        if not names:
            raise BadInput(f"{path}: line {number}: expected a name, got an empty cell.")
        yield number, row, names


def _listed(checklist: Checklist, name: str, row: Mapping[str, str]) -> list[Taxon]:
    """Return the taxon with a name, or of several the one in the higher taxa of the row."""
    found = checklist.find(name)
    if found is not None:
        return [found]
    given = {rank: row[rank] for rank in HIGHER_RANKS if rank in row}
    fits = [
        taxon
        for taxon in (checklist.homonyms(name) if given else ())
        if all(taxon.lineage.get(rank, above) == above for rank, above in given.items())
    ]
    return fits if len(fits) == 1 else []


def _misspelt_genus(checklist: Checklist, name: str) -> str | None:
    """Return the genus of the checklist that a name of one word is nearly equal to."""
    if " " in name:
        return None
    genera = (near for near in checklist.suggest(name, 3) if (found := checklist.find(near)) and found.rank == "genus")
    return next(
        (genus for genus in genera if SequenceMatcher(None, fold(name), fold(genus)).ratio() > LIKE_A_GENUS), None
    )


def is_binomial(name: str) -> bool:
    """Return whether a name is a capitalised genus and an epithet."""
    words = name.split()
    return len(words) == 2 and words[0][:1].isupper() and words[1][:1].islower()


def own_taxon(
    name: str,
    *,
    common_names: Sequence[str] = (),
    lineage: Mapping[str, str | None] | None = None,
    may_be_one_word: bool = False,
) -> Taxon:
    """Return a species outside the checklist, from its name, English names and higher taxa.

    Args:
        name: genus and epithet.
        common_names: the preferred one first.
        lineage: class, order, family, genus -> name; by default the genus is the first of two words of the name.
        may_be_one_word: also take one capitalised word, such as the name of a creature of a game.

    Raises:
        BadInput: if the name is not a capitalised genus and an epithet, nor such a word.

    Example:
        >>> own_taxon("Vanessa atalanta", common_names=["Red Admiral"], lineage={"family": "Nymphalidae"}).lineage
        {'family': 'Nymphalidae', 'genus': 'Vanessa'}
    """
    words = name.split()
    has_genus = is_binomial(name)
    is_one_word = len(words) == 1 and words[0][:1].isupper() and may_be_one_word
    if not (has_genus or is_one_word) or not taxon_id(name):
        raise BadInput(
            f"Expected the scientific name of a species, got {name!r}.",
            hint="Give genus and epithet, such as Vanessa atalanta; --common-name takes the English name. "
            "A name of one word, such as Pikachu, needs --common-name or --lineage.",
        )
    known = {**(lineage or {})}
    if has_genus:
        known["genus"] = known.get("genus") or words[0]
    return Taxon(
        taxon_id=taxon_id(" ".join(words)),
        scientific_name=" ".join(words),
        rank="species",
        common_names=tuple(common_names),
        lineage={rank: value for rank in HIGHER_RANKS if (value := known.get(rank))},
    )


def _taxon_of_row(row: Mapping[str, str], *, may_be_one_word: bool) -> Taxon | None:
    """Return a species outside the checklist, or None if the row has too little information."""
    lineage = {rank: row[rank] for rank in HIGHER_RANKS if rank in row}
    common_names = [row["common"]] if "common" in row else []
    if not (lineage or common_names):
        return None
    try:
        name = row.get("scientific", "")
        return own_taxon(name, common_names=common_names, lineage=lineage, may_be_one_word=may_be_one_word)
    except BadInput:
        return None
