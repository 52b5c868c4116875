"""The text, title, language and licence of ugly documents."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from data.errors import BadInput
from kb.sources.plain_text import parse_text
from kb.sources.web.document import MAX_CHARACTERS, NotReadable, read_document, read_file
from kb.sources.web.licence import stated_licence
from kb.sources.web.text import as_markdown, decoded
from tests.servers.ugly_site import ARTICLE, HEN, LOGIN, LOOKS, Reply, page, pdf, ugly_pages

PAGES = {path: reply for path, reply in ugly_pages().items() if isinstance(reply, Reply)}


def read(path: str) -> str:
    reply = PAGES[path]
    kind, _, charset = (reply.kind or "").partition("; charset=")
    return read_document(reply.content, kind=kind, charset=charset or None).text


@pytest.mark.parametrize("path", ["/mallard", "/no-title", "/no-type", "/controls"])
def test_the_main_text_is_kept_without_menu_banner_and_footer(path: str) -> None:
    text = read(path)
    assert f"{LOOKS} {HEN}" in text
    assert not any(word in text for word in ("cookies", "shop", "Home", "Copyright"))


def test_headings_become_sections() -> None:
    text, sections = parse_text(read("/mallard"))
    (looks,) = [section for section in sections if section.title == "Description"]
    assert text[looks.start : looks.end] == f"{LOOKS} {HEN}"


@pytest.mark.parametrize("path", ["/wrong-charset", "/meta-charset"])
def test_a_wrong_or_missing_charset_does_not_garble_the_text(path: str) -> None:
    assert "Its café-coloured légs — «orange»." in read(path)


@pytest.mark.parametrize(
    ("content", "stated", "text"),
    [
        ("légs".encode("utf-16"), None, "légs"),
        ("légs".encode("utf-16-le"), "utf-16-le", "légs"),
        ("légs".encode(), "no-such-charset", "légs"),
        ("羽毛".encode("shift_jis"), "Shift_JIS", "羽毛"),
        (b"\x93legs\x94 \x81", "utf-8", "“legs” \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_bytes_are_decoded(content: bytes, stated: str | None, text: str) -> None:
    assert decoded(content, stated) == text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/picture", "got a picture"),
        ("/data.json", "got application/json"),
        ("/script-only", "no text without JavaScript"),
        ("/login", "no text without a login"),
        ("/empty", "no text"),
        ("/huge", "limit of 5,000,000 bytes"),
        ("/bad.pdf", "the PDF is damaged"),
    ],
)
def test_a_document_without_text_is_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(NotReadable, match=why):
        read(path)


@pytest.mark.parametrize("path", ["/paper.pdf", "/pdf-as-html"])
def test_a_pdf_is_known_by_its_bytes(path: str) -> None:
    assert read(path).split("\n\n")[-1].endswith(HEN)


def test_a_page_of_one_table_is_read_by_rows() -> None:
    rows = "".join(f"<tr><td>{part}</td><td>{looks}</td></tr>" for part, looks in (("Head", "green"), ("Bill", HEN)))
    table = f"<h2>Description</h2><table>{rows}</table>"
    read = read_document(page(table, head="").encode(), kind="text/html")
    assert "Head: green.\n\n" in read.text and f"Bill: {HEN}" in read.text
    assert read.title == ""  # not the heading of a section


def test_a_heading_in_a_pdf_is_a_paragraph_of_its_own() -> None:
    assert read("/paper.pdf").split("\n\n")[0] == "Mallard"


def test_a_pdf_without_text_is_refused() -> None:
    with pytest.raises(NotReadable, match="scanned"):
        read_document(pdf(""))


def test_a_page_cannot_make_headings_of_its_sentences() -> None:
    assert as_markdown([(0, "# Description"), (3, "Size")]) == "Description\n\n### Size"


def test_the_version_changes_with_the_text_alone() -> None:
    first = read_document(page().encode())
    other_menu = read_document(page().replace("Red hats", "Blue hats").encode())
    other_text = read_document(page(ARTICLE.replace("glossy", "dull")).encode())
    assert first.version == other_menu.version != other_text.version


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", page().encode()),
        ("a.txt", f"{LOOKS} {HEN}".encode("utf-8-sig")),
        ("a.md", f"## Description\n\n{LOOKS}".encode()),
        ("A.PDF", pdf(LOOKS)),
    ],
)
def test_a_file_is_read_by_its_ending(name: str, content: bytes) -> None:
    assert LOOKS in read_file(name, content).text


def test_other_files_are_refused() -> None:
    with pytest.raises(BadInput, match=r"\.html, \.txt, \.md or \.pdf"):
        read_file("a.docx", b"PK")
    with pytest.raises(NotReadable, match="expected a PDF"):
        read_file("a.pdf", LOGIN.encode())
    with pytest.raises(NotReadable, match="binary"):
        read_file("a.txt", b"a\0b" * 30)
    with pytest.raises(NotReadable, match="characters of text"):
        read_file("a.txt", b"a" * (MAX_CHARACTERS + 1))


BY = "https://creativecommons.org/licenses/by/4.0/"
NC = "https://creativecommons.org/licenses/by-nc/4.0/"


@pytest.mark.parametrize(
    ("html", "licence"),
    [
        (f'<link rel="license" href="{BY}">', "CC BY 4.0"),
        (f'<footer><a rel="license nofollow" href="{NC}">NC</a></footer>', "CC BY-NC 4.0"),
        (f'<p>The text of this site is available under a <a href="{BY}">licence</a>.</p>', "CC BY 4.0"),
        ('<meta name="DC.rights.license" content="https://creativecommons.org/publicdomain/zero/1.0/">', "CC0 1.0"),
        ('<meta name="license" content="All rights reserved">', "All rights reserved"),
        (f'<script type="application/ld+json">{{"@type": "Article", "license": "{BY}"}}</script>', "CC BY 4.0"),
        (f'<script type="application/ld+json">{{"@graph": [{{"license": {{"@id": "{BY}"}}}}]}}</script>', "CC BY 4.0"),
        ('<link rel="license" href="/terms">', "/terms"),
        # of a photo, or unclear
        (f'<script type="application/ld+json">{{"@type": "ImageObject", "license": "{BY}"}}</script>', None),
        (f'<figure><img><a rel="license" href="{BY}">CC BY</a></figure>', None),
        (f'<p>Photo: Ann, <a href="{BY}">CC BY</a></p>', None),
        (f'<link rel="license" href="{BY}"><a rel="license" href="{NC}">NC</a>', None),
        ('<script type="application/ld+json">{broken</script>', None),
        ("<p>Nothing</p>", None),
        # without a link
        ("<footer>© Ann. Text licensed under CC BY 4.0.</footer>", "CC BY 4.0"),
        ("<p>Work licensed under Creative Commons Attribution-ShareAlike 4.0 International.</p>", "CC BY-SA 4.0"),
        ("<footer>Photos by Ann are licensed under CC BY 4.0</footer>", None),
        ("<p>We like CC BY 4.0.</p>", None),
        (f'<footer>Licensed under <a href="{BY}">CC BY</a>.</footer>', "CC BY 4.0"),
    ],
)  # fmt: skip
def test_a_licence_is_taken_only_if_it_is_stated_for_the_text(html: str, licence: str | None) -> None:
    assert stated_licence(BeautifulSoup(html, "lxml")) == licence
