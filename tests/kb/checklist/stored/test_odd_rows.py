"""Rows of checklist files that are unusual: names in parts, words of status and rank, line ends, open names."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist

TERM = "http://rs.tdwg.org/dwc/terms/"
FIELDS = ("taxonID", "scientificName", "taxonRank", "taxonomicStatus")


def added(folder: Path, content: str | dict[str, str], name: str = "t.csv") -> StoredChecklist:
    path = folder / name
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in content.items():
                archive.writestr(file, text)
    return Shelf(folder / "home").add(path)


def species(checklist: StoredChecklist) -> list[str]:
    """Return the species in the order of their top taxa, which is that of the alphabet."""
    return [each.scientific_name for top in checklist.top_taxa() for each in checklist.species_of(top)]


def archive(rows: str, *, fields: tuple[str, ...] = FIELDS, attributes: str = "") -> dict[str, str]:
    columns = "".join(f'<field index="{i}" term="{TERM}{field}"/>' for i, field in enumerate(fields))
    meta = (
        '<archive xmlns="http://rs.tdwg.org/dwc/text/">'
        f'<core rowType="{TERM}Taxon" fieldsTerminatedBy="\\t" {attributes}>'
        f'<files><location>taxon.txt</location></files><id index="0"/>{columns}</core></archive>'
    )
    return {"meta.xml": meta, "taxon.txt": rows}


def test_a_checklist_without_species_says_so(tmp_path: Path) -> None:
    listed = added(tmp_path, "taxon\nRana\nBufo\n")
    assert listed.problems == ["no species, expected names such as Rana temporaria: 1 (first: Rana)"]


@pytest.mark.parametrize(
    "content",
    [
        archive(
            "1\tRana\t\t\tgenus\n2\tRana\ttemporaria\t\tspecies\n3\tSalix\talba\tvitellina\tvar.\n",
            fields=("taxonID", "genus", "specificEpithet", "infraspecificEpithet", "taxonRank"),
        ),
        {
            "Name.csv": "ID,genus,specificEpithet,infraspecificEpithet,uninomial,rank\nn1,,,,Rana,genus\n"
            "n2,Rana,temporaria,,,species\nn3,Salix,alba,vitellina,,variety\n",
            "Taxon.csv": "ID,nameID,parentID\nt1,n1,\nt2,n2,t1\nt3,n3,\n",
        },
        {
            "NameUsage.tsv": "ID\tparentID\tstatus\trank\tuninomial\tgenericName\tspecificEpithet\t"
            "infraspecificEpithet\n"
            "1\t\taccepted\tgenus\tRana\t\t\t\n2\t1\taccepted\tspecies\t\tRana\ttemporaria\t\n"
            "3\t\taccepted\tvariety\t\tSalix\talba\tvitellina\n",
        },
    ],
    ids=["Darwin Core", "ColDP in parts", "ColDP"],
)
def test_names_in_parts_are_composed(tmp_path: Path, content: dict[str, str]) -> None:
    listed = added(tmp_path, content, "t.zip")
    names = ("Rana", "Rana temporaria", "Salix alba var. vitellina")
    found = [each.rank if (each := listed.find(name)) else None for name in names]
    assert found == ["genus", "species", "variety"]


def test_words_of_status_and_rank_are_understood_or_reported(tmp_path: Path) -> None:
    rows = [
        ("Rana arvalis", "sp.", "valid"),
        ("Rana temporaria", "sp", "unchecked"),
        ("Rana nuda", "species", "nomen nudum"),
        ("Rana prisca", "species", "not valid"),
        ("Rana nova", "species", "fancy word"),
        ("Rana mira", "soort", "accepted"),
        ("Rana", "gen", "accepted"),
    ]
    lines = "".join(f"{n}\t{name}\t{rank}\t{status}\n" for n, (name, rank, status) in enumerate(rows, 1))
    listed = added(tmp_path, archive(lines), "t.zip")
    assert species(listed) == ["Rana arvalis", "Rana temporaria", "Rana nova"]
    assert [listed.find(name) for name in ("Rana nuda", "Rana prisca")] == [None, None]
    assert {line.rpartition(" (first")[0] for line in listed.problems} == {
        "bare, deleted or quarantined name: 1",
        "synonym without an accepted name: 1",
        "unknown status, taken as provisional: 'fancy word': 1",
        "unknown rank, not counted as species: 'soort': 1",
    }


def test_open_names_are_no_taxa_and_aggregates_are_the_species(tmp_path: Path) -> None:
    listed = added(
        tmp_path, "scientific_name\nAmanita sp.\nAus cf. bus\nBufo bufo agg.\nFicus carica ined.\nAus bus s. str.\n"
    )
    assert species(listed) == ["Aus bus", "Bufo bufo", "Ficus carica"]
    assert listed.problems == ["no species named (sp., cf., aff.): 2 (first: line 2, Amanita sp.)"]


def test_a_heading_that_meta_xml_does_not_declare_is_no_taxon(tmp_path: Path) -> None:
    rows = "taxonID\tscientificName\ttaxonRank\ttaxonomicStatus\n1\tRana arvalis\tspecies\taccepted\n"
    listed = added(tmp_path, archive(rows), "t.zip")
    assert (species(listed), listed.meta["n_taxa"]) == (["Rana arvalis"], "2")  # and the genus


def test_synonyms_may_be_separated_by_commas(tmp_path: Path) -> None:
    cell = '"Papilio atalanta Linnaeus, 1758, Pyrameis atalanta, Cynthia ammiralis Smith, Jones & Moore, 1900"'
    listed = added(tmp_path, f"scientific_name,synonyms\nVanessa atalanta,{cell}\n")
    found = listed.find("Vanessa atalanta")
    assert found is not None
    assert found.synonyms == ("Papilio atalanta", "Pyrameis atalanta", "Cynthia ammiralis")


def test_a_quotation_mark_that_is_not_closed_between_tabs_is_reported(tmp_path: Path) -> None:
    rows = 'Vanessa atalanta\t"Red ""Admiral"""\tx\nVanessa cardui\tPainted Lady\t"y\nAglais io\t"Peacock\tz\n'
    listed = added(tmp_path, f"scientific_name\tcommon_name\tremark\n{rows}", "t.tsv")
    assert [each.common_name for name in species(listed) if (each := listed.find(name))] == [
        'Red "Admiral"', "Painted Lady", '"Peacock',
    ]  # fmt: skip
    assert listed.problems == [f"quotation mark not closed: 2 (first: {tmp_path / 't.tsv'}: line 3)"]


def test_markup_and_underscores_in_names_and_shortened_genera(tmp_path: Path) -> None:
    listed = added(tmp_path, "scientific_name\n<i>Rana temporaria</i> L.\n_Rana dalmatina_\nRana_arvalis\nR. iberica\n")
    assert species(listed) == ["Rana temporaria", "Rana dalmatina", "Rana arvalis"]
    assert listed.problems == ["genus shortened: 1 (first: line 5, R. iberica)"]


def test_a_species_list_of_occurrences_has_keys_for_ids_and_repeated_rows_without_ids_are_one(tmp_path: Path) -> None:
    head = "scientificName\ttaxonRank\ttaxonomicStatus\tfamily\ttaxonKey\tacceptedTaxonKey\tacceptedScientificName\n"
    first = "Bufo bufo (L., 1758)\tSPECIES\tACCEPTED\tBufonidae\t1\t1\tBufo bufo (L., 1758)\n"
    second = "Rana bufo L., 1758\tSPECIES\tSYNONYM\tBufonidae\t2\t1\tBufo bufo (L., 1758)\n"
    listed = added(tmp_path, head + first + second, "list.tsv")
    found = listed.find("Rana bufo")
    assert found is not None and (found.scientific_name, listed.problems) == ("Bufo bufo", [])
    occurrences = "taxonRank\tscientificName\nSPECIES\tBufo bufo L.\nSPECIES\tBufo bufo L.\n"
    assert added(tmp_path, occurrences, "o.tsv").n_species == 1


def test_synonyms_in_a_circle_and_withdrawn_names_are_reported(tmp_path: Path) -> None:
    rows = "taxonID\tacceptedNameUsageID\tscientificName\ttaxonomicStatus\n1\t\tRana arvalis\taccepted\n"
    rows += "2\t3\tRana bona\tsynonym\n3\t2\tRana mala\tsynonym\n4\t\tRana nulla\tdeleted\n"
    listed = added(tmp_path, rows, "t.tsv")
    assert species(listed) == ["Rana arvalis"]
    assert sorted(listed.problems) == [
        "bare, deleted or quarantined name: 1 (first: line 5, Rana nulla)",
        "synonym that leads to no accepted name: 2 (first: Rana bona)",
    ]


def test_all_tables_of_vernacular_names_are_read_without_meta_xml(tmp_path: Path) -> None:
    files = {
        "taxa.csv": "id,taxonID,scientificName,taxonRank\n7,https://x.test/7,Rana temporaria,species\n",
        "VernacularNames-english.csv": "id,vernacularName,language\n7,Common Frog,en\n",
        "VernacularNames-german.csv": "id,vernacularName,language\n7,Grasfrosch,de\n",
    }
    found = added(tmp_path, files, "t.zip").find("Grasfrosch")
    assert found is not None and found.names_by_language == {"de": ("Grasfrosch",), "en": ("Common Frog",)}


def test_genus_and_epithets_may_stand_in_columns_of_their_own(tmp_path: Path) -> None:
    plain = "Genus,Species,Common Name\nRana,temporaria,Common Frog\nBufo,bufo,Common Toad\n"
    assert species(added(tmp_path, plain)) == ["Bufo bufo", "Rana temporaria"]
    listed = added(
        tmp_path, "genus,specificEpithet,infraspecificEpithet\nSalix,alba,\nSalix,alba,vitellina\nRana,Arvalis,\n"
    )
    assert species(listed) == ["Rana arvalis", "Salix alba"]
    found = listed.find("Salix alba vitellina")
    assert found is not None and found.rank == "subspecies" and listed.problems == []


def test_lines_end_in_any_way(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        for quoted in ('fieldsEnclosedBy="&quot;"', 'fieldsEnclosedBy=""'):
            rows = end.join(("1\tRana arvalis\tspecies\taccepted", "2\tRana temporaria\tspecies\taccepted", ""))
            listed = added(tmp_path, archive(rows, attributes=quoted), "t.zip")
            assert (species(listed), listed.problems) == (["Rana arvalis", "Rana temporaria"], []), (end, quoted)


def test_a_cell_may_hold_several_common_names(tmp_path: Path) -> None:
    """A comma separates them where no part is a single word: names may be inverted."""
    for cell, names in (
        ("Common Frog | Grass Frog", ("Common Frog", "Grass Frog")),
        ("Common Frog, European Grass Frog", ("Common Frog", "European Grass Frog")),
        ("Frog, Common; Grass Frog", ("Frog, Common", "Grass Frog")),
        ("Grass Frog, European", ("Grass Frog, European",)),
        (", | Common Frog,", ("Common Frog",)),
    ):
        rows = f"taxonID\tscientificName\tlanguage\tvernacularName\n7\tRana temporaria\ten\t{cell}\n"
        files = {
            "taxa.csv": "id,taxonID,scientificName,taxonRank\n7,7,Rana temporaria,species\n",
            "vernacular.csv": f'id,vernacularName,language\n7,"{cell}",en\n',
        }
        for listed in (added(tmp_path, rows, "t.tsv"), added(tmp_path, files, "t.zip")):
            found = listed.find("Rana temporaria")
            assert found is not None
            assert sorted(found.names_by_language["en"]) == sorted(names), cell
