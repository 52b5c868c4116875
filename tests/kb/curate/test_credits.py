from dataclasses import replace
from pathlib import Path

from bs4 import BeautifulSoup

from data.frames import as_csv
from data.records import Anchor, Source, SpeciesEntry, Statement, Summary, Taxon
from kb.curate.credits import Credits, as_html, as_text, credits_of

GOLDEN = Path(__file__).with_name("credits")
WIKI = "https://wiki.example/wiki"
ARTICLE = Source(title="Red wren", url=f"{WIKI}/Red_wren", revision=7, licence="CC BY-SA 4.0")
SUMMARY = Summary(statements=(Statement(text="It is red."),), distiller="extractive/2")
STARTER = Source(title="Dove of ours", licence="Apache-2.0")
# Licence of an article on the bird of that letter; the last one has no summary.
OF_ARTICLES = ("Creative Commons Attribution-Share Alike 4.0", "GFDL 1.2", "CC BY 4.0", None, "CC BY-SA 3.0 de")
OF_NOTES = (None, "CC BY 4.0", "CC BY-NC 4.0", "ask me")
OF_PHOTOS = ("CC BY-ND 4.0", "Fair use", None, "CC0", "Public domain", "CC BY-SA 3.0 de")


def anchor(file: str, sha256: str | None = None, **changes: str | None) -> Anchor:
    known = Anchor(anchor_id=file, subject_id="a", sha256=sha256 or file, file=file, author="Ann", licence="CC BY 4.0")
    return replace(known, **{"page_url": f"{WIKI}/File:{file}", **changes})


def entry(name: str, source: Source, *anchors: Anchor, summary: Summary | None = SUMMARY) -> SpeciesEntry:
    taxon = Taxon(taxon_id=name.lower(), scientific_name=name, rank="species", common_names=(name,))
    return SpeciesEntry(taxon=taxon, source=source, summary=summary, anchors=anchors)


def every_case() -> Credits:
    """Credits with each licence of texts and photos, and with the user's own, which have no source."""
    own = anchor("mine.jpg", page_url=None, author=None, licence=None)
    by_nc = anchor("by nc.jpg", licence="CC BY", licence_url="https://creativecommons.org/licenses/by-nc/4.0/")
    photos = [anchor(f"{n}.jpg", licence=licence) for n, licence in enumerate(OF_PHOTOS)]
    known = [replace(own, file=f"known {n}.jpg", sha256=f"known {n}", **{name: value}) for n, (name, value) in
             enumerate({"page_url": f"{WIKI}/File:x", "author": "Ann", "licence": "ask me"}.items())]  # fmt: skip
    return credits_of("birds.kb", [
        entry("Wren", ARTICLE, anchor("b.jpg"), anchor("A.jpg"), *photos, by_nc, own, *known),
        entry("Dove", ARTICLE, anchor("b.jpg"), anchor("a.jpg", "same"), anchor("c.jpg", "same", author="Bob")),
        *(entry(f"Bird {n}", replace(ARTICLE, title=f"bird {n}", url=f"{WIKI}/{n}", licence=licence),
                summary=None if n == len(OF_ARTICLES) - 1 else SUMMARY) for n, licence in enumerate(OF_ARTICLES)),
        *(entry(f"Own {n}", Source(title=f"My notes {n}", licence=licence)) for n, licence in enumerate(OF_NOTES)),
        entry("Owl", STARTER, Anchor(anchor_id="v", subject_id="owl")),
        entry("Jay", replace(STARTER, title="My notes")),  # the user's own, under the same licence
    ], added=[(replace(STARTER, title="My notes"), "Jay", "model/1")])  # fmt: skip


def test_texts_tables_and_pages_of_credits_are_those_on_record() -> None:
    """Of adaptations, unfree and unknown licences and the user's own content, each credited once with its species."""
    found = every_case()
    for name, text in (("txt", as_text(found)), ("csv", as_csv(found.to_frame())), ("html", as_html(found))):
        assert text == GOLDEN.with_suffix(f".{name}").read_text(encoding="utf-8"), name
    marked = [line for line in as_text(found).splitlines() if line.endswith("NOT TO BE PUBLISHED.")]
    assert len(marked) == len(found.unpublishable)


def test_control_characters_in_names_are_removed_from_text_credits() -> None:
    bad = anchor("a.jpg", author="Ann\nb.jpg: Bob\x1b[31m, CC0\u202e 1.0.\r", licence="CC BY-NC 4.0")
    found = credits_of("birds.kb", [entry("Wren", ARTICLE, bad)])
    (line,) = (line for line in as_text(found).splitlines() if "Bob" in line)
    assert line.startswith("a.jpg: Ann b.jpg: Bob [31m, CC0 1.0. , CC BY-NC 4.0 (")
    assert line.endswith("NOT TO BE PUBLISHED.")
    assert found.to_frame()["author"][1] == bad.author


def test_html_credits_escape_markup_and_drop_script_links() -> None:
    bad = anchor("<img src=x>.jpg", author="<script>alert(1)</script>", page_url="javascript:alert(1)", licence="A & B")
    page = BeautifulSoup(as_html(credits_of("<b>.kb", [entry("<b>Wren</b>", ARTICLE, bad)])), "html.parser")
    assert page.get_text().count("Credits of <b>.kb") == 2
    assert page.find_all(["script", "img", "b", "link", "iframe"]) == []
    assert [tag["href"] for tag in page.find_all(href=True)] == [
        f"{WIKI}/Red_wren",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ]
    for text in ("<img src=x>.jpg", "<script>alert(1)</script>", "A & B", "<b>Wren</b>"):
        assert text in page.get_text()
