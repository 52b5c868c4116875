import pytest

from data.benchmarks.cub_names import CUB_NAMES
from data.records import Taxon
from data.taxon_ids import taxon_id
from kb.reconciling import Reconciler
from kb.taxa import load_checklist


@pytest.fixture(scope="module")
def reconciler():
    return Reconciler(load_checklist())


@pytest.mark.parametrize(
    ("name", "species", "how"),
    [
        ("Parus major", "Parus major", "name"),
        ("gray catbird", "Dumetella carolinensis", "name"),
        ("Grey Catbird", "Dumetella carolinensis", "name"),
        ("Black-Crowned Night Heron", "Nycticorax nycticorax", "name"),
        ("Accipiter badius", "Tachyspiza badia", "name"),  # eBird's name until 2024, a synonym in AviList
        ("Bank Swallow", "Riparia riparia", "name"),  # eBird's English name
        ("019.Gray_Catbird", "Dumetella carolinensis", "name"),
        ("Warbler, Wilson's", "Cardellina pusilla", "name"),
        ("180.Wilson_Warbler", "Cardellina pusilla", "spelling"),
        ("Wilsons warbler", "Cardellina pusilla", "name"),
        ("Harris Sparrow", "Zonotrichia querula", "spelling"),
        ("022.Chuck_will_Widow", "Antrostomus carolinensis", "spelling"),
        ("Cyanistes caeruleus_Eurasian Blue Tit", "Cyanistes caeruleus", "binomial"),
        ("Mallard (Anas platyrhynchos)", "Anas platyrhynchos", "binomial"),
        ("03111_Animalia_Chordata_Aves_Accipitriformes_Accipitridae_Accipiter_badius", "Tachyspiza badia", "binomial"),
        ("Cardinalis cardinalis cardinalis", "Cardinalis cardinalis", "subspecies"),
    ],
)
def test_a_name_is_brought_to_its_species_by_a_rule_that_is_named(reconciler, name, species, how):
    (match,) = reconciler.reconcile([name]).matched
    assert (match.taxon.scientific_name, match.how, match.name) == (species, how, name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Turdus sp.", "several species"),
        ("Western/Clark's Grebe", "several species"),
        ("Mallard x Gadwall", "several species"),
        ("Turdus", "not a species"),
        ("Strigidae", "not a species"),
        ("Parus majro", "unknown"),
        ("141.Artic_Tern", "unknown"),
        ("", "unknown"),
    ],
)
def test_what_is_no_one_species_is_reported_with_the_reason(reconciler, name, why):
    result = reconciler.reconcile([name])
    assert result.matched == ()
    assert [(missed.name, missed.why) for missed in result.unmatched] == [(name, why)]


def test_likeness_is_a_suggestion_and_never_a_match(reconciler):
    (missed,) = reconciler.reconcile(["Artic Tern"]).unmatched
    assert missed.suggestions[0] == "Arctic Tern"


def test_a_table_of_the_caller_s_goes_before_all_rules(reconciler):
    given = {"Cardinal": "Cardinalis cardinalis", "Robin": "Turdus migratorius", "Odd": "Nonsense nonsense"}
    result = reconciler.reconcile(["Cardinal", "Robin", "Odd"], given=given)
    assert [(match.taxon.scientific_name, match.how) for match in result.matched] == [
        ("Cardinalis cardinalis", "given"),
        ("Turdus migratorius", "given"),
    ]
    assert [missed.name for missed in result.unmatched] == ["Odd"]


def test_a_name_that_fits_two_species_without_its_possessive_is_left_open():
    def wren(scientific_name, common_name):
        return Taxon(
            taxon_id=taxon_id(scientific_name),
            scientific_name=scientific_name,
            rank="species",
            common_names=(common_name,),
        )

    one, other = wren("Wrena una", "Zed's Wren"), wren("Wrena altera", "Zed Wren's")
    (missed,) = Reconciler(load_checklist(), within=[one, other]).reconcile(["Zed Wren"]).unmatched
    assert (missed.why, missed.suggestions) == ("several species", ("Wrena una", "Wrena altera"))
    (match,) = Reconciler(load_checklist(), within=[one]).reconcile(["Zed Wren"]).matched
    assert match.taxon == one


def test_names_that_share_a_species_are_listed_together(reconciler):
    result = reconciler.reconcile(["Mallard", "Anas platyrhynchos", "Gadwall"])
    assert result.shared == {"Anas platyrhynchos": ("Mallard", "Anas platyrhynchos")}


def test_every_class_of_cub_in_our_table_is_a_species_of_the_checklist(reconciler):
    result = reconciler.reconcile(list(CUB_NAMES), given=CUB_NAMES)
    assert [match.taxon.scientific_name for match in result.matched] == list(CUB_NAMES.values())
