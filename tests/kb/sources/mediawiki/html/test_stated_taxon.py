"""The taxon and the classification that the taxoboxes of saved pages state; and boxes that are no species."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.records import Article, Source
from kb.sources.mediawiki.html.parse import parse_article
from kb.sources.mediawiki.html.taxobox import stated_taxon

# Page, rank, name, and the ranks above: kingdom, phylum or division, class, order, family.
SAVED = """
African Bush Elephant|species|Loxodonta africana|Animalia|Chordata|Mammalia|Proboscidea|Elephantidae
Arion fuscus|species|Arion fuscus|Animalia|Mollusca|Gastropoda||Arionidae
Ascaris|genus|Ascaris|Animalia|Nematoda|Secernentea|Ascaridida|Ascarididae
Banana slug|genus|Ariolimax|Animalia|Mollusca|Gastropoda||Ariolimacidae
Curetis siva|species|Curetis siva|Animalia|Arthropoda|Insecta|Lepidoptera|Lycaenidae
Echinocystis|species|Echinocystis lobata|Plantae|Magnoliophyta|Magnoliopsida|Cucurbitales|Cucurbitaceae
Empidonax|genus|Empidonax|Animalia|Chordata|Aves|Passeriformes|Tyrannidae
Eriocranioidea|superfamily|Eriocranioidea|Animalia|Arthropoda|Insecta|Lepidoptera|Eriocraniidae
Forsterygion|genus|Forsterygion|Animalia|Chordata|Actinopterygii|Perciformes|Tripterygiidae
Frog|order|Anura|Animalia|Chordata|Amphibia|Anura|
Ghost slug|species|Selenochlamys ysbryda|Animalia|Mollusca|Gastropoda||Trigonochlamydidae
Lampyris|genus|Lampyris|Animalia|Arthropoda|Insecta|Coleoptera|Lampyridae
Meghimatium|genus|Meghimatium|Animalia|Mollusca|Gastropoda||Philomycidae
Naticidae|family|Naticidae|Animalia|Mollusca|Gastropoda||Naticidae
Rhinochimaeridae|family|Rhinochimaeridae|Animalia|Chordata|Chondrichthyes|Chimaeriformes|Rhinochimaeridae
Serinus scotops|species|Serinus scotops|Animalia|Chordata|Aves|Passeriformes|Fringillidae
Serpophaga|genus|Serpophaga|Animalia|Chordata|Aves|Passeriformes|Tyrannidae
Trigonochlamydidae|family|Trigonochlamydidae|Animalia|Chordata|Gastropoda||Trigonochlamydidae
Vaginulus|genus|Vaginulus|Animalia|Mollusca|Gastropoda|Stylommatophora|Veronicellidae
Vampire_Squid|species|Vampyroteuthis infernalis|Animalia|Mollusca|Cephalopoda|Vampyromorphida|Vampyroteuthidae
Veronicellidae|family|Veronicellidae|Animalia|Mollusca|Gastropoda||Veronicellidae
"""
ABOVE = ("kingdom", "phylum", "class", "order", "family")


def read(html: str) -> Article:
    return parse_article(html, source=Source(title="X"))


@pytest.mark.integration
@pytest.mark.parametrize("line", SAVED.split("\n")[1:-1])
def test_saved_pages_state_their_taxon_and_classification(shared: Path, line: str) -> None:
    page, rank, name, *above = line.split("|")
    box = read((shared / "fixtures/wikipedia_html" / f"{page}.html").read_text(encoding="utf-8")).infobox
    assert box is not None
    assert stated_taxon(box) == (rank, name)
    found = {"phylum": box.classification.get("division", ""), **box.classification}
    assert [found.get(each, "") for each in ABOVE] == above


@pytest.mark.parametrize(
    ("rows", "taxon"),
    [
        (("(unranked):|Virus", "Species:|Tobacco mosaic virus"), ("virus", "Box")),
        (("Realm:|Riboviria", "Genus:|Tobamovirus", "Species:|Tobamovirus tabaci"), ("virus", "Box")),
        (("Reich:|Tiere", "Klasse:|Insecta", "Familie:|Nymphalidae", "Gattung:|Vanessa"), ("genus", "Vanessa")),
        (("Kingdom:|Plantae", "Clade:|Eudicots", "Order:|Rosales", "Family:|Rosaceae"), ("family", "Rosaceae")),
        (("Genus:|†Raptor", "Species:|†R. rex"), ("species", "Raptor rex")),
        (("Genus:|Canis", "Species:|C. lupus", "Subspecies:|C. l. dingo"), ("subspecies", "Canis lupus dingo")),
        (("Genus:|Amanita", "Section:|Amanita sect. Phalloideae"), ("group", "Amanita sect. Phalloideae")),
        (("Genus:|Anopheles", "Species complex:|A. gambiae complex"), ("group", "A. gambiae complex")),
        (("Genus:|Pelophylax", "Species:|P. kl. esculentus"), ("species", "Pelophylax esculentus")),
        (("Genus:|Saxifraga", "Species:|S. × urbium"), ("hybrid", "Saxifraga × urbium")),
        (("Genus:|Orcinus", "Species:|O. sp."), ("group", "Orcinus sp.")),
        (
            ("Genus:|Brassica", "Species:|B. oleracea", "Variety:|B. o. var. capitata"),
            ("subspecies", "Brassica oleracea var. capitata"),
        ),
        (
            ("Genus:|Brassica", "Species:|B. oleracea", "Cultivar group:|Capitata Group"),
            ("cultivar", "Brassica oleracea Capitata Group"),
        ),
    ],
)
def test_boxes_of_any_kingdom_state_a_taxon(rows: tuple[str, ...], taxon: tuple[str, str]) -> None:
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row.split("|")) + "</tr>" for row in rows)
    box = read(f'<table class="infobox biota"><tr><th colspan="2">Box</th></tr>{cells}</table>').infobox
    assert box is not None
    assert stated_taxon(box) == taxon
    assert (box.binomial is not None) == (taxon[0] == "species")


@pytest.mark.parametrize(
    ("mark", "name", "taxon"),
    [
        ("binomial", "<i>Pelophylax</i> kl. <i>esculentus</i>", ("species", "Pelophylax esculentus")),
        ("binomial", "<i>Saxifraga</i> × <i>urbium</i>", ("hybrid", "Saxifraga × urbium")),
        (
            "trinomial",
            "<i>Brassica oleracea</i> var. <i>capitata</i>",
            ("subspecies", "Brassica oleracea var. capitata"),
        ),
    ],
)
def test_a_marked_name_keeps_its_sign_and_marker(mark: str, name: str, taxon: tuple[str, str]) -> None:
    head = f"<tr><th>{mark.capitalize()} name</th></tr><tr><td><span class='{mark}'>{name}</span></td></tr>"
    genus = taxon[1].split()[0]
    box = read(
        f"<table class='infobox biota'><tr><th>Box</th></tr><tr><td>Genus:</td><td>{genus}</td></tr>{head}</table>"
    ).infobox
    assert box is not None
    assert stated_taxon(box) == taxon
