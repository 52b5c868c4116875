"""Description of a picture by its wiki: address, size, author and licence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from data.errors import MalformedAnswer
from data.files import sha256_hex
from kb.sources.mediawiki.client.answers import Json, number, record, records, text
from kb.sources.soup import soup_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """A file of the wiki; with a `problem`, only its version is known."""

    version: str
    """Hash of all that the wiki states; changes with photo, author and licence."""
    problem: str = ""
    url: str = ""
    thumbnail_url: str = ""
    page_url: str = ""
    media_type: str = ""
    width: int = 0
    height: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    """As plain text, without HTML and extra spaces."""


def read_file_info(page: Json) -> FileInfo | None:
    """Return what a page of a query for `imageinfo` states, or None without a file."""
    if not page.get("imageinfo", True):
        return None
    version = sha256_hex(json.dumps(page.get("imageinfo"), sort_keys=True))[:16]
    try:
        info = next(iter(records(page, "imageinfo")), None)
        if info is None:
            return None
        version = sha256_hex(json.dumps(info, sort_keys=True))[:16]
        return FileInfo(
            version=version,
            url=text(info, "url"),
            thumbnail_url=text(info, "thumburl"),
            page_url=text(info, "descriptionurl"),
            media_type=text(info, "mime"),
            width=number(info, "width") or 0,
            height=number(info, "height") or 0,
            metadata={key: _value(item) for key, item in record(info, "extmetadata").items()},
        )
    except MalformedAnswer as error:
        return FileInfo(version=version, problem=str(error))


def _value(item: object) -> str:
    value = item.get("value", "") if isinstance(item, dict) else item
    if not isinstance(item, dict) or not isinstance(value, str | int | float):
        # Not skipped: it may be the mark of a file that is not free.
        raise MalformedAnswer(f"Expected a text as metadata of a file, got {type(value).__name__}")
    return _plain(str(value))


def _plain(value: str) -> str:
    if "<" not in value and "&" not in value:
        return " ".join(value.split())
    soup = soup_of(value)
    for hidden in soup.select('[style*="display:none"], [style*="display: none"], script, style'):
        hidden.decompose()
    return " ".join(soup.get_text(" ").split())[:300]
