"""Column types of CSV and Parquet, as pandas reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest
from pandas.api import types

from cli.verbs import identify_rows as rows


@pytest.fixture
def tables(cli: Any, calibrated_kb: Path, drawings: Path) -> Any:
    """A function that identifies drawings and a damaged photo into CSV and Parquet."""
    (drawings / "bad.png").write_bytes(b"no picture")

    def write(per: rows.Rows) -> tuple[Path, Path]:
        files = Path(f"{per}.csv"), Path(f"{per}.parquet")
        for file in files:
            command = ("identify", drawings, "--kb", calibrated_kb, "--rows", per, "--output", file)
            assert cli.call(*command).exit_code == 7
        return files

    return write


def test_pandas_reads_the_same_rows_with_types_from_csv_and_parquet(tables: Any) -> None:
    n_rows_per: dict[rows.Rows, int] = {"photos": 5, "candidates": 4 * 5 + 1}
    for per, n_rows in n_rows_per.items():
        csv_file, parquet_file = tables(per)
        from_csv, from_parquet = pandas.read_csv(csv_file), pandas.read_parquet(parquet_file)
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
        assert set(from_csv["status"]) <= {"identified", "not_sure", "unknown", "error"}
        assert list(from_csv.loc[from_csv["status"] == "error", "error"].notna()) == [True]
    assert from_parquet[["rank", "taxon_id"]].equals(from_csv[["rank", "taxon_id"]])
    assert from_parquet["score"].to_list() == pytest.approx(from_csv["score"].to_list(), abs=1e-5, nan_ok=True)
    assert sorted(path.name for path in Path().glob("photos*")) == ["photos.csv", "photos.parquet"]
