"""Labels of INQUIRE's 250 queries: supercategory, and whether they contain technical terms (lingo).

`inquire_labels.csv` beside this module states the labelling rule. It contains no query text; a query is identified by
its id, or by the hash of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from data.files import sha256_hex
from data.tables import open_table

HASH_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLabel:
    """The labels of one query of INQUIRE."""

    query_id: str
    supercategory: str
    """Appearance, Behavior, Context or Species."""
    lingo: str
    """`lingo` or `non-lingo`."""

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
    return _labels("text_sha256").get(text_key(text))


def label_by_id(query_id: str) -> QueryLabel | None:
    """Return the label of the query with that id; ids are plain numbers, which other data sets use too.

    Example:
        >>> label = label_by_id("128")
        >>> label.supercategory, label.lingo
        ('Appearance', 'non-lingo')
    """
    return _labels("query_id").get(query_id)


@cache
def _labels(column: str) -> Mapping[str, QueryLabel]:
    content = files("papers.datasets").joinpath("inquire_labels.csv").read_bytes()
    rows = open_table(content, {column: (column,)}, place="inquire_labels.csv").frame.to_dict("records")
    return {
        row[column]: QueryLabel(query_id=row["query_id"], supercategory=row["supercategory"], lingo=row["lingo"])
        for row in rows
    }
