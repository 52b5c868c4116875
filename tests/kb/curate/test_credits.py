from dataclasses import replace

from bs4 import BeautifulSoup

from data.records import Anchor, Source, SpeciesEntry, Statement, Summary, Taxon
from kb.curate.credits import (
    ADAPTATION,
    Credits,
    PhotoCredit,
    TextCredit,
    as_html,
    as_text,
    credits_of,
    licence_address,
)

WIKI = "https://wiki.example/wiki"
ARTICLE = Source(title="Red wren", url=f"{WIKI}/Red_wren", revision=7, licence="CC BY-SA 4.0")
SUMMARY = Summary(statements=(Statement(text="It is red."),), distiller="extractive/2")


def taxon(name: str) -> Taxon:
    return Taxon(taxon_id=name.lower(), scientific_name=name, rank="species", common_names=(name,))


def anchor(file: str, sha256: str | None = None, **changes: str | None) -> Anchor:
    known = Anchor(anchor_id=file, subject_id="a", sha256=sha256 or file, file=file, author="Ann", licence="CC BY 4.0")
    return replace(known, **{"page_url": f"{WIKI}/File:{file}", **changes})


def entry(
    name: str, source: Source | None = ARTICLE, *anchors: Anchor, summary: Summary | None = SUMMARY
) -> SpeciesEntry:
    return SpeciesEntry(taxon=taxon(name), source=source, summary=summary, anchors=anchors)


def credits(*entries: SpeciesEntry) -> Credits:
    return credits_of("birds.kb", entries)


def test_a_summary_of_a_share_alike_text_is_an_adaptation_under_its_licence() -> None:
    found = credits(entry("Wren"))
    (text,) = found.texts
    assert (text.title, text.revision, text.url) == ("Red wren", 7, f"{WIKI}/Red_wren")
    assert (text.licence, text.licence_url) == ("CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/")
    assert text.made_by == ("extractive/2",)
    assert ADAPTATION in as_text(found)
    assert ADAPTATION in BeautifulSoup(as_html(found), "html.parser").get_text()
    for licence, summary, is_adapted in (
        ("CC BY-SA 4.0", SUMMARY, True),
        ("Creative Commons Attribution-Share Alike 4.0", SUMMARY, True),
        ("GFDL 1.2", SUMMARY, True),
        ("CC BY 4.0", SUMMARY, False),
        ("CC BY-SA 4.0", None, False),
    ):
        found = credits(entry("Wren", replace(ARTICLE, licence=licence), summary=summary))
        assert (found.texts[0].is_adapted, ADAPTATION in as_text(found)) == (is_adapted, is_adapted), licence


def test_each_text_and_picture_is_credited_once_with_its_species() -> None:
    found = credits(
        entry("Wren", ARTICLE, anchor("b.jpg"), anchor("A.jpg")),
        entry("Dove", ARTICLE, anchor("b.jpg")),
        entry("Crow", replace(ARTICLE, title="crow", url=f"{WIKI}/crow")),
    )
    assert [(text.title, text.species) for text in found.texts] == [("crow", ("Crow",)), ("Red wren", ("Dove", "Wren"))]
    assert [(photo.file, photo.species) for photo in found.photos] == [
        ("A.jpg", ("Wren",)),
        ("b.jpg", ("Dove", "Wren")),
    ]
    twice = [anchor("a.jpg", "same", author="Ann"), anchor("b.jpg", "same", author="Bob")]
    assert [photo.author for photo in credits(entry("Wren", ARTICLE, *twice)).photos] == ["Ann", "Bob"]


def test_unfree_and_unknown_licences_are_marked_unpublishable_everywhere() -> None:
    unfree = [anchor(f"bad {i}.jpg", licence=licence) for i, licence in enumerate(("CC BY-ND 4.0", "Fair use", None))]
    by_nc = anchor("bad 3.jpg", licence="CC BY", licence_url="https://creativecommons.org/licenses/by-nc/4.0/")
    found = credits(entry("Wren", ARTICLE, *unfree, by_nc, anchor("good.jpg")))
    bad = [f"bad {i}.jpg" for i in range(4)]
    assert [credit.file for credit in found.unpublishable if isinstance(credit, PhotoCredit)] == bad
    assert len(found.unpublishable) == 4
    assert [photo.freedom for photo in found.photos] == ["not free", "not free", "unknown", "not free", "free"]
    assert found.photos[3].licence_url == by_nc.licence_url
    *worse, good = (line for line in as_text(found).splitlines() if ".jpg:" in line)
    assert all(line.endswith("NOT TO BE PUBLISHED.") for line in worse)
    assert "PUBLISHED" not in good
    assert "Must not be published (licence not free or unknown): 4." in as_text(found)
    assert as_html(found).count('<tr class="unfree">') == 4
    publishable = found.to_frame().set_index("title")["publishable"].to_dict()
    assert publishable == {"Red wren": True, **dict.fromkeys(bad, False), "good.jpg": True}


def test_unknown_licences_block_articles_but_not_the_users_content() -> None:
    """A photo without any provenance is the user's own, and so is a text without address."""
    own = anchor("mine.jpg", page_url=None, author=None, licence=None)
    found = credits(
        entry("Wren", replace(ARTICLE, licence=None)),
        entry("Dove", Source(title="My notes"), own),
    )
    assert [credit.title for credit in found.unpublishable if isinstance(credit, TextCredit)] == ["Red wren"]
    assert len(found.unpublishable) == 1
    assert [(text.kind, text.freedom) for text in found.texts] == [("own", "own"), ("article", "unknown")]
    assert [photo.freedom for photo in found.photos] == ["own"]
    lines = as_text(found).splitlines()
    assert '"My notes", your own.' in lines and "mine.jpg: your own." in lines
    assert as_html(found).count("<td>your own</td>") == 3
    assert list(found.to_frame()["freedom"]) == ["own", "unknown", "own"]
    for known in (replace(own, page_url=f"{WIKI}/File:x"), replace(own, author="Ann"), replace(own, licence="ask me")):
        assert not credits(entry("Wren", ARTICLE, known)).photos[0].is_publishable
    for licence, is_publishable in ((None, True), ("CC BY 4.0", True), ("CC BY-NC 4.0", False), ("ask me", False)):
        (text,) = credits(entry("Wren", Source(title="My notes", licence=licence))).texts
        assert (text.kind, text.is_publishable) == ("own", is_publishable), licence


def test_the_address_of_a_licence_is_that_of_its_name() -> None:
    addresses = {
        "CC BY-SA 3.0 de": "https://creativecommons.org/licenses/by-sa/3.0/de/",
        "CC0": "https://creativecommons.org/publicdomain/zero/1.0/",
        "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
        "Public domain": None,
        None: None,
    }
    assert {name: licence_address(name) for name in addresses} == addresses


def test_starter_texts_are_credited_as_fieldmarks_own() -> None:
    starter = Source(title="Wren", licence="Apache-2.0")
    numbers = Anchor(anchor_id="v", subject_id="dove")
    found = credits(entry("Wren", starter), entry("Dove", replace(starter, title="Dove"), numbers))
    assert [text.kind for text in found.texts] == ["starter", "starter"]
    assert found.photos == ()
    assert found.unpublishable == ()
    text = as_text(found)
    assert "Fieldmark's own texts: 2 species and terms, Apache-2.0." in text
    assert "Reference photos stored as vectors only, without the photos: 1." in text
    notes = Source(title="My notes", licence="Apache-2.0")  # the user's own, under the same licence
    found = credits_of("birds.kb", [entry("Wren", notes), entry("Dove", starter)], added=[(notes, "Wren", "model/1")])
    assert [(text.title, text.kind) for text in found.texts] == [("My notes", "own"), ("Wren", "starter")]
    assert "Fieldmark's own texts: 1 species and terms, Apache-2.0." in as_text(found)


def test_control_characters_in_names_are_removed_from_text_credits() -> None:
    bad = anchor("a.jpg", author="Ann\nb.jpg: Bob\x1b[31m, CC0\u202e 1.0.\r", licence="CC BY-NC 4.0")
    lines = as_text(credits(entry("Wren", ARTICLE, bad))).splitlines()
    (line,) = (line for line in lines if "Bob" in line)
    assert line.startswith("a.jpg: Ann b.jpg: Bob[31m, CC0 1.0. , CC BY-NC 4.0 (")
    assert line.endswith("NOT TO BE PUBLISHED.")
    assert credits(entry("Wren", ARTICLE, bad)).to_frame()["author"][1] == bad.author


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
