"""Selection of species by taxon and from tables of names in common formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import BadInput, UnknownTaxon
from kb.checklist.avilist import load_checklist
from kb.checklist.names_table import read_names
from kb.checklist.selection import select, species_named

CHECKLIST = load_checklist()


def names(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    return [taxon.scientific_name for taxon in read_names(path, CHECKLIST).taxa]


def test_an_unknown_taxon_is_refused_with_suggestions() -> None:
    with pytest.raises(UnknownTaxon, match='Unknown taxon "Strigiforms": not in AviList 2025') as caught:
        select(CHECKLIST, "Strigiforms")
    assert (caught.value.hint or "").startswith("Did you mean Strigiformes")
    with pytest.raises(UnknownTaxon):
        select(CHECKLIST, " ")
    for taxon, n in (("Northern Cardinal", 1), ("  cardinalis   cardinalis ", 1), ("Cardinalis", 3)):
        assert len(select(CHECKLIST, taxon)) == n


def test_tables_and_lists_of_names_are_read(tmp_path: Path) -> None:
    for text in (
        "scientific_name,common_name\nCardinalis cardinalis,Northern Cardinal\nUpupa epops,\n",
        "Common Name;Scientific Name\r\nNorthern Cardinal;Cardinalis cardinalis\r\nEurasian Hoopoe;Upupa epops\r\n",
        "\ufeffcommon_name\nnorthern cardinal\neurasian hoopoe\nNORTHERN CARDINAL\n",
        "Cardinalis cardinalis\n\n# the old world\nEurasian Hoopoe\n",
        "id\tspecies\tnotes\n1\tCardinalis cardinalis\tred\n2\tUpupa epops\t\n",
        "Cardinalis cardinalis",
    ):
        assert (
            names(tmp_path / "names.csv", text)
            == ["Cardinalis cardinalis", "Upupa epops"][: 1 if "\n" not in text else 2]
        ), text


def test_an_unknown_row_is_left_out_with_its_line_number(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("common_name\nNorthern Cardinal\nnorthen cardinl\n", encoding="utf-8")
    found = read_names(path, CHECKLIST)
    assert len(found.taxa) == 1
    assert [(row.name, row.reason) for row in found.left_out] == [("northen cardinl", "not in the checklist")]
    assert found.left_out[0].detail.startswith("line 3; did you mean Northern Cardinal")


def test_a_table_can_add_names_of_one_word_but_no_genera(tmp_path: Path) -> None:
    path = tmp_path / "creatures.csv"
    path.write_text(
        "scientific_name,common_name,class\nPikachu,,Pokemon\nBulbasaur,Bulbasaur,\nEevee,,\neevee,,Pokemon\n"
        "Turdus,,Aves\nTurduss,,Aves\nVanessa,,Insecta\nVanessa atalanta,,Insecta\n",
        encoding="utf-8",
    )
    found = read_names(path, CHECKLIST)
    assert [taxon.taxon_id for taxon in found.taxa] == ["pikachu", "bulbasaur", "vanessa-atalanta"]
    assert found.taxa[0].lineage == {"class": "Pokemon"}
    assert [row.name for row in found.left_out] == ["Eevee", "eevee", "Turdus", "Turduss", "Vanessa"]


def test_one_word_names_a_species_where_more_is_known_of_it() -> None:
    named = species_named(CHECKLIST, "Pikachu", lineage={"class": "Pokemon"})
    assert (named.taxon_id, named.rank, named.lineage) == ("pikachu", "species", {"class": "Pokemon"})
    assert species_named(CHECKLIST, "Doduo", common_names=["Doduo"]).common_name == "Doduo"
    with pytest.raises(BadInput, match="looks like the genus Turdus") as caught:
        species_named(CHECKLIST, "Turduss", common_names=["Robin"])
    assert caught.value.hint is not None and "--lineage genus=Turduss" in caught.value.hint
    assert species_named(CHECKLIST, "Turduss", lineage={"genus": "Turduss"}).taxon_id == "turduss"
    with pytest.raises(BadInput, match="Expected the scientific name") as bare:
        species_named(CHECKLIST, "Pikachu")
    assert bare.value.hint is not None and "needs --common-name or --lineage" in bare.value.hint


def test_a_bad_table_is_refused_with_the_reason_and_line(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    for content, message in (
        ("", "got an empty table"),
        ("# nothing\n\n", "got an empty table"),
        ("id,notes\n1,red\n", "line 1: expected a column scientific_name or common_name, got id, notes"),
        ("scientific_name,notes\nCardinalis cardinalis,x\n,y\n", "line 3: expected a name, got an empty cell"),
        ("Cardinalis cardinalis\nMerlin,Falco\n", "line 2: expected one name per line, got 2 columns"),
        ("scientific_name\nFoo barus\n", "none of the names are in AviList 2025"),
        ("a\0b", "binary file"),
        ("common_name\nMerlin\nR\xfcppell's Vulture\n".encode("latin-1"), "line 3: expected UTF-8"),
    ):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(BadInput, match=message):
            read_names(path, CHECKLIST)
    with pytest.raises(BadInput, match="File not found"):
        read_names(tmp_path / "none.csv", CHECKLIST)
    with pytest.raises(BadInput, match="cannot be read"):
        read_names(tmp_path, CHECKLIST)
