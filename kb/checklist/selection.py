"""Selection of species by the name of a taxon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from data.errors import AmbiguousTaxon, BadInput, UnknownTaxon
from data.records import HIGHER_RANKS, Taxon, taxon_id
from data.words import nearest
from kb.checklist.names import fold

if TYPE_CHECKING:
    from data.contracts import Checklist

RANKS_ABOVE = ("kingdom", "phylum", *HIGHER_RANKS)
LIKE_A_GENUS = 0.87
"""A name of one word nearer than this to a genus of the checklist is a misspelt genus (Turduss), no name of its own."""


def limits_of(checklist: Checklist) -> str:
    """Return a sentence on the group that a checklist is limited to, and on the way out; empty for any group."""
    if not checklist.group:
        return ""
    return (
        f"{checklist.name} holds {checklist.group} only; kb build and kb taxa take another with --checklist. "
        "kb checklist add FILE adds one; kb build --names takes a table with a class, order or family in each row."
    )


def select(checklist: Checklist, taxon: str) -> list[Taxon]:
    """Return the species below a taxon of any rank, by scientific or common name, in checklist order.

    Raises:
        UnknownTaxon: with suggestions, if the name is not in the checklist.
        AmbiguousTaxon: with the choices, if several taxa have the name.
        BadInput: if the taxon has no species.
    """
    return checklist.species_of(_with_species(checklist, taxon))


def species_ids(checklist: Checklist, taxon: str) -> Iterator[str]:
    """Yield the ids of the same species, with the same errors."""
    return checklist.species_ids(_with_species(checklist, taxon))


def find_taxon(checklist: Checklist, name: str) -> Taxon:
    """Return the taxon of any rank with that scientific or common name.

    Raises:
        UnknownTaxon: with suggestions.
        AmbiguousTaxon: with the choices, if several taxa have the name.
    """
    name = " ".join(name.split())
    found = taxa_named(checklist, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousTaxon(name, choices=choices(found), where=checklist.name)
    raise UnknownTaxon(name, suggestions=checklist.suggest(name), where=checklist.name, limits=limits_of(checklist))


def taxa_named(checklist: Checklist, name: str) -> list[Taxon]:
    """Return the taxa with a name, also in everyday use: one, several that share it, or none.

    A subspecies gives its species.
    """
    found = checklist.find(name)
    if found is None:
        return checklist.homonyms(name) or checklist.also_called(name)
    return [(checklist.find(found.lineage["species"]) if "species" in found.lineage else None) or found]


def _with_species(checklist: Checklist, name: str) -> Taxon:
    found = find_taxon(checklist, name)
    if not checklist.n_species_of(found):
        above = list(found.lineage.values())[-1:]
        hint = f"It belongs to {above[0]}." if above else None
        raise BadInput(f"{found.scientific_name} is a {found.rank} without species in {checklist.name}.", hint=hint)
    return found


def choices(taxa: Sequence[Taxon]) -> list[str]:
    """Return names that tell taxa of the same name apart: common or scientific names, or a taxon above and the name."""
    common = [taxon.common_name for taxon in taxa if taxon.common_names]
    if len(set(common)) == len(taxa):
        return common
    names = [taxon.scientific_name for taxon in taxa]
    if len(set(names)) == len(names):
        return names
    for rank in RANKS_ABOVE:
        above = [taxon.lineage.get(rank) for taxon in taxa]
        if all(above) and len(set(above)) == len(above):
            return [f"{group}: {name}" for group, name in zip(above, names, strict=True)]
    return [f"{[taxon.rank, *taxon.lineage.values()][-1]}: {taxon.scientific_name}" for taxon in taxa]


def species_named(
    checklist: Checklist, name: str, *, common_names: Sequence[str] = (), lineage: Mapping[str, str] | None = None
) -> Taxon:
    """Return the species of the checklist with that name, else one made from the name (`own_taxon`).

    Raises:
        BadInput: if the name belongs to a higher taxon, or is unknown and neither a binomial nor one word with a
            common name or lineage; or if that word looks like a misspelt genus.
    """
    name = " ".join(name.split())
    found = checklist.find(name)
    # *Corvus cornix*, elsewhere a species, may be one here too.
    if found is None or ("species" in found.lineage and is_binomial(name)):
        if (genus := misspelt_genus(checklist, name)) and (lineage or {}).get("genus") != name:
            raise BadInput(
                f"{name} looks like the genus {genus}, expected a species.",
                hint=f"Give genus and epithet, or --lineage genus={name} if that is the whole name.",
            )
        is_named = bool(common_names or lineage)
        return own_taxon(name, common_names=common_names, lineage=lineage, may_be_one_word=is_named)
    if found.rank != "species":
        raise BadInput(f"{name} is a {found.rank}, expected a species.")
    return replace(found, common_names=tuple(dict.fromkeys((*found.common_names, *common_names))))


def misspelt_genus(checklist: Checklist, name: str) -> str | None:
    """Return the genus of the checklist that a name of one word is nearly equal to."""
    if " " in name:
        return None
    genera = (near for near in checklist.suggest(name, 3) if (found := checklist.find(near)) and found.rank == "genus")
    return next((genus for genus in genera if nearest(fold(name), [fold(genus)], at_least=LIKE_A_GENUS)), None)


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

    Raises:
        BadInput: if the name is not a capitalised genus and an epithet, nor such a word.
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
        lineage={rank: value for rank in RANKS_ABOVE if (value := known.get(rank))},
    )
