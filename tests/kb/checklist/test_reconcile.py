"""AviList as the checklist; names matched with it, with checklists of any group, and with the species of pages."""

from pathlib import Path

import pytest

from data.errors import AmbiguousTaxon
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.bird_names import load_bird_names
from kb.checklist.reconcile import LONGEST_NAME, Reconciler
from kb.checklist.selection import select, taxa_named
from kb.checklist.shelf import Shelf
from kb.checklist.wiki_checklist import WikiChecklist, WithTaxoboxes

BIRDS = load_checklist()
BY_BIRDS = Reconciler(BIRDS)
UUID = "11111111-2222-4333-8444-555555555501"


def test_a_species_has_names_lineage_and_ids() -> None:
    assert BIRDS.name == "AviList 2025"
    assert BIRDS.find("Cardinalis cardinalis") == Taxon(
        taxon_id="cardinalis-cardinalis",
        scientific_name="Cardinalis cardinalis",
        rank="species",
        common_names=("Northern Cardinal",),
        lineage={"class": "Aves", "order": "Passeriformes", "family": "Cardinalidae", "genus": "Cardinalis"},
        ids={"avibase": "avibase-4E74AE22", "ebird": "norcar"},
    )


def test_names_are_found_in_any_spelling() -> None:
    for name, scientific in (
        ("NORTHERN CARDINAL", "Cardinalis cardinalis"), ("black crowned night-heron", "Nycticorax nycticorax"),
        ("Ruppells Vulture", "Gyps rueppelli"), ("ʻIʻiwi", "Drepanis coccinea"), ("Corvus", "Corvus"),
        ("Accipiter_gentilis", "Astur gentilis"), ("Rock Pigeon", "Columba livia"), ("Owls", "Strigiformes"),
        ("strigidae", "Strigidae"), ("Birds", "Aves"),
    ):  # fmt: skip
        found = BIRDS.find(name)
        assert found is not None and found.scientific_name == scientific, name
    for name in ("", " ", "-", "Homo sapiens", "Mallard Linnaeus", "北"):
        assert BIRDS.find(name) is None, name
    for name, author in (("Turdus merula", "Linnaeus, 1758"), ("Turdus", "Linnaeus"), ("Accipiter badius", "(Gmelin)")):
        assert BIRDS.find(f"{name} {author}") == BIRDS.find(name)
    assert taxa_named(BIRDS, "Cardinalis cardinalis floridanus") == taxa_named(BIRDS, "Cardinalis cardinalis")
    assert taxa_named(BIRDS, "Aves: Pica") == [BIRDS.find("Pica")]  # as the message on an ambiguous name offers it


def test_names_of_other_lists_are_known() -> None:
    # AviList's Grey-headed Woodpecker lives in Eurasia, BirdLife's in Africa.
    others = BIRDS.others_called("Gray-headed woodpecker")
    assert [taxon.scientific_name for taxon in others] == ["Dendropicos spodocephalus"]
    names = ("Oxyura ferruginea", "Oxyura jamaicensis", "Accipiter badius")  # lumped, accepted, a synonym
    assert [BIRDS.lacks(name) for name in names] == [True, False, False]


def test_a_name_matches_its_species_by_the_expected_rule() -> None:
    for name, species, rule in (
        ("grey catbird", "Dumetella carolinensis", "English name"),
        ("130.Tree_Sparrow", "Spizelloides arborea", "given"),  # the table for CUB comes before all rules
        ("Gray Catbird", "Dumetella carolinensis", "English name (spelling)"),
        ("Accipiter badius", "Tachyspiza badia", "synonym"),  # eBird's name until 2024
        ("Bank Swallow", "Riparia riparia", "other English name"),  # eBird's
        ("norcar", "Cardinalis cardinalis", "eBird code"),
        ("180.Wilson_Warbler", "Cardellina pusilla", "English name (possessive)"),
        ("Mallard (Female/Eclipse male)", "Anas platyrhynchos", "English name (inside)"),
        ("03111_Animalia_Chordata_Aves_Accipitriformes_Accipitridae_Accipiter_badius", "Tachyspiza badia",
         "synonym (inside)"),
        ("Cardinalis cardinalis nonsensus", "Cardinalis cardinalis", "scientific name (third word left out)"),
        # Subspecies of other lists that are species, or subspecies of another species, here.
        ("Pica pica hudsonia", "Pica hudsonia", "scientific name (raised)"),
        ("Pica pica subsp. hudsonia (Sabine, 1823)", "Pica hudsonia", "scientific name (raised)"),
        ("Pica_pica_hudsonia", "Pica hudsonia", "scientific name (raised)"),
        ("Bubulcus ibis coromandus", "Ardea coromanda", "synonym (raised)"),
        ("Charadrius alexandrinus nivosus", "Anarhynchus nivosus", "synonym (raised)"),
        ("Parus major minor", "Parus cinereus", "subspecies (raised)"),
        ("Parus caeruleus teneriffae", "Cyanistes teneriffae", "scientific name (raised)"),  # in an older genus
        ("Larus argentatus var. smithsonianus", "Larus smithsonianus", "scientific name (raised)"),
        ("Parus caeruleus nonsensus", "Cyanistes caeruleus", "scientific name (third word left out)"),
        ("Fox Sparrow (Grey (Thick-billed))", "Passerella iliaca", "English name (bracket left out)"),
        ("Larus argentatus [smithsonianus Group]", "Larus smithsonianus", "scientific name (raised)"),
        ("Larus (Larus) argentatus", "Larus argentatus", "scientific name"),
        ("Larus argentatus (Pontoppidan)", "Larus argentatus", "scientific name (bracket left out)"),
        ("Herring Gull (American)", "Larus smithsonianus", "English name (group)"),
        ("Northern Goshawk (American)", "Astur atricapillus", "English name (group)"),
        ("Chickadee (Black-capped)", "Poecile atricapillus", "English name (group)"),
        # Groups and intergrades of one species are that species.
        ("Great Blue Heron (Great White)", "Ardea herodias", "subspecies (group)"),  # not the Great Egret
        ("Canada Goose (moffitti/maxima)", "Branta canadensis", "subspecies (group)"),
        ("Yellow-rumped Warbler (Myrtle x Audubon's)", "Setophaga coronata", "other English name (group)"),
        ("Colaptes auratus [auratus Group x cafer Group]", "Colaptes auratus", "scientific name (group)"),
        ("Setophaga coronata coronata x auduboni", "Setophaga coronata", "subspecies (group)"),
        ("Grey Heron / Graureiher", "Ardea cinerea", "English name (inside)"),
        ("Brant (Black)", "Branta bernicla", "other English name (bracket left out)"),
        ("Branta b. bernicla", "Branta bernicla", "subspecies (abbreviation)"),
        ("Motacilla a. yarrellii Gould, 1837", "Motacilla alba", "subspecies (abbreviation)"),
        ("Larus a. smithsonianus", "Larus smithsonianus", "scientific name (raised)"),
        (f"{UUID};aves;passeriformes;corvidae;corvus;corax;common raven", "Corvus corax", "scientific name"),
        ("Oxyura ferruginea", "Oxyura jamaicensis", "subspecies"),  # eBird's Andean Duck is not a species in AviList
        ("Andean Duck", "Oxyura jamaicensis", "subspecies"),
        ("03639_Animalia_Chordata_Aves_Galliformes_Phasianidae_Tetrao_tetrix", "Lyrurus tetrix",
         "scientific name (genus)"),
    ):  # fmt: skip
        (match,) = BY_BIRDS.reconcile([name]).matched
        assert (match.taxon.scientific_name, match.rule, match.name) == (species, rule, name)


def test_a_row_with_several_names_uses_the_first_known_one() -> None:
    result = BY_BIRDS.reconcile_rows([
        ("Nonsense nonsense", "Mallard", "norcar"), ("", "", "mallar3"),
        ("Cardinalis cardinalis", "Northern Cardinal", "norcar"),
        ("Aechmophorus occidentalis/clarkii", "Western/Clark's Grebe", "wcgreb1"), ("", " "),
    ])  # fmt: skip
    assert [(m.name, m.taxon.scientific_name, m.kind, m.elsewhere) for m in result.matched] == [
        ("Nonsense nonsense", "Anas platyrhynchos", "English name", ("Cardinalis cardinalis",)),
        ("mallar3", "Anas platyrhynchos", "eBird code", ()),
        ("Cardinalis cardinalis", "Cardinalis cardinalis", "scientific name", ()),
    ]
    assert [(missed.name, missed.reason) for missed in result.unmatched] == [
        ("Aechmophorus occidentalis/clarkii", "several species"), ("", "unknown"),
    ]  # fmt: skip


def test_names_without_a_single_species_are_unmatched_with_a_reason() -> None:
    for name, why in (
        ("Mallard x Gadwall", "hybrid"),
        ("Strigidae (gen, sp)", "several species"),
        ("Unidentified Hawk", "several species"),
        ("Porphyrio caerulescens", "unknown"),  # eBird's, extinct; Rallus caerulescens is another rail
        ("Strix spilocephala", "unknown"),  # a Ninox or an Otus: two owls have the epithet
        ("Herring Gull (American/European)", "several species"),
        ("Larus argentatus (American Herring Gull)", "several species"),  # the bracket names another species
        ("Northern Flicker (Gilded x Red-shafted)", "hybrid"),
        ("Western/Clark's Grebe", "several species"),
        ("cf. Larus canus", "several species"),
        ("Turdus merula cf.", "several species"),
        ("Larus spec.", "genus only"),
        ("Larus Linnaeus, 1758", "not a species"),
        (f"{UUID};aves;gruiformes;gruidae;grus;;grus species", "not a species"),  # Grus alone is the Common Crane
        (f"{UUID};;;;;;blank", "not a species"),
        (f"{UUID};mammalia;carnivora;felidae;lynx;rufus;bobcat", "unknown"),
    ):
        result = BY_BIRDS.reconcile([name])
        assert result.matched == ()
        assert [(missed.name, missed.reason) for missed in result.unmatched] == [(name, why)]


def test_everyday_names_are_matched_or_ambiguous_until_the_language_decides() -> None:
    meant = {
        "en": {"Rotkehlchen": "Erithacus rubecula", "Great Northern Diver": "Gavia immer", "Merle": "Turdus merula",
               "AMCR": "Corvus brachyrhynchos", "Jacana": None, "jaçanã": "Jacana jacana",
               "キンケイ": "Chrysolophus pictus", "ギンケイ": "Chrysolophus amherstiae",
               "Зарянка": "Erithacus rubecula", "amcr": None, "Robin": None},
        "en-gb": {"Robin": "Erithacus rubecula", "Blackbirds": "Turdus merula", "Jay": "Garrulus glandarius"},
        "en-us": {"Robin": "Turdus migratorius", "Cardinal": "Cardinalis cardinalis", "Jay": None},
    }  # fmt: skip
    for language, names in meant.items():
        found = Reconciler(load_checklist(language)).reconcile(list(names)).matched
        assert {match.name: match.taxon.scientific_name for match in found} == {k: v for k, v in names.items() if v}
        assert {match.rule for match in found} == {"everyday name"}
    (missed,) = BY_BIRDS.reconcile(["Robin"]).unmatched
    assert (missed.reason, missed.suggestions[:2]) == ("ambiguous", ("European Robin", "American Robin"))
    with pytest.raises(AmbiguousTaxon, match='"Jay" names 48 taxa'):
        select(BIRDS, "Jay")
    assert load_bird_names().shown("Erithacus rubecula", "de-at") == ("Rotkehlchen",)
    assert load_bird_names().shown("Erithacus rubecula", "en") == ()


def test_accents_choose_among_names_that_are_else_alike_but_may_be_left_out(tmp_path: Path) -> None:
    rows = "Aus bus,Pássaro\nAus cus,Passaro\nAus dus,Dun-bird\nAus eus,Dun bird\n"
    (tmp_path / "t.csv").write_text(f"scientific_name,common_name\n{rows}")
    listed = Shelf(tmp_path / "home").add(tmp_path / "t.csv")
    found = [listed.find(name) for name in ("pássaro", "passaro", "passáro", "dun bird")]
    assert [taxon and taxon.scientific_name for taxon in found] == ["Aus bus", None, None, None]


def test_names_that_are_only_similar_inside_another_or_overlong_are_never_matched() -> None:
    """Only words for age, sex and plumage may surround a name; "Northern cardinal" only looks like a binomial."""
    label = f"Turdus merula {'x' * LONGEST_NAME}"
    names = ["Artic Tern", "Imaginary Northern Cardinal", "False Northern cardinal", label]
    missed = BY_BIRDS.reconcile(names).unmatched
    assert [name.reason for name in missed] == ["unknown"] * 4
    assert (missed[0].suggestions[0], missed[3].suggestions) == ("Arctic Tern", ())
    assert BY_BIRDS.reconcile([label[:400]]).matched


FROG = Taxon(
    taxon_id="rana-rubra", scientific_name="Rana rubra", rank="species", common_names=("Red Frog",),
    synonyms=("Rana rufa",), lineage={"class": "Amphibia", "genus": "Rana"},
)  # fmt: skip


def test_a_checklist_beside_taxoboxes_finds_species_of_both() -> None:
    both = WithTaxoboxes(BIRDS, [FROG])
    magpie = BIRDS.find("Pica pica")
    assert magpie is not None
    assert (both.find("red frog"), both.find("Pica pica"), both.find("Bufo bufo")) == (FROG, magpie, None)
    assert both.species_of(FROG) == [FROG] and both.n_species_of(FROG) == 1
    assert list(both.species_ids(magpie)) == ["pica-pica"]
    assert both.suggest("Rana ruba", 2)[0] == "Rana rubra"
    assert both.recorded_for([magpie]) == ("AviList 2025", BIRDS.digest)
    assert both.recorded_for([FROG, magpie]) == ("AviList 2025, wiki", BIRDS.digest)
    assert both.recorded_for([FROG]) == ("wiki", "")


def test_species_of_pages_are_found_by_name_and_have_no_tree() -> None:
    own = WikiChecklist([FROG])
    assert own.find("Rana rubra") == FROG and own.top_taxa() == [FROG]
    genus = Taxon(taxon_id="rana", scientific_name="Rana", rank="genus")
    assert (own.species_of(genus), own.n_species_of(FROG), own.homonyms("Rana")) == ([], 1, [])
    assert (own.suggest("red frogs"), own.suggest("xyzzy")) == (["Red Frog"], [])
    found = Reconciler(own).reconcile(["07.Rana_rubra", "red-frog", "Rana rufa", "Pica pica"])
    assert [(match.name, match.rule, match.matched_name) for match in found.matched] == [
        ("07.Rana_rubra", "scientific name", "Rana rubra"), ("red-frog", "common name (spelling)", "Red Frog"),
        ("Rana rufa", "synonym", "Rana rufa"),
    ]  # fmt: skip


TABLE = """scientific_name,kingdom,class,order,family,genus,rank,common_name,common_name_de,common_name_ja,synonyms
Bombus morrisoni,Animalia,Insecta,Hymenoptera,Apidae,Bombus,,Morrison's Bumble Bee,,,
Bombus pensylvanicus,Animalia,Insecta,Hymenoptera,Apidae,Bombus,,American Bumble Bee,,,Bombus pennsylvanicus
Danaus plexippus,Animalia,Insecta,Lepidoptera,Nymphalidae,Danaus,,Monarch,Monarchfalter,オオカバマダラ,
Danaus plexippus megalippe,Animalia,Insecta,Lepidoptera,Nymphalidae,Danaus,subspecies,,,,
Vanessa atalanta,Animalia,Insecta,Lepidoptera,Nymphalidae,Vanessa,,Red Admiral,Admiral,,Pyrameis atalanta
Vanessa cardui,Animalia,Insecta,Lepidoptera,Nymphalidae,Vanessa,,Painted Lady,Distelfalter,,
Polygonia c-album,Animalia,Insecta,Lepidoptera,Nymphalidae,Polygonia,,Comma,C-Falter,,
Hyla cinerea,Animalia,Amphibia,Anura,Hylidae,Hyla,,Green Treefrog,,,
Dryophytes versicolor,Animalia,Amphibia,Anura,Hylidae,Dryophytes,,Gray Tree Frog,,,
Salvia alba,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Salvia,,,,,
Mentha albus,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Mentha,,,,,
Mentha × piperita,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Mentha,,Peppermint,Pfefferminze,,
Prunella vulgaris,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Prunella,,Selfheal,Kleine Braunelle,,
Prunella modularis,Animalia,Aves,Passeriformes,Prunellidae,Prunella,,Dunnock,Heckenbraunelle,,
"""


@pytest.fixture(scope="module")
def general(tmp_path_factory: pytest.TempPathFactory) -> Reconciler:
    folder = tmp_path_factory.mktemp("names")
    (folder / "t.csv").write_text(TABLE, encoding="utf-8")
    return Reconciler(Shelf(folder / "home").add(folder / "t.csv"))


def test_a_name_is_matched_by_a_rule(general: Reconciler) -> None:
    for name, species, rule in (
        ("Pyrameis atalanta Linnaeus, 1758", "Vanessa atalanta", "synonym"),
        ("012.Red_Admiral", "Vanessa atalanta", "common name"),
        ("red-admiral", "Vanessa atalanta", "common name (spelling)"),
        ("Grey Treefrog", "Dryophytes versicolor", "common name (spelling)"),
        ("V. cardui", "Vanessa cardui", "scientific name (abbreviation)"),
        ("オオカバマダラ", "Danaus plexippus", "common name"),
        ("Morrison Bumble Bee", "Bombus morrisoni", "common name (possessive)"),
        ("American's Bumble Bee", "Bombus pensylvanicus", "common name (possessive)"),
        ("Vanessa atalantus", "Vanessa atalanta", "scientific name (ending)"),
        ("Hyla versicolor", "Dryophytes versicolor", "scientific name (genus)"),
        ("Danaus plexippus megalippe", "Danaus plexippus", "subspecies"),
        ("Danaus megalippe", "Danaus plexippus", "subspecies"),
        ("Danaus p. megalippe", "Danaus plexippus", "subspecies (abbreviation)"),
        ("Vanessa atalanta cardui", "Vanessa cardui", "scientific name (raised)"),
        ("Vanessa atalanta (cardui)", "Vanessa cardui", "scientific name (raised)"),
        ("Vanessa atalanta f. cardui", "Vanessa atalanta", "scientific name (third word left out)"),
        ("Danaus plexippus (larva)", "Danaus plexippus", "scientific name"),
        ("Lepidoptera Vanessa cardui worn", "Vanessa cardui", "scientific name (third word left out)"),
        ("Mentha x piperita L.", "Mentha × piperita", "scientific name"),
    ):
        (match,) = general.reconcile([name]).matched
        assert (match.taxon.scientific_name, match.rule) == (species, rule), name


def test_a_short_trinomial_is_found_among_many_names_with_its_last_word(tmp_path: Path) -> None:
    others = "".join(f"Pa{chr(97 + i // 26)}{chr(97 + i % 26)}us alba\n" for i in range(200))
    (tmp_path / "t.csv").write_text(f"scientific_name\n{others}Pinus rubra\nPinus rubra alba\n")
    (match,) = Reconciler(Shelf(tmp_path / "home").add(tmp_path / "t.csv")).reconcile(["Pinus r. alba"]).matched
    assert (match.taxon.scientific_name, match.matched_name) == ("Pinus rubra", "Pinus rubra alba")


def test_a_name_without_a_single_species_is_reported_with_its_reason(general: Reconciler) -> None:
    for name, reason, suggestions in (
        ("Vanessa sp.", "genus only", ()),
        ("Monarch/Painted Lady", "several species", ()),
        ("Vanessa atalanta (Painted Lady)", "several species", ("Vanessa atalanta", "Vanessa cardui")),
        ("Vanessa cf. cardui", "several species", ()),
        ("Prunella", "several species", ("Animalia: Prunella", "Plantae: Prunella")),
        ("Vanessa", "not a species", ("Vanessa atalanta", "Vanessa cardui")),
        ("Nymphalidae", "not a species", ()),
        ("Prunella albus", "unknown", ()),  # of two species of the family
        ("Vanessa cardiu", "unknown", ("Vanessa cardui",)),
        ("Comma bacillus", "unknown", ()),  # a word after a common name is no author
        ("", "unknown", ()),
    ):
        (missed,) = general.reconcile([name]).unmatched
        assert (missed.name, missed.reason) == (name, reason), name
        assert missed.suggestions[: len(suggestions)] == suggestions, name
