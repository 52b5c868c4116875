"""Rules of names for checklists of any group, as for birds."""

from __future__ import annotations

import pytest

from kb.checklist.reconcile import Reconciled, Reconciler
from kb.checklist.shelf import Shelf
from kb.checklist.wiki_checklist import WikiChecklist

TABLE = """scientific_name,kingdom,class,order,family,genus,rank,common_name,common_name_de,common_name_ja,synonyms
Bombus morrisoni,Animalia,Insecta,Hymenoptera,Apidae,Bombus,,Morrison's Bumble Bee,,,
Bombus griseocollis,Animalia,Insecta,Hymenoptera,Apidae,Bombus,,Brown-belted Bumble Bee,,,
Bombus pensylvanicus,Animalia,Insecta,Hymenoptera,Apidae,Bombus,,American Bumble Bee,,,Bombus pennsylvanicus
Danaus plexippus,Animalia,Insecta,Lepidoptera,Nymphalidae,Danaus,,Monarch,Monarchfalter,オオカバマダラ,
Danaus plexippus megalippe,Animalia,Insecta,Lepidoptera,Nymphalidae,Danaus,subspecies,,,,
Vanessa atalanta,Animalia,Insecta,Lepidoptera,Nymphalidae,Vanessa,,Red Admiral,Admiral,,Pyrameis atalanta
Vanessa cardui,Animalia,Insecta,Lepidoptera,Nymphalidae,Vanessa,,Painted Lady,Distelfalter,,
Polygonia c-album,Animalia,Insecta,Lepidoptera,Nymphalidae,Polygonia,,Comma,C-Falter,,
Limenitis arthemis,Animalia,Insecta,Lepidoptera,Nymphalidae,Limenitis,,White Admiral,,,
Hyla cinerea,Animalia,Amphibia,Anura,Hylidae,Hyla,,Green Treefrog,,,
Hyla gratiosa,Animalia,Amphibia,Anura,Hylidae,Hyla,,Barking Tree Frog,,,
Dryophytes versicolor,Animalia,Amphibia,Anura,Hylidae,Dryophytes,,Gray Tree Frog,,,
Salvia alba,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Salvia,,,,,
Mentha albus,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Mentha,,,,,
Mentha × piperita,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Mentha,,Peppermint,Pfefferminze,,
Prunella vulgaris,Plantae,Magnoliopsida,Lamiales,Lamiaceae,Prunella,,Selfheal,Kleine Braunelle,,
Prunella modularis,Animalia,Aves,Passeriformes,Prunellidae,Prunella,,Dunnock,Heckenbraunelle,,
"""


@pytest.fixture(scope="module")
def reconciler(tmp_path_factory: pytest.TempPathFactory) -> Reconciler:
    folder = tmp_path_factory.mktemp("names")
    (folder / "t.csv").write_text(TABLE, encoding="utf-8")
    return Reconciler(Shelf(folder / "home").add(folder / "t.csv"))


def one(found: Reconciled) -> tuple[str, str]:
    ((match,), ()) = found.matched, found.unmatched
    return match.taxon.scientific_name, match.rule


def test_a_name_is_matched_by_a_rule(reconciler: Reconciler) -> None:
    for name, species, rule in (
        ("Pyrameis atalanta Linnaeus, 1758", "Vanessa atalanta", "synonym"),
        ("012.Red_Admiral", "Vanessa atalanta", "common name"),
        ("red-admiral", "Vanessa atalanta", "common name (spelling)"),
        ("Grey Treefrog", "Dryophytes versicolor", "common name (spelling)"),
        ("V. cardui", "Vanessa cardui", "scientific name (abbreviation)"),
        ("オオカバマダラ", "Danaus plexippus", "common name"),
        ("Morrisons Bumblebee", "Bombus morrisoni", "common name (spelling)"),
        ("Morrison Bumble Bee", "Bombus morrisoni", "common name (possessive)"),
        ("American's Bumble Bee", "Bombus pensylvanicus", "common name (possessive)"),
        ("Vanessa atalantus", "Vanessa atalanta", "scientific name (ending)"),
        ("Hyla versicolor", "Dryophytes versicolor", "scientific name (genus)"),
        ("Danaus plexippus megalippe", "Danaus plexippus", "subspecies"),
        ("Danaus megalippe", "Danaus plexippus", "subspecies"),
        ("Danaus plexippus (larva)", "Danaus plexippus", "scientific name"),
        ("monarch caterpillar", "Danaus plexippus", "common name (inside)"),
        ("Lepidoptera Vanessa cardui worn", "Vanessa cardui", "scientific name (inside)"),
        ("Mentha x piperita L.", "Mentha × piperita", "scientific name"),
        ("Monarch / Danaus plexippus", "Danaus plexippus", "common name (inside)"),
    ):
        assert one(reconciler.reconcile([name])) == (species, rule), name


def test_a_name_without_a_single_species_is_reported_with_its_reason(reconciler: Reconciler) -> None:
    for name, reason, suggestions in (
        ("Vanessa sp.", "genus only", ()),
        ("Monarch/Painted Lady", "several species", ()),
        ("Vanessa cardui x Vanessa atalanta", "hybrid", ()),
        ("Vanessa cf. cardui", "several species", ()),
        ("Prunella", "several species", ("Animalia: Prunella", "Plantae: Prunella")),
        ("Vanessa", "not a species", ("Vanessa atalanta", "Vanessa cardui")),
        ("Nymphalidae", "not a species", ()),
        ("Prunella albus", "unknown", ()),  # of two species of the family
        ("Vanessa cardiu", "unknown", ("Vanessa cardui",)),
        ("Comma bacillus", "unknown", ()),  # a word after a common name is no author
        ("", "unknown", ()),
        ("x" * 600, "unknown", ()),
    ):
        (missed,) = reconciler.reconcile([name]).unmatched
        assert (missed.name, missed.reason) == (name, reason), name
        assert missed.suggestions[: len(suggestions)] == suggestions, name


def test_species_of_a_wiki_follow_the_same_rules(reconciler: Reconciler) -> None:
    taxa = [match.taxon for match in reconciler.reconcile(["Bombus morrisoni", "Hyla cinerea", "Monarch"]).matched]
    own = Reconciler(WikiChecklist(taxa))
    names = ["Morrison Bumble Bee", "Hyla cinereus", "B. morrisoni", "Monarchfalter", "Monarch sp."]
    found = own.reconcile(names)
    assert [match.rule for match in found.matched] == [
        "common name (possessive)", "scientific name (ending)", "scientific name (abbreviation)", "common name",
    ]  # fmt: skip
    assert [missed.reason for missed in found.unmatched] == ["genus only"]
