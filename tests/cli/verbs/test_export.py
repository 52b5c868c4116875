"""`kb export`: with the vectors of texts and photos, or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest


@pytest.mark.parametrize(("choice", "has_vectors"), [("--vectors", True), ("--no-vectors", False)])
def test_a_bundle_has_the_vectors_or_not(
    cli: Any, built_kb: Path, tmp_path: Path, choice: str, has_vectors: bool
) -> None:
    cli.call("export", "out", "--kb", built_kb, choice, check=True)
    columns = {
        name for table in (tmp_path / "out").rglob("*.parquet") for name in pyarrow.parquet.read_schema(table).names
    }
    assert any("vector" in name for name in columns) == has_vectors
