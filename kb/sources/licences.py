"""Licences of texts and images: short names, and whether they are free (use and change by anyone, for any purpose)."""

from __future__ import annotations

import re
from typing import Literal

Freedom = Literal["free", "not free", "unknown"]

_CC_URL = re.compile(
    r"creativecommons\.org/(?:licenses/([a-z+-]+)/(\d\.\d)(?:/([a-z]{2})\b)?|(publicdomain/zero|licenses/publicdomain|publicdomain/mark))",
    re.I,
)
_CC_NAME = re.compile(
    r"^(?:cc|creative commons)[\s-]*(by(?:[\s-]*(?:nc|sa|nd))*)[\s-]*(\d(?:\.\d)?(?:[,-]\d\.\d)*)?", re.IGNORECASE
)
_CC_WORDS = re.compile(r"creative commons.*?attribution", re.IGNORECASE | re.DOTALL)
_CC_ZERO = re.compile(r"\bcc[\s-]*(?:0|zero)\b|\bcreative commons zero\b", re.IGNORECASE)
_PUBLIC_DOMAIN = re.compile(
    r"\bpublic domain\b|^pd(?:[\s-]|$)|\bno restrictions\b|\bcopyrighted free use\b|\bcc[\s-]*pd", re.IGNORECASE
)
_OTHER_FREE = re.compile(
    r"\b(?:gfdl|gnu free documentation|free art licen[cs]e|fal\b|l?gpl|mit\b|bsd\b|apache|ogl\b|mpl\b|expat|odc-by"
    r"|open government licen[cs]e|attribution(?: only)?$|attribution only licen[cs]e|kogl type ?1|dl-de|etalab"
    r"|data licen[cs]e germany)",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(
    r"\bnc\b|non-?commercial|\bnd\b|no-?deriv|fair[ -]use|all rights reserved|non-?free|copyrighted(?! free)"
    r"|permission",
    re.IGNORECASE,
)


def licence_freedom(name: str, url: str = "", *, is_marked_unfree: bool = False) -> Freedom:
    """Return whether a licence is free; unknown texts are "unknown", and restrictions always mean "not free"."""
    if is_marked_unfree or _NOT_FREE.search(name):
        return "not free"
    match = _CC_URL.search(url)
    if match and match[1] and {"nc", "nd"} & set(re.split(r"[-+]", match[1].lower())):
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
