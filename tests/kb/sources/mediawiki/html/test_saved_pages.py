"""Saved Wikipedia pages of 21 organisms, all with taxobox and all but one with a lead image."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from data.records import Article, Source
from kb.sources.mediawiki.html.parse import parse_article

GALLERIES = {"Ascaris": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    name: str
    heading: str
    binomial: str | None
    family: str | None
    lead: str | None
    sections: list[str] = field(default_factory=list)


PAGES = [
    Page(
        name="African Bush Elephant",
        heading="African Bush Elephant",
        binomial="Loxodonta africana",
        family="Elephantidae",
        lead="Elephant near ndutu.jpg",
        sections=[
            "Description",
            "Diet",
            "Social behavior",
            "Predators",
            "Species differences",
            "Conservation",
            "References",
            "External links",
        ],
    ),
    Page(
        name="Arion fuscus",
        heading="Arion fuscus",
        binomial="Arion fuscus",
        family="Arionidae",
        lead="Arion subfuscus.jpg",
        sections=["Distribution", "Habitat", "References", "Further reading"],
    ),
    Page(
        name="Ascaris",
        heading="Ascaris",
        binomial=None,
        family="Ascarididae",
        lead="Ascaris lumbricoides.jpeg",
        sections=[
            "Life cycle",
            "Morphology",
            "Symptoms",
            "Examination",
            "Pathology",
            "Lung phase",
            "Intestinal phase",
            "Management",
            "Defense Mechanism",
            "Treatment",
            "References",
            "See also",
        ],
    ),
    Page(
        name="Banana slug",
        heading="Banana slug",
        binomial=None,
        family="Ariolimacidae",
        lead="Ariolimax columbianus 9428.JPG",
        sections=["Species", "Description", "Distribution", "Ecology", "References"],
    ),
    Page(
        name="Curetis siva",
        heading="Shiva's Sunbeam",
        binomial="Curetis siva",
        family="Lycaenidae",
        lead=None,
        sections=[],
    ),
    Page(
        name="Echinocystis",
        heading="echinocystis",
        binomial="Echinocystis lobata",
        family="Cucurbitaceae",
        lead="Echinocystis lobata.jpg",
        sections=["External links"],
    ),
    Page(
        name="Empidonax",
        heading="Empidonax",
        binomial=None,
        family="Tyrannidae",
        lead="Empidonax traillii.jpg",
        sections=["Species", "External links"],
    ),
    Page(
        name="Eriocranioidea",
        heading="Eriocranioidea",
        binomial=None,
        family="Eriocraniidae",
        lead="Eriocrania semipurpurella01.jpg",
        sections=["References", "Sources", "External links"],
    ),
    Page(
        name="Forsterygion",
        heading="Forsterygion",
        binomial=None,
        family="Tripterygiidae",
        lead="Fosterygion flavonigrum (Yellow & black triplefin).jpg",
        sections=["Species", "References"],
    ),
    Page(
        name="Frog",
        heading="Frogs",
        binomial=None,
        family=None,
        lead="Caerulea3 crop.jpg",
        sections=[
            "Taxonomy",
            "Morphology and physiology",
            "Feet and legs",
            "Jumping",
            "Skin",
            "Poison",
            "Respiration and circulation",
            "Digestion and excretion",
            "Nervous system",
            "Natural history",
            "Life cycle",
            "Reproduction of frogs",
            "Parental care",
            "Call",
            "Distribution and conservation status",
            "Evolution",
            "Uses in agriculture and research",
            "Cultural beliefs",
            "See also",
            "Cited references",
            "General references",
            "External links",
            "Media",
        ],
    ),
    Page(
        name="Ghost slug",
        heading="Ghost slug",
        binomial="Selenochlamys ysbryda",
        family="Trigonochlamydidae",
        lead="Ghost Slug adult.jpg",
        sections=["Description and ecology", "Distribution", "Etymology", "References", "External links"],
    ),
    Page(
        name="Lampyris",
        heading="Lampyris",
        binomial=None,
        family="Lampyridae",
        lead="Lampyris noctiluca, Nordisk familjebok.png",
        sections=["Notable species", "Footnotes", "References"],
    ),
    Page(
        name="Meghimatium",
        heading="Meghimatium",
        binomial=None,
        family="Philomycidae",
        lead="Meghimatium fruhstorferi.JPG",
        sections=["Species", "References"],
    ),
    Page(
        name="Naticidae",
        heading="Naticidae",
        binomial=None,
        family="Naticidae",
        lead="Hebraeus2.jpg",
        sections=["Distribution", "Habitat", "Life habits", "Classification", "References", "External links"],
    ),
    Page(
        name="Rhinochimaeridae",
        heading="Chimaeridae",
        binomial=None,
        family="Rhinochimaeridae",
        lead="Harriotta raleighana (Narrownose chimaera).gif",
        sections=["Species", "References", "External links"],
    ),
    Page(
        name="Serinus scotops",
        heading="Forest Canary",
        binomial="Serinus scotops",
        family="Fringillidae",
        lead="Forest Canary (Serinus scotops) facing left, side view.jpg",
        sections=["References"],
    ),
    Page(
        name="Serpophaga",
        heading="Serpophaga",
        binomial=None,
        family="Tyrannidae",
        lead="TIQUITUIQUI DE BAÑADO Serpophaga nigricans.jpg",
        sections=["References"],
    ),
    Page(
        name="Trigonochlamydidae",
        heading="Trigonochlamydidae",
        binomial=None,
        family="Trigonochlamydidae",
        lead="Ghost Slug adult.jpg",
        sections=["Taxonomy", "Genera", "References", "External links"],
    ),
    Page(
        name="Vaginulus",
        heading="Vaginulus",
        binomial=None,
        family="Veronicellidae",
        lead="Vaginulus occidentalis 002.jpg",
        sections=["Species", "References"],
    ),
    Page(
        name="Vampire_Squid",
        heading="Vampire Squid",
        binomial="Vampyroteuthis infernalis",
        family="Vampyroteuthidae",
        lead="Vampyroteuthis illustration.jpg",
        sections=[
            "Physical description",
            "Habitat and adaptations",
            "Development",
            "Behaviour",
            "Relationships",
            "References",
            "External links",
            "Images",
        ],
    ),
    Page(
        name="Veronicellidae",
        heading="Veronicellidae",
        binomial=None,
        family="Veronicellidae",
        lead="Laevecaulis-2.jpg",
        sections=["Description", "Genera", "References"],
    ),
]


def parsed(shared: Path, folder: str, name: str) -> Article:
    html = (shared / "fixtures" / folder / f"{name}.html").read_text(encoding="utf-8")
    return parse_article(html, source=Source(title=name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_saved_page_parses(shared: Path, page: Page) -> None:
    article = parsed(shared, "wikipedia_html", page.name)
    assert article.infobox is not None
    assert article.infobox.name == page.heading
    assert article.infobox.binomial == page.binomial
    assert article.infobox.classification.get("family") == page.family
    assert [figure.file for figure in article.figures if figure.role == "lead"] == ([page.lead] if page.lead else [])
    assert [section.title for section in article.sections if section.level > 1] == page.sections
    assert sum(figure.role == "gallery" for figure in article.figures) == GALLERIES.get(page.name, 0)
    assert not article.is_disambiguation


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_text_of_a_saved_page_is_plain_prose(shared: Path, page: Page) -> None:
    article = parsed(shared, "wikipedia_html", page.name)
    for unwanted in ("[edit]", "[1]", "Remember that this is only a preview", "Scientific classification", "  ", "\t"):
        assert unwanted not in article.text
    for figure in article.figures:
        assert not figure.caption or len(figure.caption) < 60 or figure.caption not in article.text
    assert "".join(article.section_text(section) for section in article.sections).replace(
        "\n", ""
    ) == article.text.replace("\n", "")


def test_only_one_of_21_pages_has_no_lead_image() -> None:
    assert len(PAGES) == 21
    assert [page.name for page in PAGES if page.lead is None] == ["Curetis siva"]


def test_a_wikispecies_page_has_a_photo_but_no_taxobox(shared: Path) -> None:
    article = parsed(shared, "wikispecies_html", "Motacilla grandis")
    assert article.infobox is None
    assert [(figure.file, figure.role) for figure in article.figures] == [("Segurosekirei 06f7982v.jpg", "lead")]
