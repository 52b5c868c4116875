"""Index page of a folder of cards, made from the cards themselves, so that it is complete after any number of runs."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from data.errors import UsageError
from data.files import replacing
from data.words import plural
from recognize.cards.pictures import STYLE

NAME: Final = "index.html"
_HEAD_BYTES: Final = 64 * 1024  # the entry of a card lies here, with its thumbnail of about 8 kB
_ENTRY: Final = re.compile(r'<meta name=fieldmark-card content="([^"]*)">')
_HEADING: Final = "<main class=index><h1>Identified photos</h1>"
_STYLE: Final = """
main.index { display: block; } .grid { display: grid; gap: 1rem; padding: 0; margin: 1rem 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
.grid a { display: block; height: 100%; padding: .7rem; background: var(--sheet); border: 1px solid var(--line);
  border-radius: 12px; text-decoration: none; } .grid a:hover { border-color: var(--leaf); }
.grid img { display: block; width: 100%; height: auto; aspect-ratio: 1; object-fit: contain; border-radius: 6px; }
.grid b, .grid span { display: block; } .grid .sure { color: var(--leaf); font-weight: 600; }
"""
_STATUS: Final = {
    "identified": "identified",
    "not_sure": "not sure",
    "unknown": "probably not in the knowledge base",
    "no_bird": "without a bird",
    "error": "unreadable",
}


def check_folder(folder: Path) -> None:
    """Check that the index of cards replaces no other page.

    Raises:
        UsageError: if `index.html` was not written by `write_index`.
    """
    index = folder / NAME
    if index.exists() and not (index.is_file() and _HEADING in _head(index)):
        raise UsageError(f"{index} exists but was not written by kb identify.", hint="Choose another --cards.")


def is_card(page: Path) -> bool:
    """Return whether a file is the card of a photo."""
    return page.is_file() and _entry_of(page) is not None


def write_index(folder: Path) -> Path | None:
    """Write the index of all cards in a folder and return its path; None where there are no cards."""
    pages = sorted((path for path in folder.glob("*.html") if path.name != NAME), key=lambda path: path.name.lower())
    counts: Counter[str] = Counter()
    index = folder / NAME
    if not pages:
        return None
    with replacing(index) as file, file.open("w", encoding="utf-8", errors="replace") as out:
        out.write(
            "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>Identified photos</title>"
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; "
            "style-src 'unsafe-inline'\">"
            '<meta name=viewport content="width=device-width, initial-scale=1">'
            f"<style>{STYLE}{_STYLE}</style></head><body>{_HEADING}<ul class=grid>\n"
        )
        for page in pages:
            found = _entry_of(page)
            if found is not None:
                counts[found["status"]] += 1
                out.write(_tile(page, found))
        kinds = ", ".join(f"{counts[status]:,} {words}" for status, words in _STATUS.items() if counts[status])
        out.write(
            f"</ul><footer class=small>{plural(counts.total(), 'photo')}: {kinds}.</footer></main></body></html>\n"
        )
    return index


def _entry_of(page: Path) -> Mapping[str, str] | None:
    """Return the entry of a card; None for a page that is not a card."""
    found = _ENTRY.search(_head(page))
    return json.loads(html.unescape(found[1])) if found else None


def _head(page: Path) -> str:
    with page.open("rb") as file:
        return file.read(_HEAD_BYTES).decode("utf-8", errors="replace")


def _tile(page: Path, found: Mapping[str, str]) -> str:
    scientific = f"<span class=sci>{escape(found['scientific'])}</span>" if found["scientific"] else ""
    sure = f"<span class=sure>{escape(found['sure'])}</span>" if found["sure"] else ""
    return (
        f'<li><a href="{quote(page.name)}">{found["picture"]}<b>{escape(found["answer"])}</b>{scientific}{sure}'
        f"<span class=small>{escape(found['photo'])}</span></a></li>\n"
    )
