"""Typed columns: as frames, and as CSV that spreadsheets do not run."""

import pandas as pd

from data.frames import as_csv, frame_of

COLUMNS = {"name": "text", "n": "integer", "share": "number", "is_new": "boolean", "day": "date"}
ROWS = (
    {"name": "=HYPERLINK(1)", "n": 2**60, "share": 1, "is_new": True, "day": "2026-11-02"},
    {"name": ("wren", "robin"), "is_new": False},
    {"name": "'-1", "share": 1e-7, "is_new": True, "day": "yesterday"},
)


def test_cells_have_the_type_of_their_column_and_formulas_are_escaped_in_csv() -> None:
    found = frame_of(ROWS, COLUMNS)
    for frame in (found, frame_of([], COLUMNS)):
        assert [str(dtype) for dtype in frame.dtypes] == ["str", "Int64", "float64", "bool", "datetime64[s]"]
    assert found["n"].to_list() == [2**60, pd.NA, pd.NA]
    assert as_csv(found) == (
        "name,n,share,is_new,day\n'=HYPERLINK(1),1152921504606846976,1.0,True,2026-11-02\n"
        "wren; robin,,,False,\n''-1,,1e-07,True,\n"
    )
