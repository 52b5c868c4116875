"""Labels of INQUIRE's 250 queries: supercategory, and whether they contain technical terms (lingo).

`inquire_labels.csv` beside this module states the labelling rule. It contains no query text; a query is identified by
its id, or by the hash of its text.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from data.files import sha256_hex

HASH_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLabel:
    """The labels of one query of INQUIRE."""

    query_id: str
    split: Literal["test", "val"]
    supercategory: str
    """Appearance, Behavior, Context or Species."""
    lingo: Literal["lingo", "non-lingo"]
    words: tuple[str, ...]
    """The technical terms that make it `lingo`."""
    weighed: tuple[str, ...]
    """Words that were considered and found plain."""

    @property
    def strata(self) -> dict[str, str]:
        """Axis -> label, for splitting results."""
        return {"supercategory": self.supercategory, "lingo": self.lingo}


def text_key(text: str) -> str:
    """Return the hash that identifies a query text; case and white space do not matter."""
    return sha256_hex(" ".join(text.casefold().split()))[:HASH_DIGITS]


def label_of(text: str) -> QueryLabel | None:
    """Return the label of the query with that text, None if INQUIRE has no such query.

    Example:
        >>> label_of("a purple robin") is None
        True
    """
    return _by_text().get(text_key(text))


def label_by_id(query_id: str) -> QueryLabel | None:
    """Return the label of the query with that id; ids are plain numbers, which other data sets use too.

    Example:
        >>> label = label_by_id("128")
        >>> label.supercategory, label.lingo, label.weighed
        ('Appearance', 'non-lingo', ('albino',))
    """
    return _by_id().get(query_id)


@cache
def query_labels() -> tuple[QueryLabel, ...]:
    """Return all 250 labels, sorted by id."""
    return tuple(label for label, _ in _rows())


@cache
def _by_text() -> dict[str, QueryLabel]:
    return {key: label for label, key in _rows()}


@cache
def _by_id() -> dict[str, QueryLabel]:
    return {label.query_id: label for label in query_labels()}


@cache
def _rows() -> tuple[tuple[QueryLabel, str], ...]:
    text = files("data.benchmarks").joinpath("inquire_labels.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        (
            QueryLabel(
                query_id=row["query_id"],
                split=cast(Literal["test", "val"], row["split"]),
                supercategory=row["supercategory"],
                lingo=cast(Literal["lingo", "non-lingo"], row["lingo"]),
                words=_words(row["words"]),
                weighed=_words(row["weighed"]),
            ),
            row["text_sha256"],
        )
        for row in rows
    )


def _words(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("; ")) if cell else ()
