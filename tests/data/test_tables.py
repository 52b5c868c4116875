"""The reader of text tables: encodings, separators, headings, quotation marks, workbooks, archives, refusals."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest

from data.encodings import encoding_of
from data.errors import BadInput
from data.tables import LINE, declared_table, open_table, read_text

NAMES = {
    "scientific": ("scientific name", "latin species", "species"),
    "common": ("common name", "english name"),
}
GREAT_TIT = ["Parus major", "Great Tit"]


def rows_of(content: bytes, *, known: dict[str, tuple[str, ...]] = NAMES) -> tuple[dict[int, list[str]], list[str]]:
    """Return line number -> cells of the columns `scientific` and `common`, and the notes."""
    table = open_table(content, known, place="list.csv")
    columns = [names[0] for names in table.columns.values()] or [LINE]
    rows = ((line, row) for each in table.chunks() for line, row in each[columns].iterrows())
    return {int(line): row.tolist() for line, row in rows}, table.notes


PLAIN = "Scientific name,Common name\nParus major,Great Tit\n"
FOUND = {2: GREAT_TIT}


@pytest.mark.parametrize(
    ("content", "found", "notes"),
    [
        pytest.param(PLAIN.encode(), FOUND, [], id="UTF-8"),
        pytest.param(PLAIN.encode("utf-8-sig"), FOUND, [], id="byte-order mark"),
        pytest.param(PLAIN.encode("utf-16"), FOUND, [], id="UTF-16"),
        pytest.param(PLAIN.encode("utf-16-le"), FOUND, [], id="UTF-16 without a mark"),
        pytest.param(PLAIN.replace("\n", "\r\n").encode(), FOUND, [], id="Windows line ends"),
        pytest.param(PLAIN.replace("\n", "\r").encode(), FOUND, [], id="old Macintosh line ends"),
        pytest.param(PLAIN.replace(",", ";").encode(), FOUND, [], id="semicolons"),
        pytest.param(PLAIN.replace(",", "\t").encode(), FOUND, [], id="tabs"),
        pytest.param(b"sep=;\n" + PLAIN.replace(",", ";").encode(), {3: GREAT_TIT}, [], id="sep="),
        pytest.param(b'"sep=;"\r\n' + PLAIN.replace(",", ";").encode(), {3: GREAT_TIT}, [], id="quoted sep="),
        pytest.param(b"Birds of Northland,\n\n" + PLAIN.encode(), {4: GREAT_TIT},
                     ["1 row above the heading skipped"], id="title"),
        pytest.param(b"# made by hand\n" + PLAIN.encode(), {3: GREAT_TIT}, ["1 row above the heading skipped"],
                     id="comment"),
        pytest.param(b"LATIN_SPECIES;n;englishName\nParus major;2;Great Tit", FOUND, [],
                     id="words of headings in any order"),
        pytest.param(b"Common name,SPECIES,Scientific name\nGreat Tit,Tit,Parus major\n", FOUND, [],
                     id="the most specific heading"),
        pytest.param(b'"Scientific\nname","Common\nname"\nParus major,Great Tit\n', {4: GREAT_TIT}, [],
                     id="a heading of two lines"),
        pytest.param(b'"Scientific name","Common name"\n"Parus major","Great Tit"\n', FOUND, [], id="all quoted"),
        pytest.param(b'Scientific name,Note,Common name\nParus major,"two, ""kee""\nthen one",Great Tit\nPica pica,,\n',
                     {2: GREAT_TIT, 4: ["Pica pica", ""]}, [], id="a quoted cell of two lines"),
        pytest.param(b'Scientific name\tPlace\tCommon name\nParus major\t"Old mill\tGreat Tit\nPica pica\t"A" b\t'
                     b'Magpie\nStrix aluco\tb "c"\tOwl\n', {2: GREAT_TIT, 3: ["Pica pica", "Magpie"],
                      4: ["Strix aluco", "Owl"]},
                     ["quotation marks read as text"], id="quotation marks as text"),
        pytest.param(b"Scientific name,Common name\nNA,Great Tit\nParus major,NaN\nN/A,\n ,\t\n",
                     {2: ["", "Great Tit"], 3: ["Parus major", ""]}, [], id="empty cells"),
        pytest.param(b"Scientific name,Common name\nx,Cooper&#39;s Hawk\ny,Anna&apos;s &amp; A&B;\nz,a?b=1&copy=2\n",
                     {2: ["x", "Cooper's Hawk"], 3: ["y", "Anna's & A&B;"], 4: ["z", "a?b=1&copy=2"]}, [],
                     id="entities"),
        pytest.param(b"Scientific name,Common name\nParus major,Great Tit\nPica pica,a,b\nStrix aluco,Owl,,\n",
                     {2: GREAT_TIT, 4: ["Strix aluco", "Owl"]},
                     ["1 row with more cells than the heading has (the first in line 3) skipped"], id="long rows"),
        pytest.param(b'"species"\t"Common name"\n"1"\t"Parus major"\t"Great Tit"\n', FOUND, [], id="row names of R"),
        pytest.param(b"Common name\nBrant, Branta bernicla (A)\n", {2: ["Brant, Branta bernicla (A)"]}, [],
                     id="one column"),
        pytest.param("Blue Tit\nGreat Tit, or species\n\nSabine’s Gull\n".encode(),
                     {1: ["Blue Tit"], 2: ["Great Tit, or species"], 4: ["Sabine’s Gull"]}, [], id="no heading"),
        pytest.param(b"", {}, [], id="empty"),
        pytest.param(gzip.compress(PLAIN.encode()), FOUND, [], id="gzip"),
    ],
)  # fmt: skip
def test_rows_and_notes(content: bytes, found: dict[int, list[str]], notes: list[str]) -> None:
    """Each kind of table gives its cells with their lines, and a note of each guess and skip."""
    assert rows_of(content) == (found, notes)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Rüppell's Vulture\nSöderström's Puffleg"),
        ("cp1252", "Sabine’s Gull"),
        ("cp1252", "Mésange charbonnière\nCarbonero común\nGråkrage\nCorvo-marinho-de-faces-brancas; São Tomé"),
        ("mac_roman", "Mésange charbonnière\nGänsesäger"),
        ("cp1250", "Dzięcioł duży\nŚpiewak"),
        ("cp1250", "Kos černý\nSýkora koňadra"),
        ("cp1251", "Большая синица"),
        ("koi8_r", "Большая синица"),
        ("cp1254", "Kızılgerdan\nSaksağan"),
        ("cp932", "シジュウカラ\nカササギ"),
        ("gb18030", "大山雀\n喜鹊\n树麻雀\n白头鹎"),
        ("cp850", "Gänsebrücke"),
    ],
)
def test_code_pages(encoding: str, text: str) -> None:
    """Short names in usual code pages are read right, and the guess is told."""
    found, notes = rows_of(f"Common name\n{text}\n".encode(encoding))
    assert [cell for row in found.values() for cell in row] == text.split("\n")
    assert len(notes) == 1
    assert "a guess" in notes[0]


def test_utf_8_with_a_line_of_another_encoding_is_refused() -> None:
    """Read as a code page, the other lines would be wrong."""
    with pytest.raises(BadInput, match=r"line 4: .*mixes encodings"):
        encoding_of(lambda: io.BytesIO("a\nSöderström\nRüppell\n".encode() + b"M\xfcller\n"), "x.csv")


def test_a_workbook_is_read_by_its_sheet_with_a_known_heading(tmp_path: Path) -> None:
    """Titles are skipped, numbers and dates are text, lines are those of the sheet."""
    book = openpyxl.Workbook()
    book.active.append(["About this list"])
    sheet = book.create_sheet("Birds")
    for row in (["Birds of Northland"], [], ["n", "Scientific name", "Common name"], [3, "Parus major", "Great Tit"]):
        sheet.append(row)
    book.save(tmp_path / "list.xlsx")
    table = open_table(tmp_path / "list.xlsx", NAMES)
    assert table.frame.loc[4].to_dict() == {"n": "3", "Scientific name": "Parus major", "Common name": "Great Tit"}
    assert table.notes == ['sheet "Birds" read, not "Sheet"', "1 row above the heading skipped"]
    names = openpyxl.Workbook()
    for name in ("Great Tit", "Rook"):
        names.active.append([None, name])
    names.save(tmp_path / "names.xlsx")
    lines = open_table(tmp_path / "names.xlsx", NAMES)
    assert (lines.frame[LINE].tolist(), lines.separator) == (["Great Tit", "Rook"], None)


def zipped(**files: bytes) -> bytes:
    """Return a zip of files, `_` for a dot."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return content.getvalue()


def test_a_zip_of_one_table_is_read_and_of_several_refused() -> None:
    """Texts about the table do not count; with several the user chooses."""
    assert rows_of(zipped(a_csv=PLAIN.encode(), readme_txt=b"About")) == (FOUND, [])
    with pytest.raises(BadInput, match=r"holds 2 tables: a\.csv, b\.csv"):
        rows_of(zipped(a_csv=b"x", b_csv=b"y"))
    assert open_table(zipped(a_csv=b"x", b_csv=PLAIN.encode()), NAMES, member="b.csv").heading_line == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", r"old Excel workbook"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"%PDF-1.4", "a PDF"),
        (zipped(a_png=b"x"), "holds no table"),
        (zipped(mimetype=b"x", content_xml=b"x"), "OpenDocument"),
        (b"PK\3\4 cut", "damaged"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:20], "cannot be read"),
        (b"a\0\0\1\0\0\0\xff\0\0\0\0", "binary"),
        (
            b'Scientific name,Note\nParus major,"a\n"b, c",d\n',
            r"line 2: a quotation mark opens a cell and is not closed",
        ),
        (b"Scientific name,Weight\nParus major,17,5\nPica pica,200,1\n", r"line 2: 2 rows with more cells"),
        (b"Scientific name\n" + b"x" * 2**21, "line 2: longer than"),
    ],
)
def test_refusals_name_the_line_and_the_remedy(content: bytes, message: str) -> None:
    """A table is read right or not at all."""
    with pytest.raises(BadInput, match=message):
        rows_of(content)


def test_rows_come_in_chunks_with_their_lines() -> None:
    """Lines count on over chunks, blank rows and cells of two lines."""
    table = open_table(b'species,note\na,\n\nb,"x\ny"\nc,\nd,\n', NAMES)
    assert [list(frame.index) for frame in table.chunks(2)] == [[2], [4, 6], [7]]


def test_unused_columns_are_told() -> None:
    """The note has their number and the first names."""
    table = open_table(b"species,a,b,c,d\nx,1,2,3,4\n", NAMES)
    assert table.unused({"species"}) == "4 columns not used: a, b, c, ..."
    assert table.unused(table.heading) == ""


def test_a_text_is_read_whole(caplog: pytest.LogCaptureFixture) -> None:
    """For texts that are no tables; a guess is told."""
    assert read_text("Störche\r\nb".encode("cp1252"), "a.txt") == "Störche\nb"
    assert "a.txt: read as Windows-1252 (a guess)" in caplog.text


def test_pandas_is_loaded_with_the_first_table_alone() -> None:
    """It takes half a second."""
    code = "import data.tables, sys; assert 'pandas' not in sys.modules and 'charset_normalizer' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_declared_layout_needs_no_heading(tmp_path: Path) -> None:
    path = tmp_path / "taxa.txt"
    path.write_text('id\tname\n7\t"Rana "" arvalis"\tx\n8\tRana "y\n', encoding="utf-8")
    for has_quotes, second in ((False, 'Rana "y'), (True, 'Rana "y')):
        table = declared_table(path, {"name": 1}, separator="\t", has_quotes=has_quotes, n_skipped=1)
        frame = table.frame
        assert list(table.heading) == ["column 1", "name", "column 3"]
        assert list(frame.index) == [2, 3] and list(frame["name"])[1] == second
    assert list(declared_table(path, {"name": 1}, separator="\t", has_quotes=False, n_skipped=1).frame["name"]) == [
        'Rana " arvalis', 'Rana "y',
    ]  # fmt: skip
