"""Licences of texts and images: short names, and whether they are free (use and change by anyone, for any purpose)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from bs4 import BeautifulSoup, Tag

from data.codec import load_json
from kb.checklist.stored.usage import licence_name
from kb.sources.plain_text import title_of

_CC = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/", re.IGNORECASE)
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
_NAMED = re.compile(
    r"\b(?:CC0(?: 1\.0)?|CC[ -]BY(?:-(?:NC|SA|ND))*(?:[ -]\d\.\d)?"
    r"|Creative Commons Attribution(?:[ -](?:NonCommercial|ShareAlike|NoDerivatives|NoDerivs))*(?: \d\.\d)?)",
    re.IGNORECASE,
)
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
        if not isinstance(tag, Tag) or tag.find_parent(_WITH_PHOTOS) is not None:
            continue
        address, relations = str(tag.get("href") or ""), [str(each).lower() for each in tag.get_attribute_list("rel")]
        if {"license", "licence"} & set(relations):
            yield title_of(tag.get_text(" ")), address
        elif tag.name == "a" and _CC.search(address) and _is_of_text(_around(tag)):
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
        if block is None or block.find("a", href=_CC) is not None:  # the link says more
            continue
        for sentence in _SENTENCE.split(str(string) if block.name == "body" else block.get_text(" ")[:2_000]):
            named = _NAMED.search(sentence)
            if named is not None and _is_of_text(sentence):
                yield licence_name(named[0]), ""


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

_CC_URL = re.compile(
    r"creativecommons\.org/(?:licenses/([a-z+-]+)/(\d\.\d)(?:/([a-z]{2})\b)?|(publicdomain/zero|licenses/publicdomain|publicdomain/mark))",
    re.I,
)
_CC_NAME = re.compile(
    r"^(?:bild-)?(?:cc|creative commons)[\s-]*((?:by|sa\b)(?:[\s-]*(?:nc|sa|nd))*)[\s-]*(\d(?:\.\d)?(?:[,-]\d\.\d)*)?",
    re.IGNORECASE,
)
_CC_WORDS = re.compile(
    r"creative commons.*?(?:attribution|namensnennung|reconocimiento|atribuci[oó]n)", re.I | re.DOTALL
)
_CC_ZERO = re.compile(r"\bcc[\s-]*(?:0|zero)\b|\bcreative commons zero\b", re.IGNORECASE)
# Names of free licences on wikis, as Wikimedia Commons accepts them ("Commons:Licensing" and the licence templates of
# Commons and of the German and French Wikipedia). The tables of SPDX and of license-expression have CeCILL, Etalab and
# CC-SA, but none of the others, nor the names in other languages.
_PUBLIC_DOMAIN = re.compile(
    r"\bpublic domain\b|^pd(?:[\s-]|$)|\bno (?:known copyright )?restrictions\b|\bcopyrighted free use\b|\bcc[\s-]*pd"
    r"|^gemeinfrei|^bild-(?:pd|frei)\b|^domaine public|^dominio p[uú]blico|^dom[ií]nio p[uú]blico"
    r"|^pubblico dominio|^publiek domein|^domena publiczna|^общественное достояние|^パブリックドメイン|^公有领域",
    re.IGNORECASE,
)
_OTHER_FREE = re.compile(
    r"\b(?:gfdl|gnu free documentation|gnu-fdl|free art licen[cs]e|licence art libre|lizenz freie kunst|fal\b|[al]?gpl"
    r"|mit\b|bsd\b|apache|ogl\b|mpl\b|expat|odc-by|odbl|cecill|unlicense|wtfpl|open government licen[cs]e|nlod\b"
    r"|iodl[\s-]?2|attribution(?: only)?$|attribution only licen[cs]e|kogl[\s-]*type[\s-]?1|dl-de|etalab"
    r"|licence ouverte|godl(?:-india)?\b|government open data licen[cs]e|data licen[cs]e germany"
    r"|datenlizenz deutschland)",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(
    r"\bnc\b|non-?commercial|\bnd\b|no-?deriv|fair[ -]use|all rights reserved|non-?free|copyrighted(?! free)|permission"
    r"|\bnot\b.{0,20}\b(?:public domain|free)\b|\bnicht|utilisation commerciale|non commerciale"
    r"|n[oã]o? comercial|niet-commercieel|keine bearbeitung|(?:pas de|sans) modification|sin (?:obra )?deriva"
    r"|sem deriva|non opere derivate|geen afgeleide",
    re.IGNORECASE,
)


def licence_freedom(name: str, url: str = "", *, is_marked_unfree: bool = False) -> Freedom:
    """Return whether a licence is free; unknown texts are "unknown", and restrictions always mean "not free"."""
    if is_marked_unfree or _NOT_FREE.search(name):
        return "not free"
    match, named = _CC_URL.search(url), _CC_NAME.search(name.strip())
    if re.search("n[cd]", f"{match[1] if match else ''} {named[1] if named else ''}", re.IGNORECASE):
        return "not free"
    free_names = (_CC_NAME, _CC_ZERO, _PUBLIC_DOMAIN, _OTHER_FREE, _CC_WORDS)
    if any(pattern.search(name.strip()) for pattern in free_names) or (match and not name.strip()):
        return "free"
    return "unknown"


def short_licence(name: str, url: str = "") -> str | None:
    """Return the short name of a licence from its name and address; an unknown name unchanged, or None."""
    name = " ".join(name.split())
    if match := _CC_URL.search(url):
        if match[1]:
            return f"CC {match[1].upper()} {match[2]}"
        return "CC0 1.0" if match[4] and "zero" in match[4] else "Public domain"
    if not name and not url:
        return None
    return name or url
