"""Rows as text: safe for terminals and spreadsheets, and always writable."""

from __future__ import annotations

import csv
import json

import pytest

from cli.verbs import identify_rows as rows
from data.records import Candidate, Identification, Reading

WREN = Candidate(
    taxon_id="troglodytes-troglodytes", scientific_name="Troglodytes troglodytes", common_name="Wren", score=1.0
)


def row(image: str, *, reason: str = "") -> Identification:
    reading = Reading(choice=WREN.taxon_id, agreement=1.0, reason=reason)
    return Identification(image=image, candidates=(WREN,), preset="default", kb="birds.kb", reader=reading)


def cells(line: str) -> dict[str, str]:
    return dict(zip(rows.COLUMNS, next(csv.reader([line])), strict=True))


def test_spreadsheet_formulas_are_escaped_in_csv() -> None:
    for text in ("=HYPERLINK(1)", "+1", "-1", "@SUM(1)"):
        found = cells(rows.lines("csv", row(f"{text}.jpg", reason=text)))
        assert (found["image"], found["reader_reason"]) == (f"'{text}.jpg", f"'{text}")


def test_control_characters_are_removed_from_the_table() -> None:
    text = rows.lines("table", row("a\x1b[2Jb.jpg", reason="a \x1b]0;wren\x07"), why="by \x9b31m")
    assert not {"\x1b", "\x07", "\x9b"}.intersection(text)


@pytest.mark.parametrize("form", rows.FORMATS)
def test_lone_surrogates_are_replaced(form: rows.Form) -> None:
    text = rows.lines(form, row("caf\udce9.jpg", reason="sings \ud83d"))
    assert text.encode("utf-8", "surrogateescape").count(b"caf\xe9.jpg") == 1
    assert "sings \ufffd" in text
    if form == "jsonl":
        assert json.loads(text)["reader"]["reason"] == "sings \ufffd"
