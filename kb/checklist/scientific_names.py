"""Scientific names without author and year, and their keys for comparison."""

from __future__ import annotations

import re
from typing import Final

from kb.checklist.names import fold

_PLAIN: Final = re.compile(r"[A-Z][a-z-]+(?: [a-z-]{2,}){0,2}")
_EPITHET: Final = re.compile(r"[^\W\d_A-Z][^\W\d_]*(?:-[^\W\d_]+)*")
_HYBRID_SIGN: Final = re.compile(r"(?:^|(?<=\s))[x×]\s*(?=[^\W\d_])|×")
_MARKERS: Final = frozenset(
    {
        *("subsp", "ssp", "var", "subvar", "f", "fo", "forma", "subf", "nothosubsp", "nothovar", "convar", "cv"),
        *("morph", "ab", "race", "natio", "subsect", "sect", "subg"),
    }
)
# Words of authorships that begin with a small letter: "Aus bus de Vries", "Aus bus auct. non L.".
_OF_AUTHORS: Final = frozenset(
    {
        *("af", "al", "and", "apud", "auct", "d", "da", "das", "de", "del", "della", "den", "der", "des", "di", "do"),
        *("dos", "du", "e", "emend", "et", "ex", "fide", "in", "la", "le", "nec", "nom", "nomen", "non", "of", "sensu"),
        *("ten", "ter", "van", "vel", "vom", "von", "y", "zu", "zum", "zur"),
    }
)


def without_authorship(name: str) -> str:
    """Return a scientific name without author, year and subgenus; hybrid signs and markers of ranks stay.

    Example:
        >>> without_authorship("Vanessa atalanta (Linnaeus, 1758)"), without_authorship("Prunella L.")
        ('Vanessa atalanta', 'Prunella')
        >>> without_authorship("Prunella vulgaris L. subsp. asiatica (Nakai) H.Hara")
        'Prunella vulgaris subsp. asiatica'
        >>> without_authorship("Mentha x piperita L."), without_authorship("Vanessa (Pyrameis) cardui de Vries, 1901")
        ('Mentha × piperita', 'Vanessa cardui')
    """
    if _PLAIN.fullmatch(name) and _OF_AUTHORS.isdisjoint(name.split()):
        return name
    kept: list[str] = []
    marker = ""
    is_past_author = False
    for word in re.sub(r"\([^()]*\)", " ", name).replace("×", " × ").split():
        bare = word.rstrip(".,;")
        if word in ("×", "x"):
            kept += ["×"] if not is_past_author else []
        elif not [part for part in kept if part != "×"]:
            kept.append(bare)
        elif bare.lower() in _MARKERS and bare.islower() and (word.endswith(".") or len(bare) > 2):
            marker = word
        elif _EPITHET.fullmatch(bare) and bare not in _OF_AUTHORS and (not is_past_author or marker):
            kept += [marker, bare] if marker else [bare]
            marker = ""
        else:
            is_past_author, marker = True, ""
    while kept and kept[-1] == "×":
        kept.pop()
    return " ".join(kept)


def name_key(name: str) -> str:
    """Return a name for look-up: folded, without hybrid signs and markers of ranks.

    Example:
        >>> name_key("Prunella vulgaris subsp. asiatica") == name_key("prunella vulgaris asiatica")
        True
        >>> name_key("Mentha x piperita") == name_key("Mentha × piperita")
        True
    """
    if _PLAIN.fullmatch(name):
        return fold(name)
    words = _HYBRID_SIGN.sub(" ", name).split()
    is_marker = (word.endswith(".") and word.rstrip(".").lower() in _MARKERS for word in words)
    return fold(" ".join(word for word, marker in zip(words, is_marker, strict=True) if not marker))


def is_hybrid_formula(name: str) -> bool:
    """Return whether a name is that of a cross of two taxa.

    Example:
        >>> [is_hybrid_formula(name) for name in ("Anas acuta × Anas crecca", "Mentha × piperita", "Anas acuta")]
        [True, False, False]
    """
    left, sign, right = re.sub(r"\sx\s", " × ", name).partition("×")
    return bool(sign and right.strip()) and len(left.split()) > 1


def rank_from_name(name: str) -> str:
    """Return the rank that the words of a name without authorship suggest; empty for one word.

    Example:
        >>> [rank_from_name(name) for name in ("Vanessa", "Vanessa atalanta", "Vanessa atalanta rubria")]
        ['', 'species', 'subspecies']
    """
    n = sum(word != "×" and not word.endswith(".") for word in name.split())
    return "" if n < 2 else "species" if n == 2 else "subspecies"
