"""Licences of texts and images: short names, and whether they are free (use and change by anyone, for any purpose)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from data.codec import load_json
from kb.sources.plain_text import title_of

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_CC_LINK = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/", re.IGNORECASE)
_META = frozenset(
    ("dc.rights.license", "dc.rights.licence", "dcterms.license", "dcterms.licence", "license", "licence")
)
_MEDIA = frozenset(("imageobject", "videoobject", "audioobject", "mediaobject", "dataset", "softwareapplication"))
_SPEAKS_OF_TEXT = re.compile(
    r"\b(?:text|content|contents|page|site|website|work|article|material)s?\b.{0,120}\b(?:licen[cs]ed?|available|released)\b"
    r"|\blicen[cs]ed under\b",
    re.IGNORECASE | re.DOTALL,
)
_OF_TEXT = re.compile(r"\b(?:texts?|contents?|pages?|site|website|works?|articles?)\b", re.IGNORECASE)
_OF_MEDIA = re.compile(
    r"\b(?:photo(?:graph)?s?|pictures?|images?|videos?|audio|sounds?|recordings?|maps?|illustrations?|drawings?)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\bCC|Creative Commons", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\d\s])|[|•·]|\n\s*\n")
_BLOCKS = ("p", "li", "div", "footer", "small", "section", "td", "body")
_NOT_READ = ("a", "script", "style", "noscript", "nav", "form")
_WITH_PHOTOS = ("figure", "figcaption", "picture", "table")
MAX_CHARACTERS = 200


def stated_licence(soup: BeautifulSoup) -> str | None:
    """Return the licence of the text of a page, by its short name where known, or None if it states none.

    Statements are links with `rel=license`, the `license` of JSON-LD about the page (not about its pictures), `meta`
    tags, and links to Creative Commons, or their names, beside words about the page's content. If they disagree,
    nothing is stated: one of them may be about a photo.
    """
    found = {licence for name, url in _statements(soup) if (licence := short_licence(name, url))}
    if len(found) != 1:
        return None
    return title_of(found.pop())[:MAX_CHARACTERS] or None


def _statements(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """Yield name and address of every licence stated for the text."""
    for tag in soup.find_all(("link", "a")):
        if tag.find_parent(_WITH_PHOTOS) is not None:
            continue
        address, relations = str(tag.get("href") or ""), [str(each).lower() for each in tag.get_attribute_list("rel")]
        if {"license", "licence"} & set(relations):
            yield title_of(tag.get_text(" ")), address
        elif tag.name == "a" and _CC_LINK.search(address) and _is_of_text(_around(tag)):
            yield "", address
    yield from _named(soup)
    for meta in soup.find_all("meta"):
        name = str(meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower()
        if name in _META and (content := str(meta.get("content") or "").strip()):
            yield ("", content) if "://" in content else (content, "")
    for script in soup.find_all("script", type="application/ld+json"):
        try:
            content = load_json(script.get_text())
        except ValueError:
            continue
        for licence in _json_ld(content):
            yield ("", licence) if "://" in licence else (licence, "")


def _around(link: Tag) -> str:
    parent = link.find_parent(_BLOCKS[:-1])
    return (parent or link).get_text(" ")[:1_000]


def _is_of_text(statement: str) -> bool:
    """Return whether a statement on a licence speaks of the text of the page, and not of a photo alone."""
    if _OF_MEDIA.search(statement) and not _OF_TEXT.search(statement):
        return False
    return _SPEAKS_OF_TEXT.search(statement) is not None


def _named(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """Yield the name of each Creative Commons licence that a sentence without a link states for the text."""
    for string in soup.find_all(string=_NAMED):
        if string.find_parent((*_WITH_PHOTOS, *_NOT_READ)) is not None:
            continue
        block = string.find_parent(_BLOCKS)
        if block is None or block.find("a", href=_CC_LINK) is not None:  # the link says more
            continue
        for sentence in _SENTENCE.split(str(string) if block.name == "body" else block.get_text(" ")[:2_000]):
            if _is_of_text(sentence) and (named := licence_in(sentence)):
                yield named, ""


def _json_ld(content: object) -> Iterator[str]:
    """Yield the licences of the objects at the top of JSON-LD, or in its `@graph`."""
    if isinstance(content, list):
        for each in content:
            yield from _json_ld(each)
    if not isinstance(content, dict):
        return
    yield from _json_ld(content.get("@graph"))
    kinds = content.get("@type")
    if {str(kind).lower() for kind in (kinds if isinstance(kinds, list) else [kinds])} & _MEDIA:
        return
    licence = content.get("license")
    for each in licence if isinstance(licence, list) else [licence]:
        value = each.get("@id") or each.get("url") or each.get("name") if isinstance(each, dict) else each
        if isinstance(value, str) and value.strip():
            yield value.strip()


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
