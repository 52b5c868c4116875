"""Which kind of query each of INQUIRE's 250 is: its supercategory, and whether it holds words of the trade.

`inquire_labels.csv` beside this module states the rule that the labels were made by. It holds no query text; a query is
known by its id, or again by its text.
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
    """What is known of a query of INQUIRE."""

    query_id: str
    split: Literal["test", "val"]
    supercategory: str
    """Appearance, Behavior, Context or Species."""
    lingo: Literal["lingo", "non-lingo"]
    words: tuple[str, ...]
    """The words of the trade that make it `lingo`."""
    weighed: tuple[str, ...]
    """Words that were thought about and found plain."""

    @property
    def strata(self) -> dict[str, str]:
        """The label on each axis that results are split by."""
        return {"supercategory": self.supercategory, "lingo": self.lingo}


def text_key(text: str) -> str:
    """Return what a query's text is known by: case and white space do not matter."""
    return sha256_hex(" ".join(text.casefold().split()))[:HASH_DIGITS]


def label_of(text: str) -> QueryLabel | None:
    """Return the label of the query of that text, None for a text that is none of INQUIRE's.

    Example:
        >>> label_of("a purple robin") is None
        True
    """
    return _by_text().get(text_key(text))


def label_by_id(query_id: str) -> QueryLabel | None:
    """Return the label of the query of that id; ids of INQUIRE are plain numbers, which others may use as well.

    Example:
        >>> label = label_by_id("128")
        >>> label.supercategory, label.lingo, label.weighed
        ('Appearance', 'non-lingo', ('albino',))
    """
    return _by_id().get(query_id)


@cache
def query_labels() -> tuple[QueryLabel, ...]:
    """Return all 250 labels, by rising id."""
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
