"""Checklists from files of all formats: names, ranks, homonyms, common names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from data.errors import AmbiguousTaxon, BadInput, UnknownTaxon
from data.records import Taxon
from kb.checklist.selection import find_taxon, select, species_ids
from kb.checklist.shelf import Shelf
from kb.checklist.stored.stored_checklist import StoredChecklist
from tests.kb.checklist.stored.checklist_files import FORMATS, coldp_usages, darwin_core, plain


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
    assert find_taxon(insects, "Animalia", {"vanessa-cardui", "pica-pica"}).n_species == 3
    assert find_taxon(insects, "Animalia", {"vanessa-cardui", "pica-pica"}).n_held == 1
    assert [each.scientific_name for each in select(insects, "Vanessa cardui")] == ["Vanessa cardui"]


def test_homonyms_are_asked_back_and_chosen_by_a_taxon_above(insects: StoredChecklist) -> None:
    with pytest.raises(AmbiguousTaxon) as raised:
        select(insects, "Prunella")
    assert raised.value.hint == 'Choose one: "Animalia: Prunella", "Plantae: Prunella"'
    assert [each.scientific_name for each in select(insects, "Plantae: Prunella")] == ["Prunella vulgaris"]
    assert [each.scientific_name for each in select(insects, "Aves: prunella")] == ["Prunella modularis"]


def test_subspecies_and_hybrids_are_taxa_of_their_own(insects: StoredChecklist) -> None:
    subspecies = found(insects, "Vanessa atalanta rubria Fruhstorfer, 1909")
    assert (subspecies.rank, subspecies.lineage["species"]) == ("subspecies", "Vanessa atalanta")
    with pytest.raises(BadInput, match="Vanessa atalanta rubria is a subspecies without species"):
        select(insects, "Vanessa atalanta rubria")
    assert found(insects, "Mentha x piperita").scientific_name == "Mentha × piperita"
    assert insects.find("Vanessa cardui x Vanessa atalanta") is None
    cross = next(name for name in ("Mentha aquatica × Mentha spicata", "Mentha aquatica L. × Mentha spicata L.")
                 if insects.find(name))  # fmt: skip
    assert found(insects, cross).rank == "hybrid"


def test_an_unknown_name_is_answered_with_the_nearest(insects: StoredChecklist) -> None:
    for misspelt in ("Vanesa atalanta", "Vanessa attalanta", "Wanessa atalanta", "Vanessa atalnta"):
        assert insects.suggest(misspelt)[0] == "Vanessa atalanta", misspelt
    with pytest.raises(UnknownTaxon) as raised:
        select(insects, "Red Admirals")
    assert raised.value.hint == "Did you mean Red Admiral?"
    assert insects.suggest("") == insects.suggest("x") == []


def test_title_and_edition_come_from_the_file(tmp_path: Path) -> None:
    for write in (darwin_core, coldp_usages):
        added = Shelf(tmp_path / write.__name__).add(write(tmp_path), "mine")
        assert (added.name, added.meta["title"], added.n_species) == ("mine 2025-03-01", "Insects and plants", 5)


def test_common_names_of_the_given_language_come_first(tmp_path: Path) -> None:
    file = plain(tmp_path)
    shelf = Shelf(tmp_path / "home", language="de")
    assert found(shelf.add(file), "Vanessa atalanta").common_names == ("Admiral", "Red Admiral")
    assert found(Shelf(tmp_path / "home").stored("insects"), "Vanessa atalanta").common_names == ("Red Admiral",)


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
        "kingdom,family,scientific_name,common_name,synonyms\n,,Aglais io,Peacock,Inachis io\n"
        'Animalia,Nymphalidae,"Aglais io (Linnaeus, 1758)",Peacock Butterfly,Nymphalis io\n'
        "Animalia,,Ficus variegata,,\nPlantae,,Ficus variegata,,\n,Nymphalidae,Aglais io,,\n"
    )
    table = Shelf(tmp_path / "home").add(tmp_path / "t.csv")
    assert table.problems == ["taxon listed before, lines joined: 2 (first: line 3, Aglais io)"]
    assert (table.n_species, [each.scientific_name for each in select(table, "Nymphalidae")]) == (3, ["Aglais io"])
    (species,) = {found(table, name).taxon_id: found(table, name) for name in ("Aglais io", "Nymphalis io")}.values()
    assert (species.common_names, species.synonyms) == (
        ("Peacock", "Peacock Butterfly"), ("Inachis io", "Nymphalis io"),
    )  # fmt: skip
    assert species.lineage == {"kingdom": "Animalia", "family": "Nymphalidae", "genus": "Aglais"}
    assert len(table.homonyms("Ficus variegata")) == 2


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
