"""The text, title, language and licence of ugly documents."""

import pytest
from bs4 import BeautifulSoup

from data.errors import BadInput
from kb.licences import licence_freedom, licence_in, short_licence
from kb.sources.documents import MAX_CHARACTERS, NotReadable, decoded, read_document, read_file, stated_licence
from kb.sources.plain_text import parse_text
from tests.servers.ugly_site import ARTICLE, HEN, LOGIN, LOOKS, Reply, page, pdf, ugly_pages

PAGES = {path: reply for path, reply in ugly_pages().items() if isinstance(reply, Reply)}
REFUSED = {
    "/picture": "expected HTML, PDF or plain text, got a picture",
    "/data.json": "expected HTML, PDF or plain text, got application/json",
    "/script-only": "no text without JavaScript",
    "/login": "no text without a login",
    "/empty": "no text",
    "/huge": "more than the limit of 5,000,000 bytes of HTML",
}


def read(path: str) -> str:
    reply = PAGES[path]
    kind, _, charset = (reply.kind or "").partition("; charset=")
    return read_document(reply.content, kind=kind, charset=charset or None).text


def test_the_main_text_is_kept_without_menu_banner_and_footer() -> None:
    for path in ("/mallard", "/no-type", "/controls"):
        assert read(path) == f"The mallard is a duck of ponds.\n\n## Description\n\n{LOOKS} {HEN}", path
    assert read("/no-title") == f"{LOOKS} {HEN}"
    text, sections = parse_text(read("/mallard"))
    (looks,) = [section for section in sections if section.title == "Description"]
    assert text[looks.start : looks.end] == f"{LOOKS} {HEN}"


def test_a_wrong_or_missing_charset_does_not_garble_the_text() -> None:
    for path in ("/wrong-charset", "/meta-charset"):
        assert "Its café-coloured légs — «orange»." in read(path), path
    assert decoded("légs".encode("utf-16"), None) == decoded("légs".encode(), "no-such-charset") == "légs"
    assert decoded("légs".encode("utf-16-le"), "utf-16-le") == "légs"
    assert decoded(b"\x93legs\x94 \x81", "utf-8") == "“legs” \N{REPLACEMENT CHARACTER}"


def test_a_document_without_text_is_refused_with_the_reason() -> None:
    for path, reason in REFUSED.items():
        with pytest.raises(NotReadable, match=f"^{reason}$"):
            read(path)
    for content, reason in ((PAGES["/bad.pdf"].content, "the PDF is damaged"), (pdf(""), "scanned")):
        with pytest.raises(NotReadable, match=reason):
            read_document(content)


def test_a_pdf_is_known_by_its_bytes_and_its_headings_are_paragraphs() -> None:
    assert read("/pdf-as-html").endswith(HEN)
    assert read("/paper.pdf").startswith("Mallard\n\n") and read("/paper.pdf").endswith(HEN)


def test_a_page_of_one_table_is_read_by_rows() -> None:
    rows = "".join(f"<tr><td>{part}</td><td>{looks}</td></tr>" for part, looks in (("Head", "green"), ("Bill", HEN)))
    table = f"<h2>Description</h2><table>{rows}</table>"
    read = read_document(page(table, head="", lang="de-AT").encode(), kind="text/html")
    assert "Head: green.\n\n" in read.text and f"Bill: {HEN}" in read.text
    assert (read.title, read.language) == ("", "de")  # not the heading of a section

    first = read_document(page().encode())
    other_menu = read_document(page().replace("Red hats", "Blue hats").encode())
    other_text = read_document(page(ARTICLE.replace("glossy", "dull")).encode())
    assert first.version == other_menu.version != other_text.version


def test_layout_by_a_table_keeps_words_and_paragraphs_apart_and_hidden_text_out() -> None:
    cell = f"<b>MALLARD</b> Anas platyrhynchos<br><br><b>Description:</b> {LOOKS}<br>{HEN} It is<br>large.<br><br>"
    hidden = "<p style='DISPLAY: none'>The robin has a violet crown and orange legs in winter.</p>"
    read = read_document(f"<table><tr><td>{hidden}</td><td>{cell}</td></tr></table>".encode(), kind="text/html")
    assert read.text == f"MALLARD Anas platyrhynchos\n\n## Description\n\n{LOOKS}\n\n{HEN} It is large."


def test_a_file_is_read_by_its_ending() -> None:
    for name, content in (
        ("a.html", page().encode()),
        ("a.txt", f"{LOOKS} {HEN}".encode("utf-8-sig")),
        ("a.md", f"## Description\n\n{LOOKS}".encode()),
        ("A.PDF", pdf(LOOKS)),
    ):
        assert LOOKS in read_file(name, content).text, name
    with pytest.raises(BadInput, match=r"\.html, \.txt, \.md or \.pdf"):
        read_file("a.docx", b"PK")
    for name, content, reason in (
        ("a.pdf", LOGIN.encode(), "expected a PDF"),
        ("a.txt", b"a\0b" * 30, "binary"),
        ("a.txt", b"a" * (MAX_CHARACTERS + 1), "characters of text"),
    ):
        with pytest.raises(NotReadable, match=reason):
            read_file(name, content)


NAMES = {
    "free": (
        "CC-BY-SA-3.0", "cc by-sa 2.5", "CC BY 3.0 de", "CC-Zero", "CC0 1.0", "Public domain", "PD-USGov", "GFDL 1.2",
        "Copyrighted free use", "FAL", "No restrictions", "Attribution", "Open Government Licence v3.0",
        "CC SA 1.0", "GODL-India", "Gemeinfrei", "Bild-PD-alt", "No known copyright restrictions",
        "Licence Ouverte 2.0",
        "CeCILL", "Domaine public", "Dominio público", "Bild-CC-by-sa/3.0", "Kogl Type 1", "CC BY-SA 2.5-2.0-1.0",
        "Copyrighted free use provided that", "AGPL", "Lizenz Freie Kunst", "Datenlizenz Deutschland Zero",
        "Creative Commons Attribution 4.0 International (CC BY 4.0) Licence", "Creative Commons Paternité 3.0",
        "GFDL 1.2 or later, CC_BY_SA-3.0 or MIT", "Apache License, Version 2.0", "CC0 1.0 Universal", "IODL 2.0",
    ),
    "not free": (
        "CC BY-NC 2.0", "CC BY-NC-SA 4.0", "CC BY-ND 4.0", "cc-by-nc-nd-3.0", "Fair use", "All rights reserved",
        "Creative Commons Attribution-NonCommercial 4.0", "Non-free logo", "Copyrighted", "used with permission",
        "CC-BYNC", "Creative Commons Attribution - Pas d'Utilisation Commerciale", "Not in the public domain",
        "Creative Commons Namensnennung - Nicht kommerziell", "Nicht gemeinfrei", "Bild-CC-by-nc/2.0",
        "Creative Commons Atribución-NoComercial 4.0", "Creative Commons Atribución-SinDerivadas 4.0 Internacional",
        "Creative Commons Reconocimiento-SinObraDerivada 3.0", "Creative Commons Namensnennung-KeineBearbeitung",
        "Domaine public (usage non commercial)", "Dominio público; uso comercial prohibido", "CC BY–NC 4.0",
        "Creative Commons Attribution-No Derivative Works 3.0 Unported", "CC BY 4.0, no commercial use",
        "Creative Commons Attribution Non Commercial 2.0", "Creative Commons Attribution No Derivatives 4.0",
        "mit Genehmigung des Fotografen", "CC BY 4.0 (non-free)",
    ),
    "unknown": (
        "", "unknown", "See below", "Flickr", "my photo", "Bild-LogoSH", "Kogl Type 2", "CC Sampling Plus 1.0",
        "Unlicensed", "Gemeinfrei in den USA, in Deutschland geschützt", "CC BY-SA 4.0 except logo", "IODL 1.0",
        "Copyright Apache County", "mit Quellenangabe", "Public domain for educational use", "PD-USonly",
        "CC BY or ask me",
    ),
}  # fmt: skip
BY = "https://creativecommons.org/licenses/by/4.0/"
NC = "https://creativecommons.org/licenses/by-nc/4.0/"
STATED = {
    f'<link rel="license" href="{BY}">': "CC BY 4.0",
    f'<footer><a rel="license nofollow" href="{NC}">NC</a></footer>': "CC BY-NC 4.0",
    f'<p>The text of this site is available under a <a href="{BY}">licence</a>.</p>': "CC BY 4.0",
    '<meta name="DC.rights.license" content="https://creativecommons.org/publicdomain/zero/1.0/">': "CC0 1.0",
    '<meta name="license" content="All rights reserved">': "All rights reserved",
    f'<script type="application/ld+json">{{"@graph": [{{"license": {{"@id": "{BY}"}}}}]}}</script>': "CC BY 4.0",
    f'<script type="application/ld+json">{{"@type": "ImageObject", "license": "{BY}"}}</script>': None,
    f'<p>Photo: Ann, <a href="{BY}">CC BY</a></p>': None,
    f'<link rel="license" href="{BY}"><a rel="license" href="{NC}">NC</a>': None,
    '<script type="application/ld+json">{broken</script>': None,
    f'<p>Photos are licensed under <a href="{BY}">CC BY</a>, the text under <a href="{NC}">CC BY-NC</a>.</p>': None,
    "<ul><li><a href='/x'>Content licensed under CC BY 4.0</a></li></ul>": None,
    "<footer>© Ann. Text licensed under CC BY 4.0.</footer>": "CC BY 4.0",
    "<p>Work licensed under Creative Commons Attribution-ShareAlike 4.0 International.</p>": "CC BY-SA 4.0",
    "<footer>Photos by Ann are licensed under CC BY 4.0</footer>": None,
    "<footer>Text licensed under CC BY 4.0, no commercial use.</footer>": None,
}


def test_freedom_is_known_by_name_url_or_mark() -> None:
    assert {name: licence_freedom(name) for names in NAMES.values() for name in names} == {
        name: freedom for freedom, names in NAMES.items() for name in names
    }
    assert licence_freedom("", "https://creativecommons.org/licenses/by/4.0") == "free"
    assert licence_freedom("CC", "https://creativecommons.org/licenses/by-nc-sa/4.0/") == "not free"
    assert licence_freedom("", "http://creativecommons.org/publicdomain/zero/1.0/deed.en") == "free"
    assert licence_freedom("CC BY 4.0", is_marked_unfree=True) == "not free"
    for kind in ("sampling+/1.0", "devnations/2.0", "by-sampling/1.0"):
        address = f"https://creativecommons.org/licenses/{kind}/"
        assert licence_freedom("", address) == licence_freedom("CC BY 1.0", address) == "unknown", kind
    assert licence_in("A Creative Commons Attribution Non Commercial (CC-BY-NC) 4.0 License") == "CC BY-NC 4.0"
    long = "Creative Commons Attribution-Share Alike 4.0"
    assert short_licence(long, "https://creativecommons.org/licenses/by-sa/4.0/") == "CC BY-SA 4.0"
    assert short_licence("", "//creativecommons.org/publicdomain/zero/1.0/") == "CC0 1.0"
    assert short_licence("", "//creativecommons.org/publicdomain/mark/1.0/") == "Public domain"
    assert short_licence(" Our own  terms") == "Our own terms"
    assert short_licence("") is None
    # One is taken only if it is stated for the text.
    assert {html: stated_licence(BeautifulSoup(html, "lxml")) for html in STATED} == STATED
