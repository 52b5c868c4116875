"""Tables of names are read with any delimiter and recognised headings."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import BadInput
from kb.checklist import name_files
from kb.checklist.name_files import columns_of, read_names_file, table_rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_keep_line_numbers_without_comments_and_empty_lines(delimiter: str) -> None:
    lines = ["# of 2026", "", "Sci Name,English", "Pica  pica, Magpie ", ",", '"Bubo\nbubo",Owl']
    text = "\n".join(line.replace(",", delimiter) for line in lines)
    assert table_rows(text, "t.csv") == [
        (3, ["Sci Name", "English"]), (4, ["Pica pica", "Magpie"]), (7, ["Bubo bubo", "Owl"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        (["Common Name", "Scientific_name"], {"common": 0, "scientific": 1}),
        (["speciesCode"], {"code": 0}),
        (["Family", "PRIMARY_COM_NAME", "name"], {"family": 0, "common": 1}),
        (["family", "genus"], {}),
        (["Genus", "Specific epithet"], {"genus": 0, "epithet": 1}),
        (["Pica pica", "Magpie"], {}),
    ],
)
def test_headings_are_recognised_in_any_spelling(heading: list[str], columns: dict[str, int]) -> None:
    assert columns_of(heading) == columns


def test_a_file_over_the_size_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_files, "MAX_BYTES", 10)
    path = tmp_path / "names.txt"
    path.write_text("Pica pica\n", encoding="utf-8")
    assert read_names_file(path) == "Pica pica\n"
    path.write_text("Pica pica\nBubo bubo\n", encoding="utf-8")
    with pytest.raises(BadInput, match="larger than 10 bytes"):
        read_names_file(path)
