"""Names: their comparison by folded spellings and stems of epithets, and the parts of scientific ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from data.words import likenesses

MIN_LIKENESS: Final = 0.8  # below it, names of quite other taxa look alike
_FOLDED_LETTERS = str.maketrans(
    {"ø": "o", "ð": "d", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "đ": "d", "ı": "i"}
    | dict.fromkeys("ʻʼʽ", "")  # glottal stops of Hawaiian and other names, letters to Unicode
)
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_BETWEEN_LETTERS = re.compile(r"[\s'’_-]+")
_LAST_CYRILLIC: Final = "\u052f"
ENDINGS: Final = ("", "iensis", "ensis", "oides", "ii", "is", "us", "um", "er", "ra", "rum", "a", "e", "i")
"""Endings of epithets, which follow the genus' gender or differ between authors."""
_ENDING = re.compile(rf"(?:{'|'.join(filter(None, ENDINGS))})$")


@lru_cache(maxsize=1 << 16)  # the tables repeat their names, and titles are compared again and again
def fold(name: str) -> str:
    """Return a name for comparison: without case, accents, spaces, hyphens and apostrophes, `grey` for `gray`."""
    lowered = name.lower()
    if not lowered.isascii():
        decomposed = unicodedata.normalize("NFKD", lowered.translate(_FOLDED_LETTERS))
        lowered = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
        if not lowered.isascii():  # other scripts: their letters must not vanish, or all such names would be equal
            return re.sub(r"[\W_]+", "", lowered).replace("gray", "grey")
    return _NOT_ALPHANUMERIC.sub("", lowered).replace("gray", "grey")


def is_spelt(name: str, text: str) -> bool:
    """Return whether a name has the accents of a text, to choose among names that fold alike: `ギンケイ`, `キンケイ`.

    A name in Latin, Greek or Cyrillic letters without any accent has perhaps lost them.
    """
    plain, other = (_BETWEEN_LETTERS.sub("", unicodedata.normalize("NFC", each).casefold()) for each in (name, text))
    return plain == other and (fold(plain) != plain or max(plain, default="") > _LAST_CYRILLIC)


def epithet_stem(scientific_name: str) -> str:
    """Return the last word of a binomial without its ending, which follows the genus' gender (`alba`, `albus`)."""
    epithet = scientific_name.rsplit(" ", 1)[-1].lower()
    return _ENDING.sub("", epithet) or epithet


def near_names(wanted: str, names: Iterable[str]) -> list[str]:
    """Return the folded names with at least `MIN_LIKENESS`, which those around the name have, nearest first."""
    names = list(names)
    parts = (name for name in names if len(wanted) >= 4 and wanted in (name[: len(wanted)], name[-len(wanted) :]))
    found = dict.fromkeys(parts, MIN_LIKENESS)
    found |= likenesses(wanted, names, at_least=MIN_LIKENESS)
    return sorted(found, key=lambda name: (-found[name], len(name), name))


BELOW_SPECIES: Final = {
    **dict.fromkeys(("subsp", "ssp", "nothosubsp", "subspecies", "morph", "ab", "race", "natio"), "subspecies"),
    **dict.fromkeys(("var", "subvar", "nothovar", "convar", "varietas", "variety"), "variety"),
    **dict.fromkeys(("f", "fo", "forma", "form", "subf"), "form"),
}
"""Marker before an epithet below the species -> rank."""
BELOW_GENUS: Final = {
    **dict.fromkeys(("sect", "subsect", "section", "subsection"), "section"),
    **dict.fromkeys(("subg", "subgen", "subgenus"), "subgenus"),
    **dict.fromkeys(("ser", "subser", "series"), "series"),
}
"""Marker before a name between genus and species -> rank."""
MARKERS: Final = frozenset({*BELOW_SPECIES, *BELOW_GENUS, "kl", "nothosp", "cv"})
SKIPPED: Final = frozenset({"kl", "klepton", "nothosp", "nothospecies"})
"""Words that say how a species arose; the epithet follows."""
UNSURE: Final = frozenset({"cf", "aff", "nr", "indet"})
"""Likeness or doubt: the name is not that of the organism."""
UNNAMED: Final = frozenset({"sp", "spp"})
"""In place of an epithet; after one, as in "sp. nov.", a note."""
SEVERAL: Final = frozenset({"agg", "aggr", "aggregate", "complex", "coll", "group", "superspecies"})
"""After a binomial: the species with its nearest relatives."""
VIRUSES: Final = frozenset({"virus", "phage", "viroid"})
_NOTES: Final = frozenset(
    {"gen", "ined", "lat", "ms", "n", "nov", "pro", "s", "sic", "sl", "species", "ss", "str", "strain", "uncultured"}
)
# Words of authorships that begin with a small letter: "Aus bus de Vries", "Aus bus auct. non L.".
_OF_AUTHORS: Final = frozenset(
    {
        *("af", "al", "and", "apud", "auct", "d", "da", "das", "de", "del", "della", "den", "der", "des", "di", "do"),
        *("dos", "du", "e", "emend", "et", "ex", "fide", "in", "la", "le", "nec", "nom", "nomen", "non", "of", "sensu"),
        *("ten", "ter", "van", "vel", "vom", "von", "y", "zu", "zum", "zur"),
    }
)
NO_EPITHETS: Final = frozenset(
    {*BELOW_SPECIES, *BELOW_GENUS, *SKIPPED, *UNSURE, *UNNAMED, *SEVERAL, *VIRUSES, *_NOTES, *_OF_AUTHORS}
)
LADDER: Final = (
    *("kingdom", "phylum", "class", "order", "superfamily", "family", "subfamily", "tribe", "subtribe"),
    *("genus", "subgenus"),
)
"""Ranks that files give in columns, the highest first."""


_PLAIN: Final = re.compile(r"[A-Z][a-z-]+(?: [a-z-]{2,}){0,2}")
_WITH_YEAR: Final = re.compile(  # the usual form in large checklists
    r"([A-Z][a-z-]+(?: [a-z-]{2,})?) \(?[A-Z][a-zà-ÿ]{2,}(?:(?:,| &| et)? [A-Z][a-zà-ÿ]{2,})*,? \d{4}\)?"
)
_EPITHET: Final = re.compile(r"(?:\d{1,2}-?|[a-z]['’])?[^\W\d_]+(?:-[^\W\d_]+)*")  # 7-punctata, d'urvillei
_MARKUP: Final = re.compile(r"</?[A-Za-z]+>|_")
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_MAY_BE_CULTIVAR: Final = re.compile(r"\s['‘\"“]|\b(?:Group|Gp|grex|cv)\b")
_CULTIVAR: Final = re.compile(
    r"\s(?:['‘\"“][A-Z][^'’\"”]*['’\"”]|cv\. ?[A-Z][\w-]*|(?:[A-Z][\w-]* ){1,3}(?:Group|Gp|grex)\b)"
)
_HYBRID_SIGN: Final = re.compile(r"(?:^|(?<=\s))[x×]\s*(?=[^\W\d_])|×")
_SIGNS: Final = frozenset("xX×")
SLASH: Final = re.compile(r"[a-z] ?/ ?[a-z]")
"""Between epithets: several species."""
_BY_NUMBER: Final = ("", "", "species", "subspecies")  # words of a plain name


class ScientificName(NamedTuple):
    """A scientific name without author, year and remarks."""

    text: str
    """Hybrid signs and markers of ranks stay; subgenera in brackets, `agg.`, `s. str.`, `ined.` and `kl.` do not."""
    rank: str
    """`species`, `subspecies`, `variety`, `form`, `section`, `subgenus`, `series` or `cultivar`; `hybrid` for a cross
    of two taxa, `unnamed` for `Aus sp.`, `Aus cf. bus` and `Aus bus/cus`, empty for one word."""
    is_several: bool = False
    """Whether the species' nearest relatives are included (`agg.`, `complex`)."""


def parse_name(name: str) -> ScientificName:
    """Return the parts of a scientific name."""
    if _PLAIN.fullmatch(name) and NO_EPITHETS.isdisjoint(words := name.split()):
        return ScientificName(name, _BY_NUMBER[len(words)])
    if (usual := _WITH_YEAR.fullmatch(name)) and NO_EPITHETS.isdisjoint(words := usual[1].split()):
        return ScientificName(usual[1], _BY_NUMBER[len(words)])
    if "<" in name or "_" in name:  # "<i>Aus bus</i>", "Aus_bus"
        name = _MARKUP.sub(" ", name)
    whole = " ".join(name.split()).lstrip("†?* ")
    if is_hybrid_formula(whole):
        return ScientificName(whole, "hybrid")
    if SLASH.search(whole):
        return ScientificName(whole, "unnamed")
    if _MAY_BE_CULTIVAR.search(whole) and (cultivar := _CULTIVAR.search(whole)):
        return ScientificName(whole[: cultivar.end()], "cultivar")
    words = _IN_BRACKETS.sub(" ", whole).replace("×", " × ").split()
    if len(words) > 1 and words[-1] in VIRUSES:
        return ScientificName(whole, "species")
    if len(words) > 1 and words[0].strip("'\"‘’") in ("Candidatus", "Ca."):
        words = words[1:]
    return _read(_in_sentence_case(words)) or ScientificName(whole, "unnamed")


def _read(words: list[str]) -> ScientificName | None:
    """Return a name read word by word, or None if it names no taxon."""
    kept: list[str] = []
    n_epithets, section = 0, ""
    rank = marker = ""
    has_genus = is_past_author = is_several = False
    for word in words:
        bare = word.strip(".,;:\"'‘’?")
        if bare.lower() in UNSURE or (bare in UNNAMED and has_genus and not n_epithets):
            return None
        if word in _SIGNS:
            kept += ["×"] if not is_past_author else []
        elif not has_genus:
            kept.append(bare if len(bare) > 2 else word.rstrip(",;"))
            has_genus = True
        elif marker in BELOW_GENUS:
            section, rank, marker, is_past_author = f" {marker}. {bare}", BELOW_GENUS[marker], "", False
        elif bare in BELOW_GENUS and not n_epithets:
            marker = bare
        elif bare in BELOW_SPECIES and (word.endswith(".") or len(bare) > 2):
            marker = word
        elif bare in SKIPPED:
            continue
        elif (not is_past_author or marker) and _is_epithet(bare) and (not word.endswith(".") or word is words[-1]):
            kept += [marker, bare] if marker else [bare]
            rank, section = BELOW_SPECIES.get(marker.rstrip("."), ""), ""
            n_epithets, marker = n_epithets + 1, ""
        else:
            is_several = is_several or bare in SEVERAL
            is_past_author, marker = True, ""
    while kept and kept[-1] == "×":
        kept.pop()
    return ScientificName(" ".join(kept) + section, rank or _BY_NUMBER[min(n_epithets + 1, 3)], is_several)


def _is_epithet(word: str) -> bool:
    is_long = len(word) > 1 and word not in NO_EPITHETS
    return is_long and word == word.lower() and _EPITHET.fullmatch(word) is not None


def _in_sentence_case(words: list[str]) -> list[str]:
    """Return the words with a capital at the genus only; in names all in capitals, as far as no author begins."""
    at = next((i for i, word in enumerate(words) if word not in _SIGNS), None)
    if at is None:
        return words
    before, (genus, *rest) = words[:at], words[at:]
    if not (len(genus) > 1 and genus.isupper() and genus.replace("-", "").isalpha()):
        return [*before, genus[:1].upper() + genus[1:], *rest]
    if all(word.isupper() for word in rest if word[0].isalpha()):
        for i, word in enumerate(rest):
            following = rest[i + 1] if i + 1 < len(rest) else ""
            is_short = word.endswith(".") and word[:-1].lower() not in NO_EPITHETS
            if is_short or word.endswith(",") or following in ("&", "ET", "EX", "IN") or following.isdigit():
                break
            rest[i] = word.lower()
    return [*before, genus.capitalize(), *rest]


def without_authorship(name: str) -> str:
    """Return a scientific name without author, year and subgenus; hybrid signs and markers of ranks stay."""
    return parse_name(name).text


def name_key(name: str) -> str:
    """Return a name for look-up: folded, without hybrid signs and markers of ranks."""
    if _PLAIN.fullmatch(name):
        return fold(name)
    words = _HYBRID_SIGN.sub(" ", name).split()
    is_marker = (word.endswith(".") and word.rstrip(".").lower() in MARKERS for word in words)
    return fold(" ".join(word for word, marker in zip(words, is_marker, strict=True) if not marker))


def is_hybrid_formula(name: str) -> bool:
    """Return whether a name is that of a cross of two taxa."""
    if "×" not in name and " x " not in name:
        return False
    left, sign, right = re.sub(r"\sx\s", " × ", name).partition("×")
    return bool(sign and right.strip()) and len(left.split()) > 1
