"""Names matched with AviList and with the species that pages name."""

from typing import Any

import pytest

from data.records import Taxon, taxon_id
from kb.checklist.avilist import load_checklist
from kb.checklist.reconcile import LONGEST_NAME, Reconciler, load_reconciler
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes


@pytest.fixture(scope="module")
def reconciler() -> Any:
    return load_reconciler()


def test_a_name_matches_its_species_by_the_expected_rule(reconciler: Any) -> None:
    for name, species, rule in (
        ("grey catbird", "Dumetella carolinensis", "English name"),
        ("Gray Catbird", "Dumetella carolinensis", "English name (spelling)"),
        ("Accipiter badius", "Tachyspiza badia", "synonym"),  # eBird's name until 2024
        ("Bank Swallow", "Riparia riparia", "other English name"),  # eBird's
        ("norcar", "Cardinalis cardinalis", "eBird code"),
        ("180.Wilson_Warbler", "Cardellina pusilla", "English name (possessive)"),
        ("Cyanistes caeruleus_Eurasian Blue Tit", "Cyanistes caeruleus", "scientific name (inside)"),
        ("Mallard (Female/Eclipse male)", "Anas platyrhynchos", "English name (inside)"),
        ("03111_Animalia_Chordata_Aves_Accipitriformes_Accipitridae_Accipiter_badius", "Tachyspiza badia",
         "synonym (inside)"),
        ("Cardinalis cardinalis floridanus", "Cardinalis cardinalis", "subspecies"),
        ("Cardinalis cardinalis nonsensus", "Cardinalis cardinalis", "scientific name (inside)"),
        ("Oxyura ferruginea", "Oxyura jamaicensis", "subspecies"),  # eBird's Andean Duck is not a species in AviList
        ("Andean Duck", "Oxyura jamaicensis", "subspecies"),
        ("Cardellina pusillus", "Cardellina pusilla", "scientific name (ending)"),
        ("Phalacrocorax aristotelis", "Gulosus aristotelis", "scientific name (genus)"),
        ("03639_Animalia_Chordata_Aves_Galliformes_Phasianidae_Tetrao_tetrix", "Lyrurus tetrix",
         "scientific name (genus)"),
    ):  # fmt: skip
        (match,) = reconciler.reconcile([name]).matched
        assert (match.taxon.scientific_name, match.rule, match.name) == (species, rule, name)


def test_a_row_with_several_names_uses_the_first_known_one(reconciler: Any) -> None:
    result = reconciler.reconcile_rows(
        [
            ("Nonsense nonsense", "Mallard", "norcar"),
            ("", "", "mallar3"),
            ("Cardinalis cardinalis", "Northern Cardinal", "norcar"),
            ("Aechmophorus occidentalis/clarkii", "Western/Clark's Grebe", "wcgreb1"),
            ("", " "),
        ]
    )
    assert [(m.name, m.taxon.scientific_name, m.kind, m.elsewhere) for m in result.matched] == [
        ("Nonsense nonsense", "Anas platyrhynchos", "English name", ("Cardinalis cardinalis",)),
        ("mallar3", "Anas platyrhynchos", "eBird code", ()),
        ("Cardinalis cardinalis", "Cardinalis cardinalis", "scientific name", ()),
    ]
    assert [(missed.name, missed.reason) for missed in result.unmatched] == [
        ("Aechmophorus occidentalis/clarkii", "several species"),
        ("", "unknown"),
    ]


def test_names_without_a_single_species_are_unmatched_with_a_reason(reconciler: Any) -> None:
    for name, why in (
        ("Western/Clark's Grebe", "several species"),
        ("Mallard x Gadwall", "hybrid"),
        ("Strigidae (gen, sp)", "several species"),
        ("Unidentified Hawk", "several species"),
        ("Porphyrio caerulescens", "unknown"),  # eBird's, extinct; Rallus caerulescens is another rail
        ("Strix spilocephala", "unknown"),  # a Ninox or an Otus: two owls have the epithet
        ("Turdus", "not a species"),
        ("Parus majro", "unknown"),
        ("141.Artic_Tern", "unknown"),
        ("", "unknown"),
    ):
        result = reconciler.reconcile([name])
        assert result.matched == ()
        assert [(missed.name, missed.reason) for missed in result.unmatched] == [(name, why)]


def test_given_names_take_precedence_over_all_rules(reconciler: Any) -> None:
    given = {"Robin": "Turdus migratorius", "Odd": "Nonsense nonsense"}
    result = reconciler.reconcile(["Robin", "Odd"], given=given)
    assert [(match.taxon.scientific_name, match.kind) for match in result.matched] == [("Turdus migratorius", "given")]
    assert [missed.name for missed in result.unmatched] == ["Odd"]


def test_a_name_ambiguous_without_its_possessive_is_unmatched() -> None:
    def wren(name: str, common_name: str) -> Taxon:
        return Taxon(taxon_id=taxon_id(name), scientific_name=name, rank="species", common_names=(common_name,))

    one, other = wren("Wrena una", "Zed's Wren"), wren("Wrena altera", "Zed Wren's")
    (missed,) = Reconciler(WikiChecklist([one, other])).reconcile(["Zed Wren"]).unmatched
    assert (missed.reason, missed.suggestions) == ("several species", ("Wrena una", "Wrena altera"))
    (match,) = Reconciler(WikiChecklist([one])).reconcile(["Zed Wren"]).matched
    assert match.taxon == one


def test_a_match_reports_the_checklist_name_and_names_that_share_a_species(reconciler: Any) -> None:
    result = reconciler.reconcile(
        ["180.Wilson_Warbler", "Accipiter_badius", "Andean Duck", "Cardellina pusillus", "Gadwall"]
    )
    assert [match.matched_name for match in result.matched] == [
        "Wilson's Warbler", "Accipiter badius", "Oxyura jamaicensis ferruginea", "Cardellina pusilla", "Gadwall",
    ]  # fmt: skip
    assert result.shared == {"Cardellina pusilla": ("180.Wilson_Warbler", "Cardellina pusillus")}


def test_names_that_are_only_similar_inside_another_or_overlong_are_never_matched(reconciler: Any) -> None:
    """Only words for age, sex and plumage may surround a name; "Northern cardinal" only looks like a binomial."""
    label = f"Turdus merula {'x' * LONGEST_NAME}"
    names = ["Artic Tern", "Imaginary Northern Cardinal", "False Northern cardinal", label]
    missed = reconciler.reconcile(names).unmatched
    assert [name.reason for name in missed] == ["unknown"] * 4
    assert (missed[0].suggestions[0], missed[3].suggestions) == ("Arctic Tern", ())
    assert reconciler.reconcile([label[:400]]).matched


FROG = Taxon(
    taxon_id="rana-rubra", scientific_name="Rana rubra", rank="species", common_names=("Red Frog",),
    synonyms=("Rana rufa",), lineage={"class": "Amphibia", "genus": "Rana"},
)  # fmt: skip


def test_a_checklist_beside_taxoboxes_finds_species_of_both() -> None:
    birds = load_checklist()
    both = WithTaxoboxes(birds, [FROG])
    magpie = birds.find("Pica pica")
    assert magpie is not None
    assert (both.find("red frog"), both.find("Pica pica"), both.find("Bufo bufo")) == (FROG, magpie, None)
    assert both.species_of(FROG) == [FROG] and both.n_species_of(FROG) == 1
    assert list(both.species_ids(magpie)) == ["pica-pica"]
    assert both.suggest("Rana ruba", 2)[0] == "Rana rubra"
    assert both.lacks([FROG, magpie]) == 1
    assert both.recorded_for([magpie]) == ("AviList 2025", birds.digest)
    assert both.recorded_for([FROG, magpie]) == ("AviList 2025, wiki", birds.digest)
    assert both.recorded_for([FROG]) == ("wiki", "")


def test_species_of_pages_are_found_by_name_and_have_no_tree() -> None:
    own = WikiChecklist([FROG])
    assert own.find("Rana rubra") == FROG and own.top_taxa() == [FROG]
    genus = Taxon(taxon_id="rana", scientific_name="Rana", rank="genus")
    assert (own.species_of(genus), own.n_species_of(FROG), own.homonyms("Rana")) == ([], 1, [])
    assert own.suggest("red frogs") == ["Red Frog"]
    assert own.suggest("xyzzy") == []


def test_labels_are_matched_with_given_species_alone() -> None:
    found = Reconciler(WikiChecklist([FROG])).reconcile(["07.Rana_rubra", "red-frog", "Rana rufa", "Pica pica"])
    assert [(match.name, match.rule, match.matched_name) for match in found.matched] == [
        ("07.Rana_rubra", "scientific name", "Rana rubra"), ("red-frog", "common name (spelling)", "Red Frog"),
        ("Rana rufa", "synonym", "Rana rufa"),
    ]  # fmt: skip
