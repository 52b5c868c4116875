"""HTML of strangers, parsed."""

from __future__ import annotations

from bs4 import BeautifulSoup


def soup_of(html: str, parser: str = "html.parser") -> BeautifulSoup:
    """Return parsed HTML, by Python's own parser or one that Beautiful Soup knows by name.

    A text without tags gets a line end: else Beautiful Soup warns at length of texts that look like addresses or names
    of files, such as the credit of a photo.
    """
    return BeautifulSoup(html if "<" in html else f"{html}\n", parser)
