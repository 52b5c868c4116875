"""Ranks and names of taxa as pages of several languages write them, and the taxon that a taxobox is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kb.checklist.scientific_names import ScientificName, parse_name

RANKS: Final = (
    "realm", "domain", "kingdom", "phylum", "division", "class", "subclass", "infraclass", "superorder", "order",
    "suborder", "infraorder", "parvorder", "superfamily", "family", "subfamily", "tribe", "subtribe", "genus",
    "subgenus", "species", "subspecies",
)  # fmt: skip
"""From the highest to the lowest."""
# Latin, German, French, Spanish, Italian, Portuguese, Dutch and Polish names.
OTHER_NAMES: Final[Mapping[str, str]] = {
    "regnum": "kingdom", "reich": "kingdom", "règne": "kingdom", "reino": "kingdom", "regno": "kingdom",
    "stamm": "phylum", "embranchement": "phylum", "filo": "phylum",
    "divisio": "division", "abteilung": "division", "división": "division", "divisione": "division",
    "classis": "class", "klasse": "class", "classe": "class", "clase": "class",
    "subclassis": "subclass", "superordo": "superorder", "subordo": "suborder", "infraordo": "infraorder",
    "ordo": "order", "ordnung": "order", "ordre": "order", "orden": "order", "ordine": "order", "ordem": "order",
    "superfamilia": "superfamily", "überfamilie": "superfamily",
    "familia": "family", "familie": "family", "famille": "family", "famiglia": "family", "família": "family",
    "subfamilia": "subfamily", "unterfamilie": "subfamily", "sous-famille": "subfamily",
    "tribus": "tribe", "tribu": "tribe", "subtribus": "subtribe",
    "gattung": "genus", "genre": "genus", "género": "genus", "gênero": "genus", "genere": "genus",
    "untergattung": "subgenus",
    "art": "species", "espèce": "species", "especie": "species", "specie": "species", "espécie": "species",
    "rijk": "kingdom", "orde": "order", "onderfamilie": "subfamily", "geslacht": "genus", "soort": "species",
    "ondersoort": "subspecies", "królestwo": "kingdom", "typ": "phylum", "gromada": "class", "rząd": "order",
    "rodzina": "family", "podrodzina": "subfamily", "rodzaj": "genus", "gatunek": "species", "podgatunek": "subspecies",
    "unterart": "subspecies", "sous-espèce": "subspecies", "sottospecie": "subspecies",
}  # fmt: skip
BELOW_GENUS: Final = frozenset(
    {
        *("section", "sectio", "subsection", "subsectio", "series", "subseries", "superspecies", "species complex"),
        *("species group", "species subgroup", "sektion", "serie", "artengruppe", "artenkomplex", "sección", "sezione"),
        *("seção", "sectie", "sekcja", "série", "complexe d'espèces"),
    }
)
"""Rows between genus and species."""
BELOW_SPECIES: Final[Mapping[str, str]] = {
    "subspecies": "", "infraspecies": "", "trinomial": "", "trinomial name": "", "nombre trinomial": "",
    **dict.fromkeys(("variety", "varietas", "varietät", "variété", "variedad", "varietà", "odmiana"), "var."),
    **dict.fromkeys(("form", "forma", "forme"), "f."),
}  # fmt: skip
"""Row of a taxon below the species -> marker in its name."""
CULTIVAR: Final = frozenset({"cultivar", "cultivar group", "cultivargroep", "sortengruppe", "sorte", "grex"})
_RANK_OF_NAME: Final = {
    "variety": "subspecies", "form": "subspecies", "section": "group", "subgenus": "group", "series": "group",
    "unnamed": "group",
}  # fmt: skip
"""Rank of a name -> rank of the page's taxon."""
_NO_NAME: Final = frozenset({"see", "siehe", "voir", "zie", "several", "many", "various", "unknown"})  # "see text"
_SHORT: Final = re.compile(r"[A-Z][a-z]{0,2}\.")
# The codes of nomenclature fix the endings of families; the other endings are only usual.
_FAMILY = re.compile(r"(?:idae|aceae)$")
_ENDINGS = (
    (re.compile(r"(?:inae|oideae)$"), "subfamily"), (re.compile(r"oidea$"), "superfamily"),
    (re.compile(r"(?:ini|[^c]eae)$"), "tribe"), (re.compile(r"(?:ales|iformes|ptera)$"), "order"),
)  # fmt: skip
_CALLED = re.compile(
    r"\b(?:is|are|was|were|comprises?|refers? to)\b[^.]{0,80}?\b(?P<rank>genus|family|order|class|phylum|kingdom|clade|"
    r"(?:sub|super|infra)(?:genus|family|order|class|tribe)|tribe)\b",
    re.IGNORECASE,
)


class StatedTaxon(NamedTuple):
    """The taxon that a page is about.

    `rank` is one of `RANKS`, or `hybrid`, `virus`, `cultivar`, `trace fossil` or `group` (of unknown rank); empty
    where the page states none.
    """

    rank: str = ""
    name: str = ""


NO_TAXON: Final = StatedTaxon()


def rank_named(word: str) -> str | None:
    """Return the English name of a rank in any of these languages, or None."""
    key = word.lower().rstrip(": ").strip()
    rank = OTHER_NAMES.get(key, key)
    return rank if rank in RANKS else None


def lowest(classification: Mapping[str, str]) -> StatedTaxon:
    """Return the taxon of the lowest rank in a classification."""
    return next((StatedTaxon(rank, classification[rank]) for rank in RANKS[::-1] if rank in classification), NO_TAXON)


def rank_of_group(name: str, lead: str, lists: str = "") -> str:
    """Return the rank of a group by its ending, the first sentence of its page, or the taxa that it lists."""
    if _FAMILY.search(name):
        return "family"
    if named := re.search(rf"\b(?P<rank>genus|family|order|class) {re.escape(name)}\b", lead[:400], re.IGNORECASE):
        return named["rank"].lower()
    if called := _CALLED.search(lead[:400]):
        return called["rank"].lower()
    if rank_named(lists) == "species":
        return "genus"
    return next((rank for ending, rank in _ENDINGS if ending.search(name)), "group")


def taxon_of_name(written: str, genus: str = "", epithet: str = "") -> StatedTaxon:
    """Return rank and name of the taxon with a written name; without a rank if it has one word."""
    found = _parsed(written, genus, epithet)
    if not found.text or _SHORT.fullmatch(found.text.split()[0]):
        return NO_TAXON
    if found.is_several and found.rank:
        return StatedTaxon("group", written)
    if "×" in found.text and found.rank == "species":
        return StatedTaxon("hybrid", found.text)
    return StatedTaxon(_RANK_OF_NAME.get(found.rank, found.rank), found.text)


def first_named(texts: Iterable[str], genus: str) -> StatedTaxon:
    """Return the taxon of the first text that is a name; `genus` is that of the page, for shortened names."""
    return next((taxon for text in texts if (taxon := taxon_of_name(text, genus)).rank), NO_TAXON)


def taxon_of_rows(rows: Mapping[str, str], named: StatedTaxon, genus: str) -> StatedTaxon:
    """Return the cultivar or subspecies that the rows of a taxobox state, or else the taxon that it names."""
    if group := next((text for key, text in rows.items() if key in CULTIVAR and text), ""):
        return StatedTaxon("cultivar", f"{named.name} {group}".strip())
    if lower := next((key for key, text in rows.items() if key in BELOW_SPECIES and text), ""):
        return below_species(rows[lower], named, genus, BELOW_SPECIES[lower])
    return named


def below_species(written: str, named: StatedTaxon, genus: str, marker: str = "") -> StatedTaxon:
    """Return the subspecies, variety or form with a written name, in the species that the taxobox names."""
    epithet = named.name.removeprefix(f"{genus} ") if genus and named.rank == "species" else ""
    return StatedTaxon("subspecies", trinomial(written, genus, epithet, marker))


def section_of_rows(rows: Mapping[str, str], genus: str) -> StatedTaxon:
    """Return the first group between genus and species in the rows of a taxobox, if any."""
    group = next((text for key, text in rows.items() if key in BELOW_GENUS and text), "")
    return StatedTaxon("group", taxon_of_name(group, genus).name or group) if genus and group else NO_TAXON


def trinomial(written: str, genus: str, epithet: str, marker: str = "") -> str:
    """Return the name of a subspecies, variety or form, of which a page may write the last word alone."""
    found = _parsed(written, genus, epithet)
    if found.rank in ("subspecies", "variety", "form") and (not epithet or epithet in found.text.split()):
        return found.text
    return " ".join(filter(None, (genus, epithet, marker, *written.split()[-1:])))


def parse_binomial(text: str) -> str | None:
    """Return genus and epithet of the name at the start of a text, or None; hybrid signs stay."""
    if not text.lstrip("†?×* ")[:1].isupper():
        return None
    found = parse_name(text)
    words = found.text.split()
    if found.rank not in ("species", "subspecies", "variety", "form") or found.is_several or _SHORT.fullmatch(words[0]):
        return None
    return " ".join(words[: 2 + words[:3].count("×")])


def _parsed(written: str, genus: str, epithet: str) -> ScientificName:
    words = written.strip(" †?*").split()
    if words and genus:
        if _SHORT.fullmatch(words[0]) and genus.startswith(words[0][0]):
            words[0] = genus
        elif not words[0][0].isupper() and not (words[0] == "×" and words[1:] and words[1][0].isupper()):
            words = [genus, *words] if words[0] not in _NO_NAME else []
        if len(words) > 1 and epithet and re.fullmatch(rf"{epithet[0]}[a-z]?\.", words[1]) and len(words) > 2:
            words[1] = epithet
    return parse_name(" ".join(words))
