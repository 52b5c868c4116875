from data.records import Taxon
from kb.checklist.wiki_checklist import WikiChecklist
from kb.curate.add import near_names, with_relatives


def species(name: str, **lineage: str) -> Taxon:
    return Taxon(
        taxon_id=name.lower().replace(" ", "-"),
        scientific_name=name,
        rank="species",
        lineage={**lineage, "genus": name.split()[0]},
    )


def test_a_species_takes_the_higher_taxa_that_its_genus_shares() -> None:
    held = [species("Prunella vulgaris", family="Lamiaceae"), species("Prunella modularis", family="Prunellidae")]
    assert with_relatives(species("Prunella nova"), held).lineage == {"genus": "Prunella"}
    assert with_relatives(species("Prunella nova"), held[1:]).lineage["family"] == "Prunellidae"
    assert with_relatives(species("Aglais io"), held).lineage == {"genus": "Aglais"}
    plant = species("Prunella nova", family="Lamiaceae")
    assert with_relatives(plant, held[1:]) == plant


def test_names_that_differ_by_a_letter_are_near() -> None:
    held = species("Vanessa atalanta")
    near = ("Vanesa atalanta", "Vanessa atalamta", "Vanessa taalanta", "Vanessas atalanta")
    for name in (*near, "Vanessa atalanta", "Vanessa cardui", "Vanssa atalamta"):
        assert near_names(species(name), [held], WikiChecklist()) == (["Vanessa atalanta"] if name in near else []), (
            name
        )
