"""Pictures of saved pages and of made-up captions, labelled by hand, and the ones that are taken."""

import csv
from dataclasses import replace
from pathlib import Path

from data.records import Article, Figure, Infobox, Source
from kb.sources.mediawiki.article_parser import parse_article
from kb.sources.mediawiki.figures import pictures_of

HERE = Path(__file__).parent
GOOD = ("alive", "young")


def labels(name: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return page -> file -> row of a table of labels."""
    pages: dict[str, dict[str, dict[str, str]]] = {}
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            pages.setdefault(row["page"], {})[row["file"]] = row
    return pages


def made_up(page: str, rows: dict[str, dict[str, str]]) -> Article:
    name, binomial = page.split("|")
    classes = {"Vulpes": "Mammalia", "Rana": "Amphibia", "Aglais": "Insecta", "Chrysemys": "Reptilia"}
    box = Infobox(name=name, binomial=binomial, classification={"class": classes.get(binomial.split()[0], "Aves")})
    figures = [Figure(file=row["file"], caption=row["caption"], section=row["section"]) for row in rows.values()]
    return Article(source=Source(title=name), text="", infobox=box, figures=tuple(figures))


def figures_of(name: str, pages: dict[str, Article]) -> tuple[float, float]:
    """Return the share of the photos taken that show the species alive, and of the latter the share taken.

    Pages on groups count in the second figure alone: nobody can tell the shell of a snail by its name.
    """
    taken: list[bool] = []
    kept: list[bool] = []
    for page, rows in labels(name).items():
        found = pictures_of(pages[page])
        assert rows.keys() == {figure.file for figure in pages[page].figures}
        photos = {figure.file for figure in found.photos}
        if (box := pages[page].infobox) is None or box.binomial:
            taken += [rows[file]["shows"] in GOOD for file in photos]
        kept += [file in photos for file, row in rows.items() if row["shows"] == "alive"]
    return sum(taken) / len(taken), sum(kept) / len(kept)


def test_photos_of_made_up_captions_show_the_species_alive() -> None:
    pages = {page: made_up(page, rows) for page, rows in labels("made_up_pictures.csv").items()}
    precision, recall = figures_of("made_up_pictures.csv", pages)
    assert precision >= 0.98 and recall >= 0.90


def test_photos_of_saved_pages_show_the_species_alive(shared: Path) -> None:
    files = (shared / "fixtures").glob("wiki*_html/*.html")
    pages = {
        each.stem: parse_article(each.read_text(encoding="utf-8"), source=Source(title=each.stem)) for each in files
    }
    precision, recall = figures_of("saved_pictures.csv", pages)
    assert precision >= 0.98 and recall >= 0.90


def test_pictures_are_ranked_with_reasons_for_the_rest() -> None:
    """The sex that the lead image does not show comes second, young ones last."""
    files = {
        "Finch male.jpg": "Male", "Finch male 2.jpg": "Male", "Chick.jpg": "Chick", "On a twig.jpg": "On a twig",
        "Finch female.jpg": "Female", "Fringilla montifringilla.jpg": "", "Eggs.jpg": "Eggs", "Plate.jpg": "Painting",
        "Map.png": "", "Great tit.jpg": "With a great tit", "Song.ogg": "",
    }  # fmt: skip
    figures = tuple(Figure(file=file, caption=caption) for file, caption in files.items())
    box = Infobox(binomial="Fringilla coelebs", classification={"class": "Aves"})
    article = Article(
        source=Source(title="Chaffinch"),
        text="",
        infobox=box,
        figures=(replace(figures[0], role="lead"), *figures[1:]),
    )
    found = pictures_of(article)
    assert [figure.file for figure in found.photos] == [
        "Finch male.jpg", "Finch female.jpg", "Finch male 2.jpg", "On a twig.jpg", "Chick.jpg",
    ]  # fmt: skip
    assert [figure.file for figure in found.drawings] == ["Plate.jpg"]
    assert [(item.name, item.reason, item.detail) for item in found.others] == [
        ("Fringilla montifringilla.jpg", "of another species", "Fringilla montifringilla"),
        ("Eggs.jpg", "not of the living species", "Eggs"), ("Map.png", "map or sign", ""),
        ("Great tit.jpg", "of another species", "Great tit"), ("Song.ogg", "not a photo", ""),
    ]  # fmt: skip
