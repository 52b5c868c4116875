"""The shelf of checklists: files that are refused, replaced editions, killed calls."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from data.errors import BadInput, FieldmarkError, MissingRequirement, UsageError
from kb.checklist.avilist import load_checklist
from kb.checklist.shelf import Shelf
from tests.kb.checklist.stored.checklist_files import META, PLAIN, TAXA, darwin_core, plain


def test_a_checklist_is_opened_by_name_and_by_file_and_added_once(tmp_path: Path) -> None:
    shelf, file = Shelf(tmp_path / "home"), plain(tmp_path)
    assert shelf.open() is shelf.open("AviList") is load_checklist()
    opened = shelf.open(str(file))
    before = shelf.path_of("insects").stat().st_mtime_ns
    assert opened.name == shelf.open("insects").name == "insects"
    assert shelf.open(str(file)).digest == shelf.add(file).digest == opened.digest
    assert shelf.path_of("insects").stat().st_mtime_ns == before


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    Shelf(tmp_path / "home").add(plain(tmp_path))
    with pytest.raises(MissingRequirement) as raised:
        Shelf(tmp_path / "home").open("insect")
    assert raised.value.hint == 'Did you mean "insects"?'
    with pytest.raises(BadInput, match="File not found"):
        Shelf(tmp_path / "home").open("insect.csv")


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = darwin_core(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(BadInput, match="damaged or incomplete"):
        Shelf(tmp_path / "home").add(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    with pytest.raises(BadInput, match=r"holds a\.csv, b\.csv, from which the checklist is not clear"):
        Shelf(tmp_path / "home").add(path)


def test_a_file_of_another_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "home")
    shelf.add(plain(tmp_path))
    shelf.path_of("insects").write_bytes(b"not a database")
    with pytest.raises(FieldmarkError) as raised:
        shelf.open("insects")
    assert (
        raised.value.hint
        == "kb checklist add FILE writes it again; kb build --checklist FILE does so in a knowledge base"
    )
    assert shelf.add(plain(tmp_path)).n_species == 5


def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    for name in ("", "a/b", "../a", "avilist", "Wiki", ".hidden", "a b", "a" * 65):
        with pytest.raises(UsageError, match="cannot be named"):
            Shelf(tmp_path / "home").add(plain(tmp_path), name)


def test_a_bad_table_is_refused_with_file_and_line(tmp_path: Path) -> None:
    for content, message in (
        (PLAIN.encode("utf-16"), "is UTF-16, expected text in UTF-8"),
        (b"scientific_name\nVan\xe9ssa cardui\n", "line 2: expected UTF-8 text"),
        (b"\x89PNG\0\0\0\0", "is a binary file"),
        (b"", "is empty, expected a table of names"),
        (b"scientific_name\n", "The checklist has no names"),
        (b"id,colour\n1,red\n", "no column of scientific names; got id, colour"),
        (b"scientific_name\n" + b"x" * 2**21, "line 2: longer than 1,048,576 characters"),
        (b'scientific_name,a\n"Vanessa cardui' + b"x" * 200_000 + b'",', "a cell is longer than 131,072 characters"),
    ):
        (tmp_path / "bad.csv").write_bytes(content)
        with pytest.raises(BadInput, match=message):
            Shelf(tmp_path / "home").add(tmp_path / "bad.csv")
        assert Shelf(tmp_path / "home").names() == []


def test_a_bad_archive_is_refused_with_its_file(tmp_path: Path) -> None:
    archives: tuple[tuple[dict[str, str | None], str], ...] = (
        ({"meta": "<archive"}, "meta.xml is not XML"),
        ({"meta": "<!DOCTYPE a [<!ENTITY b 'c'>]><archive/>"}, "declares entities"),
        ({"meta": "<archive/>"}, "has no core"),
        ({"meta": META.replace("dwc/terms/Taxon", "dwc/terms/Occurrence")}, "rows of occurrence, expected Taxon"),
        ({"meta": META.replace('index="3"', 'index="x"')}, "expected a number as index"),
        ({"meta": META.replace("UTF-8", "no-code")}, "unknown encoding: no-code"),
        ({"taxa": None}, "names taxa.txt, which the archive lacks"),
        ({"taxa": TAXA.splitlines()[0]}, "The checklist has no names"),
        ({"taxa": TAXA + "\n" * 20_000_000}, r"taxa.txt would unpack to .* bytes from"),
    )
    for files, message in archives:
        with pytest.raises(BadInput, match=message):
            Shelf(tmp_path / "home").add(darwin_core(tmp_path, **files))
