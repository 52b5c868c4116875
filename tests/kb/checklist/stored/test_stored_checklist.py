"""Checklists from files of all formats, the shelf of them, and the copy that a knowledge base keeps."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from data.errors import AmbiguousTaxon, BadInput, FieldmarkError, MissingRequirement, UsageError
from data.records import Taxon
from kb.checklist import shelf
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import find_taxon, select, species_ids
from kb.checklist.shelf import Shelf, checklist_for, kept_checklist
from kb.checklist.stored.index_file import NameRow, TaxonRow, write_rows
from kb.checklist.stored.stored_checklist import StoredChecklist
from tests.kb.checklist.stored.checklist_files import FORMATS, META, PLAIN, TAXA, darwin_core, plain


@pytest.fixture(scope="module", params=FORMATS)
def insects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoredChecklist:
    folder = tmp_path_factory.mktemp("checklist")
    write: Callable[[Path], Path] = FORMATS[request.param]
    return Shelf(folder / "home").add(write(folder))


def found(checklist: StoredChecklist, name: str) -> Taxon:
    taxon = checklist.find(name)
    assert taxon is not None, name
    return taxon


def test_a_taxon_of_any_rank_gives_the_species_below_it(insects: StoredChecklist) -> None:
    for name in ("Vanessa", "Nymphalidae", "Insecta"):
        assert [each.scientific_name for each in select(insects, name)] == ["Vanessa atalanta", "Vanessa cardui"]
    assert insects.n_species_of(find_taxon(insects, "Animalia")) == 3
    assert [each.scientific_name for each in select(insects, "Vanessa cardui")] == ["Vanessa cardui"]
    title, edition = insects.meta.get("title"), insects.name.removeprefix("insects")
    assert insects.meta["licence"] in {"CC BY 4.0", ""}
    assert (title, edition) in {("Insects and plants", " 2025-03-01"), (None, ""), ("", "")}


def test_homonyms_are_asked_back_and_chosen_by_a_taxon_above(insects: StoredChecklist) -> None:
    with pytest.raises(AmbiguousTaxon) as raised:
        select(insects, "Prunella")
    assert raised.value.hint == 'Choose one: "Animalia: Prunella", "Plantae: Prunella"'
    assert [each.scientific_name for each in select(insects, "Plantae: Prunella")] == ["Prunella vulgaris"]
    assert [each.scientific_name for each in select(insects, "Aves: prunella")] == ["Prunella modularis"]


def test_subspecies_and_hybrids_are_taxa_of_their_own(insects: StoredChecklist) -> None:
    subspecies = found(insects, "Vanessa atalanta rubria Fruhstorfer, 1909")
    assert (subspecies.rank, subspecies.lineage["species"]) == ("subspecies", "Vanessa atalanta")
    assert [each.scientific_name for each in select(insects, "Vanessa atalanta rubria")] == ["Vanessa atalanta"]
    assert found(insects, "Mentha x piperita").scientific_name == "Mentha × piperita"
    assert insects.find("Vanessa cardui x Vanessa atalanta") is None
    crosses = ("Mentha aquatica × Mentha spicata", "Mentha aquatica L. × Mentha spicata L.")
    assert [cross.rank for name in crosses if (cross := insects.find(name))] == ["hybrid"]


def test_missing_parents_circles_and_repeated_ids_are_repaired_and_reported(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text(
        "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\ttaxonRank\ttaxonomicStatus\tfamily\n"
        "1\t2\t\tAa\tgenus\taccepted\t\n2\t1\t\tBb\tfamily\taccepted\t\n3\t1\t\tAa ca\tspecies\taccepted\t\n"
        "4\t99\t\tDa ea\tspecies\taccepted\tDaidae\n4\t\t\tXa ya\tspecies\taccepted\t\n"
        "5\t\t77\tFa ga\tspecies\tsynonym\t\n6\t\t8\tHa ia\tspecies\tsynonym\t\n8\t\t3\tJa ka\tspecies\tsynonym\t\n"
        "9\t\t\t\tspecies\taccepted\t\n10\t\t3\tLa ma\tspecies\tmisapplied\t\n"
    )
    odd = Shelf(tmp_path / "home").add(tmp_path / "odd.tsv")
    assert {problem.partition(":")[0] for problem in odd.problems} == {
        "no scientific name", "id used before", "circle of parents", "parent that the file lacks",
        "synonym of a name that the file lacks", "misapplied name",
    }  # fmt: skip
    assert [odd.find(name) for name in ("Xa ya", "Fa ga", "La ma")] == [None] * 3
    assert found(odd, "Ha ia").scientific_name == "Aa ca"  # a synonym of a synonym
    assert [each.scientific_name for each in select(odd, "Daidae")] == ["Da ea"]
    assert [each.scientific_name for each in select(odd, "Aa")] == ["Aa ca"]


def test_parents_and_accepted_names_are_also_given_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "scientificName,taxonRank,parentNameUsage,acceptedNameUsage\nVanessa Fabricius,genus,,\n"
        "Vanessa cardui L.,species,Vanessa Fabricius,\nCynthia cardui,species,,Vanessa cardui L.\n"
    )
    table = Shelf(tmp_path / "home").add(tmp_path / "t.csv")
    assert found(table, "Cynthia cardui").scientific_name == "Vanessa cardui"
    assert found(table, "Vanessa cardui").lineage == {"genus": "Vanessa"}


def test_species_of_the_same_name_in_two_kingdoms_have_ids_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "kingdom,scientific_name\nAnimalia,Ficus variegata\nPlantae,Ficus variegata\nPlantae,Ficus carica\n"
    )
    both = Shelf(tmp_path / "home").add(tmp_path / "t.csv")
    assert [each.taxon_id for each in both.homonyms("Ficus variegata")] == [
        "ficus-variegata-animalia", "ficus-variegata-plantae",
    ]  # fmt: skip
    plants = ["ficus-variegata-plantae", "ficus-carica"]
    assert [each.taxon_id for each in select(both, "Plantae")] == list(species_ids(both, "Plantae")) == plants


def test_lines_of_a_plain_table_with_the_same_taxon_are_joined_and_reported(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "kingdom,family,scientific_name,common_name,synonyms,kingdom\n,,Aglais io,Peacock,Inachis io\n"
        'Animalia,Nymphalidae,"Aglais io (Linnaeus, 1758)",Peacock Butterfly,Nymphalis io\n'
        ",Nymphalidae,Aglais io,,\nPlantae,,Ficus carica,,\n"
    )
    table = Shelf(tmp_path / "home").add(tmp_path / "t.csv")
    assert table.problems == ["taxon listed before, lines joined: 2 (first: line 3, Aglais io)"]
    assert (table.n_species, [each.scientific_name for each in select(table, "Nymphalidae")]) == (2, ["Aglais io"])
    (species,) = {found(table, name).taxon_id: found(table, name) for name in ("Aglais io", "Nymphalis io")}.values()
    assert (species.common_names, species.synonyms) == (
        ("Peacock", "Peacock Butterfly"), ("Inachis io", "Nymphalis io"),
    )  # fmt: skip
    assert species.lineage == {"kingdom": "Animalia", "family": "Nymphalidae", "genus": "Aglais"}


def test_a_name_in_any_spelling_gives_the_accepted_species(insects: StoredChecklist) -> None:
    for name in (
        "Vanessa atalanta", "vanessa  ATALANTA", "Vanessa atalanta (Linnaeus, 1758)", "Vanessa atalanta L.",
        "Pyrameis atalanta", "Pyrameis atalanta (Linnaeus, 1758)", "Red Admiral", "red-admiral", "Admiral",
    ):  # fmt: skip
        taxon = found(insects, name)
        assert (taxon.scientific_name, taxon.rank) == ("Vanessa atalanta", "species"), name
    assert (taxon.taxon_id, taxon.synonyms, taxon.common_name) == (
        "vanessa-atalanta", ("Pyrameis atalanta",), "Red Admiral",
    )  # fmt: skip
    assert {rank: taxon.lineage[rank] for rank in ("kingdom", "class", "family", "genus")} == {
        "kingdom": "Animalia", "class": "Insecta", "family": "Nymphalidae", "genus": "Vanessa",
    }  # fmt: skip


def test_a_checklist_is_opened_by_name_and_by_file_and_added_once(tmp_path: Path) -> None:
    shelf, file = Shelf(tmp_path / "home"), plain(tmp_path)
    assert shelf.open() is shelf.open("AviList") is load_checklist()
    opened = shelf.open(str(file))
    before = shelf.path_of("insects").stat().st_mtime_ns
    assert opened.name == shelf.open("insects").name == "insects"
    assert shelf.open(str(file)).digest == shelf.add(file).digest == opened.digest
    assert shelf.path_of("insects").stat().st_mtime_ns == before


def test_a_file_that_changes_while_it_is_read_is_refused_and_leftovers_of_a_killed_process_go(tmp_path: Path) -> None:
    file, home, later = plain(tmp_path), Shelf(tmp_path / "home"), tmp_path / "later.csv"
    later.write_text(f"{PLAIN}Animalia,,,Aus bus,,,\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"insects\.csv changed while it was read"):
        home.add(file, report=lambda *_: shutil.copy(later, file) and None)
    assert [path.name for path in home.folder.iterdir()] == [".lock"]
    for left in ("other.rows", ".other.sqlite.new"):
        (home.folder / left).write_text("a part")
    assert home.add(file).find("Aus bus") is not None
    assert {path.name for path in home.folder.iterdir()} == {".lock", "insects.sqlite"}


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    Shelf(tmp_path / "home").add(plain(tmp_path))
    with pytest.raises(MissingRequirement) as raised:
        Shelf(tmp_path / "home").open("insect")
    assert raised.value.hint == 'Did you mean "insects"?'
    with pytest.raises(BadInput, match="File not found"):
        Shelf(tmp_path / "home").open("insect.csv")
    for name in ("", "a/b", "avilist", "Wiki", ".hidden", "a b", "a" * 65):
        with pytest.raises(UsageError, match="cannot be named"):
            Shelf(tmp_path / "home").add(plain(tmp_path), name)
    shelf = Shelf(tmp_path / "home")
    shelf.path_of("insects").write_bytes(b"not a database")  # or of another version
    with pytest.raises(FieldmarkError) as damaged:
        shelf.open("insects")
    assert str(damaged.value.hint).startswith("kb checklist add FILE writes it again; kb build --checklist FILE does")
    assert shelf.add(plain(tmp_path)).n_species == 5


def test_a_bad_archive_is_refused_with_its_file(tmp_path: Path) -> None:
    archives: tuple[tuple[dict[str, str | None], str], ...] = (
        ({"meta": "<archive"}, "meta.xml is not XML"),
        ({"meta": "<!DOCTYPE a [<!ENTITY b 'c'>]><archive/>"}, "declares entities"),
        ({"meta": "<archive/>"}, "has no core"),
        ({"meta": META.replace("dwc/terms/Taxon", "dwc/terms/Occurrence")}, "rows of occurrence, expected Taxon"),
        ({"meta": META.replace('index="3"', 'index="x"')}, "expected a number as index"),
        ({"meta": META.replace('"\\t"', '"||"')}, "meta.xml: expected one character between fields"),
        ({"meta": META.replace('"\\t"', '""')}, "meta.xml: expected one character between fields"),
        ({"meta": META.replace("scientificName", "remark")}, "meta.xml: the core has no field scientificName"),
        ({"taxa": None}, "names taxa.txt, which the archive lacks"),
        ({"taxa": TAXA + "\n" * 20_000_000}, r"taxa.txt would unpack to .* bytes from"),
    )
    for files, message in archives:
        with pytest.raises(BadInput, match=message):
            Shelf(tmp_path / "home").add(darwin_core(tmp_path, **files))
    path = darwin_core(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(BadInput, match="damaged or incomplete"):
        Shelf(tmp_path / "home").add(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "x")
    with pytest.raises(BadInput, match=r"holds a\.csv, b\.csv, from which the checklist is not clear"):
        Shelf(tmp_path / "home").add(path)


def test_a_bad_table_is_refused_with_file_and_line(tmp_path: Path) -> None:
    for content, message in (
        (b"\x89PNG\0\0\0\0", "is a binary file"),
        (b"", "is empty, expected a table of names"),
        (b"scientific_name\n", "The checklist has no names"),
        (b"id,colour\n1,red\n", "no column of scientific names; got id, colour"),
        (b"scientific_name\n" + b"x" * 2**21, "line 2: longer than 1,048,576 characters"),
        (b"scientific_name\nVanessa " + b"x" * 2**15, "The checklist has no names"),
    ):
        (tmp_path / "bad.csv").write_bytes(content)
        with pytest.raises(BadInput, match=message):
            Shelf(tmp_path / "home").add(tmp_path / "bad.csv")
        assert Shelf(tmp_path / "home").names() == []


def test_a_table_in_another_encoding_is_read_and_a_guess_is_told(tmp_path: Path) -> None:
    (tmp_path / "insects.csv").write_bytes(PLAIN.encode("utf-16"))
    listed = Shelf(tmp_path / "home").add(tmp_path / "insects.csv")
    assert (listed.n_species, listed.problems) == (5, [])
    (tmp_path / "birds.csv").write_bytes("scientific_name,common_name_de\nPica pica,Häher\n".encode("cp1252"))
    birds = Shelf(tmp_path / "home").add(tmp_path / "birds.csv")
    assert found(birds, "Häher").scientific_name == "Pica pica" and "(a guess)" in birds.problems[0]


@pytest.fixture
def whole(tmp_path: Path) -> StoredChecklist:
    return Shelf(tmp_path / "home").add(darwin_core(tmp_path))


def test_a_checklist_is_kept_once_unless_it_is_large(
    whole: StoredChecklist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    assert shelf.keep(whole, kept)
    assert kept.read_bytes() == whole.path.read_bytes()
    assert not shelf.keep(whole, kept)
    found = kept_checklist(kept, whole.name, whole.digest)
    assert isinstance(found, StoredChecklist) and found.n_species == whole.n_species
    assert not shelf.keep(found, kept)  # a later build with the kept one
    assert shelf.keep(load_checklist(), kept) and not kept.exists()  # nothing of AviList
    assert kept_checklist(kept, whole.name, whole.digest) is None
    monkeypatch.setattr(shelf, "MAX_TAXA", whole.n_species)
    assert not shelf.keep(whole, kept) and not kept.exists()
    assert kept_checklist(kept, "AviList 2025", load_checklist().digest) is load_checklist()


def test_a_knowledge_base_without_a_kept_checklist_is_its_own_unless_it_has_birds(tmp_path: Path) -> None:
    frog = Taxon(taxon_id="rana", scientific_name="Rana rana", rank="species", lineage={"class": "Amphibia"})
    bird = Taxon(taxon_id="pica", scientific_name="Pica pica", rank="species", lineage={"class": "Aves"})
    none = tmp_path / "none.sqlite"
    own = checklist_for(none, "", "", lambda: [frog])
    assert own.find("Mallard") is None and own.find("Rana rana") == frog
    assert checklist_for(none, "wiki", "", lambda: [bird]).find("Mallard") is None
    assert checklist_for(none, "", "", lambda: [bird, frog]) is load_checklist()


TREE = (TaxonRow(1, 0, "", "Vanessa", "genus"), TaxonRow(2, 1, "", "Vanessa a", "species"))


def test_rows_that_are_no_tree_and_names_without_a_taxon_are_refused(tmp_path: Path) -> None:
    one, two = TREE
    for taxa in (
        TREE[1:], (one, two._replace(parent=2)), (two._replace(n=1, parent=0), one._replace(n=2, parent=3)),
        (one._replace(name=""), two), (one._replace(name="x" * 3_000), two),
    ):  # fmt: skip
        with pytest.raises(BadInput):
            write_rows(tmp_path / "x.sqlite", dict, taxa, [])
        assert not list(tmp_path.iterdir()), taxa
    for name in ((4, 0, 1, "x", ""), (0, 0, 1, "x", ""), (1, 9, 1, "x", ""), (1, 0, 1, "", "")):
        with pytest.raises(BadInput, match="name without a taxon"):
            write_rows(tmp_path / "x.sqlite", dict, TREE, [NameRow._make(name)])
