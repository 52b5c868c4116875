"""Rows of checklist files that are unusual: names in parts, words of status and rank, line ends, open names."""

import zipfile
from pathlib import Path

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


def archive(rows: str, *, fields: tuple[str, ...] = FIELDS) -> dict[str, str]:
    columns = "".join(f'<field index="{i}" term="{TERM}{field}"/>' for i, field in enumerate(fields))
    meta = (
        '<archive xmlns="http://rs.tdwg.org/dwc/text/">'
        f'<core rowType="{TERM}Taxon" fieldsTerminatedBy="\\t">'
        f'<files><location>taxon.txt</location></files><id index="0"/>{columns}</core></archive>'
    )
    return {"meta.xml": meta, "taxon.txt": rows}


PARTS = (
    archive("1\tRana\t\t\tgenus\n2\tRana\ttemporaria\t\tspecies\n3\tSalix\talba\tvitellina\tvar.\n",
            fields=("taxonID", "genus", "specificEpithet", "infraspecificEpithet", "taxonRank")),
    {
        "NameUsage.tsv": "ID\tparentID\tstatus\trank\tuninomial\tgenericName\tspecificEpithet\tinfraspecificEpithet\n"
        "1\t\taccepted\tgenus\tRana\t\t\t\n2\t1\taccepted\tspecies\t\tRana\ttemporaria\t\n"
        "3\t\taccepted\tvariety\t\tSalix\talba\tvitellina\n",
    },
)  # fmt: skip


def test_names_in_parts_are_composed(tmp_path: Path) -> None:
    for content in PARTS:
        listed = added(tmp_path, content, "t.zip")
        names = ("Rana", "Rana temporaria", "Salix alba var. vitellina")
        assert [each.rank for name in names if (each := listed.find(name))] == ["genus", "species", "variety"]
    assert species(added(tmp_path, "Genus,Species,Name\nRana,temporaria,Frog\nBufo,bufo,\n")) == [
        "Bufo bufo", "Rana temporaria",
    ]  # fmt: skip
    heading = "genus,specificEpithet,infraspecificEpithet\n"
    listed = added(tmp_path, heading + "Salix,alba,\nSalix,alba,vitellina\nRana,Arvalis,\n")
    assert (species(listed), listed.problems) == (["Rana arvalis", "Salix alba"], [])
    found = listed.find("Salix alba vitellina")
    assert found is not None and found.rank == "subspecies"


# Name of the file, content, species, problems.
ROWS: tuple[tuple[str, str | dict[str, str], list[str], list[str]], ...] = (
    ("t.csv", "taxon\nRana\nBufo\n", [], ["no species, expected names such as Rana temporaria: 1 (first: Rana)"]),
    ("t.csv", "scientific_name\nAmanita sp.\nAus cf. bus\nBufo bufo agg.\nFicus carica ined.\nAus bus s. str.\n",
     ["Aus bus", "Bufo bufo", "Ficus carica"], ["no species named (sp., cf., aff.): 2 (first: line 2, Amanita sp.)"]),
    ("t.csv", "scientific_name\n<i>Rana temporaria</i> L.\n_Rana dalmatina_\nRana_arvalis\nR. iberica\n",
     ["Rana temporaria", "Rana dalmatina", "Rana arvalis"], ["genus shortened: 1 (first: line 5, R. iberica)"]),
    ("t.csv", "scientific_name\nRana arvalis/dalmatina\nBufo bufo\n", ["Bufo bufo"],
     ["several species (a slash): 1 (first: line 2, Rana arvalis/dalmatina)"]),
    ("t.csv", "scientific_name,common_name\nRana arvalis,Moor\rFrog\nAglais io,,more\n# no row\n",
     ["Rana arvalis"], ["DIR/t.csv: 1 row with more cells than the heading has (the first in line 3) skipped"]),
    # a heading that meta.xml does not declare
    ("t.zip", archive("taxonID\tscientificName\ttaxonRank\tstatus\n1\tRana arvalis\tspecies\tvalid\n"),
     ["Rana arvalis"], []),
    ("t.tsv", "taxonRank\tscientificName\nSPECIES\tBufo bufo L.\nSPECIES\tBufo bufo L.\n", ["Bufo bufo"],
     ["taxon listed before, lines joined: 1 (first: line 3, Bufo bufo)"]),
    ("t.tsv", "taxonID\tacceptedNameUsageID\tscientificName\ttaxonomicStatus\n1\t\tRana arvalis\taccepted\n"
     "2\t3\tRana bona\tsynonym\n3\t2\tRana mala\tsynonym\n4\t\tRana nulla\tdeleted\n"
     '5\t1\t"Rana fusca Thunberg,\n1792"\tsynonym\n', ["Rana arvalis"],
     ["bare, deleted or quarantined name: 1 (first: line 5, Rana nulla)",
      "synonym that leads to no accepted name: 2 (first: Rana bona)"]),
    ("t.zip", archive(
        "1\tRana arvalis\tsp.\tvalid\n2\tRana temporaria\tsp\tunchecked\n3\tRana nuda\tspecies\tnomen nudum\n"
        "4\tRana prisca\tspecies\tnot valid\n5\tRana nova\tspecies\tfancy word\n6\tRana mira\tsoort\taccepted\n"
        "7\tRana\tgen\taccepted\n"
     ), ["Rana arvalis", "Rana temporaria", "Rana nova"],
     ["bare, deleted or quarantined name: 1 (first: line 3, Rana nuda)",
      "synonym without an accepted name: 1 (first: line 4)",
      "unknown rank, not counted as species: 'soort': 1 (first: line 6, Rana mira)",
      "unknown status, taken as provisional: 'fancy word': 1 (first: DIR/t.zip: taxon.txt: line 5)"]),
    ("t.tsv", 'scientific_name\tremark\nAglais io\t"closed\n"\nAglais urticae\tx\ry\nVanessa cardui\t"y\n',
     ["Aglais io", "Aglais urticae", "Vanessa cardui"],
     ["DIR/t.tsv: quotation marks read as text", "no scientific name: 1 (first: DIR/t.tsv: line 3)"]),
    ("t.tsv", "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\ttaxonomicStatus\n"
     "1\t\t\tRana\t\n2\t1\t\tRana arvalis\t\n3\t1\t\tRana bona\tsynonym\n4\t1\t4\tRana mala\tsynonym\n",
     ["Rana arvalis"], ["synonym without an accepted name: 2 (first: line 4)"]),
    ("t.csv", "scientific_name,kingdom\rRana arvalis,Animalia\r", ["Rana arvalis"], []),
)  # fmt: skip


def test_odd_rows_are_read_or_reported(tmp_path: Path) -> None:
    for name, content, expected, problems in ROWS:
        listed = added(tmp_path, content, name)
        found = [line.replace(str(tmp_path), "DIR") for line in sorted(listed.problems)]
        assert (species(listed), found) == (expected, problems), content
        assert int(listed.meta["n_species"]) == len(expected)


def test_synonyms_may_be_separated_by_commas(tmp_path: Path) -> None:
    cell = '"Papilio atalanta Linnaeus, 1758, Pyrameis atalanta, Cynthia ammiralis Smith, Jones & Moore, 1900"'
    found = added(tmp_path, f"scientific_name,synonyms\nVanessa atalanta,{cell}\n").find("Vanessa atalanta")
    assert found is not None
    assert found.synonyms == ("Papilio atalanta", "Pyrameis atalanta", "Cynthia ammiralis")


def test_a_species_list_of_occurrences_has_keys_for_ids(tmp_path: Path) -> None:
    head = "scientificName\ttaxonRank\ttaxonomicStatus\tfamily\ttaxonKey\tacceptedTaxonKey\tacceptedScientificName\n"
    first = "Bufo bufo (L., 1758)\tSPECIES\tACCEPTED\tBufonidae\t1\t1\tBufo bufo (L., 1758)\n"
    second = "Rana bufo L., 1758\tSPECIES\tSYNONYM\tBufonidae\t2\t1\tBufo bufo (L., 1758)\n"
    listed = added(tmp_path, head + first + second, "list.tsv")
    found = listed.find("Rana bufo")
    assert found is not None and (found.scientific_name, listed.problems) == ("Bufo bufo", [])


def test_a_cell_may_hold_several_common_names_and_tables_of_them_stand_beside_the_taxa(tmp_path: Path) -> None:
    """A comma separates them where no part is a single word: names may be inverted."""
    for cell, names in (
        ("Common Frog, European Grass Frog", ("Common Frog", "European Grass Frog")),
        ("Frog, Common; Grass Frog", ("Frog, Common", "Grass Frog")),
        (", | Common Frog,", ("Common Frog",)),
    ):
        rows = f"taxonID\tscientificName\tlanguage\tvernacularName\n7\tRana temporaria\ten\t{cell}\n"
        files = {
            "taxa.csv": "id,taxonID,scientificName,taxonRank\n7,https://x.test/7,Rana temporaria,species\n",
            "vernacular.csv": f'id,vernacularName,language\n7,"{cell}",en\n',
            "VernacularNames-german.csv": "id,coreid,vernacularName,language\n1,7,Grasfrosch,de\n",
        }
        archived = added(tmp_path, files, "t.zip")
        assert archived.find("Grasfrosch") == archived.find("Rana temporaria")
        for listed in (added(tmp_path, rows, "t.tsv"), archived):
            found = listed.find("Rana temporaria")
            assert found is not None
            assert sorted(found.names_by_language["en"]) == sorted(names), cell
