"""Rows as text: safe for terminals and spreadsheets, always writable, and typed for pandas."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from pandas.api import types

from cli.verbs import identify_rows as rows
from cli.verbs.identify_formats import NAMES
from data.codec import loads
from data.records import Candidate, Identification, Reading
from recognize import to_frame

WREN = Candidate(
    taxon_id="troglodytes-troglodytes", scientific_name="Troglodytes troglodytes", common_name="Wren", score=1.0
)


def row(image: str, reason: str) -> Identification:
    reading = Reading(choice=WREN.taxon_id, agreement=1.0, reason=reason)
    return Identification(image=image, candidates=(WREN,), preset="default", kb="birds.kb", reader=reading)


def test_formulas_and_control_characters_are_harmless() -> None:
    for text in ("=HYPERLINK(1)", "+1", "-1", "@SUM(1)"):
        cells = next(csv.reader([rows.lines("csv", row(f"{text}.jpg", text))]))
        found = dict(zip(rows.columns_of("photos"), cells, strict=True))
        assert (found["image"], found["reader_reason"]) == (f"'{text}.jpg", f"'{text}")
    text = rows.lines("table", row("a\x1b[2Jb.jpg", "a \x1b]0;wren\x07"), why="by \x9b31m")
    assert not {"\x1b", "\x07", "\x9b"}.intersection(text)


def test_lone_surrogates_are_replaced() -> None:
    for form in NAMES:
        text = rows.lines(form, row("caf\udce9.jpg", "sings \ud83d"))
        assert text.encode("utf-8", "surrogateescape").count(b"caf\xe9.jpg") == 1
        assert "sings \ufffd" in text
    assert json.loads(rows.lines("jsonl", row("a", "\ud83d")))["reader"]["reason"] == "\ufffd"


def test_pandas_reads_the_same_rows_with_types_from_csv_and_parquet(
    cli: Any, calibrated_kb: Path, drawings: Path
) -> None:
    (drawings / "bad.png").write_bytes(b"no picture")
    n_rows_per: dict[Any, int] = {"photos": 5, "candidates": 4 * 5 + 1}
    for per, n_rows in n_rows_per.items():
        for form in ("csv", "parquet", "jsonl"):
            command = ("identify", drawings, "--kb", calibrated_kb, "--rows", per, "--output", f"{per}.{form}")
            more = () if form == "jsonl" else ("--columns", "all")
            assert cli.call(*command, *more).exit_code == 7
        from_csv, from_parquet = pandas.read_csv(f"{per}.csv"), pandas.read_parquet(f"{per}.parquet")
        wanted = rows.columns_of(per)
        assert list(from_csv.columns) == list(from_parquet.columns) == list(wanted)
        assert len(from_csv) == len(from_parquet) == n_rows
        for name, kind in wanted.items():
            assert types.is_numeric_dtype(from_parquet[name]) == (kind != "text"), name
            if from_csv[name].notna().any():
                assert types.is_numeric_dtype(from_csv[name]) == (kind != "text"), name
        named = ["image", "status", "answer_scientific_name", "preset"]
        assert from_parquet[named].equals(from_csv[named])
        assert from_csv["confidence"].notna().any()
        lines = Path(f"{per}.jsonl").read_text().splitlines()
        frame = to_frame((loads(Identification, line) for line in lines), per=per)
        same = [name for name in wanted if name != "seconds"]
        pandas.testing.assert_frame_equal(frame[same], from_parquet[same], check_dtype=False)
        assert list(from_csv.loc[from_csv["status"] == "error", "error"].notna()) == [True]
    assert from_parquet[["rank", "taxon_id"]].equals(from_csv[["rank", "taxon_id"]].astype({"rank": "Int64"}))
    assert from_parquet["score"].to_list() == pytest.approx(from_csv["score"].to_list(), abs=1e-5, nan_ok=True)
    assert sorted(path.name for path in Path().glob("photos*")) == [
        f"photos.{form}" for form in ("csv", "jsonl", "parquet")
    ]
