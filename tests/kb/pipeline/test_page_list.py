"""Tables of pages: names and addresses."""

from __future__ import annotations

from pathlib import Path

from kb.checklist.avilist import load_checklist
from kb.pipeline.page_list import read_pages


def test_genus_and_epithet_may_stand_in_two_columns(tmp_path: Path) -> None:
    table = tmp_path / "pages.csv"
    table.write_text(
        "genus,species,url\nTurdus,merula,https://x.test/a\nRana,arvalis,https://x.test/b\n", encoding="utf-8"
    )
    pages = read_pages(table, load_checklist()).pages
    assert [taxon.scientific_name for taxon, _ in pages] == ["Turdus merula", "Rana arvalis"]
