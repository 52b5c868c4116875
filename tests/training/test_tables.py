"""Markdown tables."""

from __future__ import annotations

from training.tables import decimals, markdown, table, with_interval


def test_a_table_has_a_title_a_header_and_rows() -> None:
    assert table("Accuracy", ["", "n", "top-1"], {"seen": ["3", ".500"], "unseen": ["", ".250"]}) == [
        "", "## Accuracy", "", "| | n | top-1 |", "|---|---|---|", "| seen | 3 | .500 |", "| unseen | | .250 |",
    ]  # fmt: skip


def test_numbers_in_cells_are_written_as_text() -> None:
    assert markdown(["a", "b"], [(0, 1.5)]) == ["| a | b |", "|---|---|", "| 0 | 1.5 |"]


def test_shares_have_three_decimals_and_no_leading_zero() -> None:
    assert (decimals(0.12345), decimals(1.0), decimals(0.0)) == (".123", "1.000", ".000")
    assert with_interval(0.5, 0.25, 0.75) == ".500 (.250-.750)"
