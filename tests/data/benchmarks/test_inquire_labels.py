"""Labels of INQUIRE's queries: complete, consistent with INQUIRE's own list and with their stated rule."""

import csv
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from data.benchmarks.inquire_labels import label_by_id, label_of

TABLE = files("data.benchmarks").joinpath("inquire_labels.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(line for line in TABLE.splitlines() if not line.startswith("#")))


def words_of(row: dict[str, str], *columns: str) -> list[str]:
    return [word for column in columns for word in row[column].split("; ") if word]


def test_250_queries_have_one_label_each() -> None:
    labels = {row["query_id"]: label_by_id(row["query_id"]) for row in ROWS}
    assert len(labels) == len(ROWS) == 250
    assert Counter(row["split"] for row in ROWS) == {"test": 200, "val": 50}
    assert Counter(label and label.lingo for label in labels.values()) == {"lingo": 32, "non-lingo": 218}


def test_exactly_the_lingo_queries_have_technical_words() -> None:
    assert [row["query_id"] for row in ROWS if bool(row["words"]) != (row["lingo"] == "lingo")] == []


def test_the_table_has_the_rule_but_no_query_texts() -> None:
    assert "# The rule." in TABLE
    assert max(len(words_of(row, "words", "weighed")) for row in ROWS) <= 2


@pytest.mark.parametrize(("query_id", "lingo"), [("269", "lingo"), ("62", "lingo"), ("129", "non-lingo")])
def test_published_examples_have_their_published_labels(query_id: str, lingo: str) -> None:
    assert label_by_id(query_id).lingo == lingo


def test_an_unknown_query_has_no_label() -> None:
    assert label_of("a purple heron dancing") is None
    assert label_by_id("1000") is None


def test_the_labels_agree_with_inquires_own_list(shared: Path) -> None:
    for split in ("test", "val"):
        with (shared / "benchmarks" / f"inquire_queries_{split}.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                label = label_of(row["query_text"])
                assert label is not None, row
                ours = next(ours for ours in ROWS if ours["query_id"] == label.query_id)
                assert (label.query_id, ours["split"]) == (row["query_id"], split)
                assert label.supercategory == row["supercategory"]
                text = row["query_text"].casefold()
                assert [word for word in words_of(ours, "words", "weighed") if word.casefold() not in text] == []
