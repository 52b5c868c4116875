"""Licences of texts and images: short names, and whether they are free (use and change by anyone, for any purpose)."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

Freedom = Literal["free", "not free", "unknown"]

# Conditions of Creative Commons in several languages, in the words of `_words`.
_CONDITIONS: Final = {
    "by": "by|attribution|namensnennung|reconocimiento|atribucion|atribuicao|paternite|attribuzione|naamsvermelding",
    "nc": "nc|non ?commercial(?:e|s)?|na?o ?comercial|nicht ?kommerziell|niet ?commercieel"
    "|pas d ?utilisation commerciale",
    "sa": "sa|share ?alike|weitergabe unter gleichen bedingungen|comparti[rl](?:ha)? ?igual|gelijk ?delen"
    "|partage (?:dans les memes conditions|a l identique)|condividi allo stesso modo",
    "nd": "nd|no ?deriv(?:ative)?s?(?: works)?|keine ?bearbeitung(?:en)?|s[ie][nm] ?(?:obra ?)?deriva(?:d[ao]s?|coes)"
    "|pas de modifications?|non opere derivate|geen ?afgeleide ?werken",
    "zero": r"zero|(?<![\d.])0(?![\d.])",
}
_OTHER_WORDS = "licen[cs]e|international|internacional|unported|generic|universal|public domain dedication"
_CONDITION = re.compile("|".join([*(f"(?P<{code}>{words})" for code, words in _CONDITIONS.items()), _OTHER_WORDS]))
_CC = re.compile(
    rf"\b(?:cc|creative ?commons)(?: ?(?:cc|creative commons|{'|'.join(_CONDITIONS.values())}|v?\d\.\d|version \d\.\d"
    rf"|{_OTHER_WORDS}))+(?![a-z])"
)
_WHOLE_CC = re.compile(
    rf"(?:bild )?({_CC.pattern})(?: (?:ar|at|au|be|br|ca|ch|cl|cn|co|cz|de|dk|ee|es|fi|fr|gr|hk|hr|hu|ie|igo|il|in|it"
    "|jp|kr|lu|mx|my|nl|no|nz|pe|ph|pl|pt|ro|rs|se|sg|si|th|tw|uk|us|vn|za|deutschland|germany|espana|spain|france"
    "|italia|italy|united states|united kingdom|osterreich|austria|schweiz|japan|brasil|brazil|australia|canada))?"
    "(?: licen[cs]e)?"
)
_CC_URL = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/([a-z+-]+)(?:/(\d\.\d))?", re.IGNORECASE)
# Whole names of free licences on wikis, as Wikimedia Commons accepts them ("Commons:Licensing" and the licence
# templates of Commons and of the German and French Wikipedia), without versions. The tables of SPDX and of
# license-expression have CeCILL, Etalab and CC-SA, but few others, nor the names in other languages.
_FREE_NAMES: Final = """
Public domain, Public Domain Mark, CC Public Domain Mark, Creative Commons Public Domain Mark, CC PDM, CC PD, PD,
PD-self, PD-user, PD-author, PD-old, PD-old-70, PD-old-100, PD-old-70-expired, PD-old-100-expired, PD-Art, PD-USGov,
PD-USGov-NASA, PD-USGov-FWS, PD-USGov-NPS, PD-USGov-NOAA, PD-USGov-USDA, PD-USGov-USGS, PD-ineligible, Bild-PD,
Bild-PD-alt, Bild-frei, No restrictions, No known restrictions, No known copyright restrictions, Copyrighted free use,
Copyrighted free use provided that, Gemeinfrei, Domaine public, Dominio público, Pubblico dominio, Publiek domein,
Domena publiczna, Общественное достояние, パブリックドメイン, 公有领域, GFDL, GNU FDL, GNU Free Documentation License,
FAL, Free Art License, Licence Art Libre, Lizenz Freie Kunst, GPL, GPL 2, GPL 3, GPLv2, GPLv3, LGPL, AGPL, AGPLv3,
GNU General Public License, MIT, MIT License, Expat, BSD, BSD License, BSD 2-Clause, BSD 3-Clause, Apache,
Apache License, MPL, Mozilla Public License, CeCILL, Unlicense, The Unlicense, WTFPL, Attribution, Attribution only,
Attribution only license, OGL, OGL 3, Open Government License, NLOD, IODL 2, IODL 2.0, ODbL, ODC-By, KOGL Type 1,
DL-DE-BY, DL-DE-Zero, Etalab, Licence Ouverte, GODL, GODL-India, Government Open Data License,
Government Open Data License India, Data licence Germany attribution, Data licence Germany zero,
Datenlizenz Deutschland Zero, Datenlizenz Deutschland Namensnennung
"""
_LATER = re.compile(r"(?: or)?(?: any)? later(?: versions?)?\b")
_VERSION = re.compile(r"(?: v| version)? ?(?<![\w.])v?\d\.\d\b| v\d\b")
_SEVERAL = re.compile(r"[,;|]|\b(?:or|and|oder|und)\b")
# Searched in the midst of texts without blanks too, since they only take freedom away.
_LIMITS = re.compile(
    r"noncom|na?ocom|(?:nicht|keine)kom|nietcom|(?:utilisation|usage)(?:non)?comm|com+erc[a-z]*use(?:not|proh|forb)"
    r"|com+ercialprohib|noderiv|keinebearb|(?:pasde|sans)modif|s[ie][nm](?:obra)?deriva|nonoperederiv|geenafgel|fairuse"
    r"|fairdealing|allrightsreserved|nonfree|permission|genehmigung|copyrighted(?!free)"
)
_LIMITING_WORDS = re.compile(r"\bn[cd]\b|\bnicht\b|\bnot\b.{0,20}\b(?:public domain|free)\b")


def _words(text: str) -> str:
    """Return a text in small letters without accents; its words apart, also in `NonCommercial`, most marks left out."""
    apart = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Ý])", " ", unicodedata.normalize("NFC", text))
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", apart) if not unicodedata.combining(sign))
    return " ".join(re.sub(r"(?<!\d)\.|\.(?!\d)|[^\w.,;|]|_", " ", plain.casefold()).split())


def _compact(words: str) -> str:
    return re.sub(r"[ ,;|]", "", words).replace("licence", "license")


_FREE: Final = frozenset(_compact(_words(name)) for name in _FREE_NAMES.split(","))


def _is_limited(words: str) -> bool:
    return _LIMITS.search(_compact(words)) is not None or _LIMITING_WORDS.search(words) is not None


def _conditions(words: str) -> list[str]:
    """Return the conditions of Creative Commons in a licence's words, each once."""
    return list(dict.fromkeys(found.lastgroup for found in _CONDITION.finditer(words) if found.lastgroup))


def _are_free(conditions: list[str]) -> bool:
    return conditions in (["by"], ["by", "sa"], ["sa"], ["zero"], ["mark"])


def _is_free_name(words: str) -> bool:
    """Return whether a name is understood as a whole, and free; of several, each must be."""
    if found := _WHOLE_CC.fullmatch(" ".join(re.sub(r"[,;|]", " ", words).split())):
        return _are_free(_conditions(found[1]))
    whole = _LATER.sub("", words)
    if {_compact(whole), _compact(_VERSION.sub("", whole))} & _FREE:
        return True
    parts = [part.strip() for part in _SEVERAL.split(whole)]
    return len(parts) > 1 and all(map(_is_free_name, parts))


def licence_freedom(name: str, url: str = "", *, is_marked_unfree: bool = False) -> Freedom:
    """Return whether a licence is free: restrictions are "not free"; what is not understood as a whole is "unknown"."""
    words, address = _words(name), _CC_URL.search(url)
    of_url = address[1].lower().split("-") if address else []
    of_name = [each for found in _CC.finditer(words) for each in _conditions(found[0])]
    if is_marked_unfree or _is_limited(words) or {"nc", "nd"} & {*of_url, *of_name}:
        return "not free"
    if (address and not _are_free(of_url)) or not (words or address) or (words and not _is_free_name(words)):
        return "unknown"
    return "free"


def short_licence(name: str, url: str = "") -> str | None:
    """Return the short name of a licence from its name and address; an unknown name unchanged, or None."""
    if address := _CC_URL.search(url):
        conditions = address[1].lower().split("-")
        if conditions == ["mark"]:
            return "Public domain"
        if set(conditions) <= _CONDITIONS.keys():
            return _short(conditions, address[2])
    return " ".join(name.split()) or url or None


def licence_in(statement: str) -> str | None:
    """Return the short name of the Creative Commons licence in a statement that does not limit it further, or None."""
    if found := _CC_URL.search(statement):
        name = short_licence("", found[0])
        return None if name == found[0] else name
    words = _words(statement)
    for found in _CC.finditer(words):
        if conditions := _conditions(found[0]):
            if not {"nc", "nd"} & set(conditions) and _is_limited(words):
                return None
            version = re.search(r"\d\.\d", found[0])
            return _short(conditions, version and version[0])
    return None


def _short(conditions: list[str], version: str | None) -> str:
    if "zero" in conditions:
        return "CC0 1.0"
    return " ".join(filter(None, ("CC", "-".join(conditions).upper(), version)))
