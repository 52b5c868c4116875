"""Parsers of documents of strangers: HTML, and packages of the extra `web`, imported when a page is read."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from bs4 import BeautifulSoup

from data.errors import MissingDependency

_NAMES = {"pypdf": "pypdf", "protego": "Protego", "trafilatura": "trafilatura"}
"""Module -> name on the package index."""


def soup_of(html: str, parser: str = "html.parser") -> BeautifulSoup:
    """Return parsed HTML, by Python's own parser or one that Beautiful Soup knows by name.

    A text without tags gets a line end: else Beautiful Soup warns at length of texts that look like addresses or names
    of files, such as the credit of a photo.
    """
    return BeautifulSoup(html if "<" in html else f"{html}\n", parser)


def required(module: str) -> Any:  # noqa: ANN401  # a module
    """Return a module of the extra `web`.

    Raises:
        MissingDependency: if it is not installed; the hint is the pip command.
    """
    logging.getLogger(module).setLevel(logging.CRITICAL)  # what is wrong with a document is reported by us
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(_NAMES[module], extra="web") from error
