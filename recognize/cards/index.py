"""Index page of a folder of cards, made from the cards themselves, so that it is complete after any number of runs."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from data.errors import UsageError
from data.pages import write_page
from data.words import plural

NAME: Final = "index.html"
_HEAD_BYTES: Final = 64 * 1024  # the entry of a card lies here, with its thumbnail of about 8 kB
_ENTRY: Final = re.compile(r'<meta name=fieldmark-card content="([^"]*)">')
_HEADING: Final = "<main class=index><h1>Identified photos</h1>"
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
    if not pages:
        return None

    def tiles() -> Iterator[tuple[Path, Mapping[str, str]]]:
        for page in pages:
            if (found := _entry_of(page)) is not None:
                counts[found["status"]] += 1
                yield page, found

    def counted() -> str:
        kinds = ", ".join(f"{counts[status]:,} {words}" for status, words in _STATUS.items() if counts[status])
        return f"{plural(counts.total(), 'photo')}: {kinds}."

    counts: Counter[str] = Counter()
    write_page(folder / NAME, "recognize", "index.html", title="Identified photos", tiles=tiles(), counted=counted)
    return folder / NAME


def _entry_of(page: Path) -> Mapping[str, str] | None:
    """Return the entry of a card; None for a page that is not a card."""
    found = _ENTRY.search(_head(page))
    return json.loads(html.unescape(found[1])) if found else None


def _head(page: Path) -> str:
    with page.open("rb") as file:
        return file.read(_HEAD_BYTES).decode("utf-8", errors="replace")
