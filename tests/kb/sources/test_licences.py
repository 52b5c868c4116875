"""Licences: freedom, short names, and what a page states for its text."""

from __future__ import annotations

from bs4 import BeautifulSoup

from kb.sources.licences import licence_freedom, short_licence
from kb.sources.web.page_licence import stated_licence

NAMES = {
    "free": (
        "CC BY-SA 4.0", "CC BY 2.0", "CC-BY-SA-3.0", "cc by-sa 2.5", "CC BY-SA 3.0 de", "CC0", "CC-Zero", "CC0 1.0",
        "Public domain", "PD-USGov", "pd", "GFDL", "GFDL 1.2", "Copyrighted free use", "FAL", "No restrictions",
        "Attribution", "Open Government Licence v3.0",
    ),
    "not free": (
        "CC BY-NC 2.0", "CC BY-NC-SA 4.0", "CC BY-ND 4.0", "cc-by-nc-nd-3.0", "Fair use", "All rights reserved",
        "Creative Commons Attribution-NonCommercial 4.0", "Non-free logo", "Copyrighted", "used with permission",
    ),
    "unknown": ("", "unknown", "See below", "Flickr", "my photo"),
}  # fmt: skip
BY = "https://creativecommons.org/licenses/by/4.0/"
NC = "https://creativecommons.org/licenses/by-nc/4.0/"
STATED = {
    f'<link rel="license" href="{BY}">': "CC BY 4.0",
    f'<footer><a rel="license nofollow" href="{NC}">NC</a></footer>': "CC BY-NC 4.0",
    f'<p>The text of this site is available under a <a href="{BY}">licence</a>.</p>': "CC BY 4.0",
    '<meta name="DC.rights.license" content="https://creativecommons.org/publicdomain/zero/1.0/">': "CC0 1.0",
    '<meta name="license" content="All rights reserved">': "All rights reserved",
    f'<script type="application/ld+json">{{"@type": "Article", "license": "{BY}"}}</script>': "CC BY 4.0",
    f'<script type="application/ld+json">{{"@graph": [{{"license": {{"@id": "{BY}"}}}}]}}</script>': "CC BY 4.0",
    '<link rel="license" href="/terms">': "/terms",
    # of a photo, or unclear
    f'<script type="application/ld+json">{{"@type": "ImageObject", "license": "{BY}"}}</script>': None,
    f'<figure><img><a rel="license" href="{BY}">CC BY</a></figure>': None,
    f'<p>Photo: Ann, <a href="{BY}">CC BY</a></p>': None,
    f'<link rel="license" href="{BY}"><a rel="license" href="{NC}">NC</a>': None,
    '<script type="application/ld+json">{broken</script>': None,
    "<p>Nothing</p>": None,
    # without a link
    "<footer>© Ann. Text licensed under CC BY 4.0.</footer>": "CC BY 4.0",
    "<p>Work licensed under Creative Commons Attribution-ShareAlike 4.0 International.</p>": "CC BY-SA 4.0",
    "<footer>Photos by Ann are licensed under CC BY 4.0</footer>": None,
    "<p>We like CC BY 4.0.</p>": None,
    f'<footer>Licensed under <a href="{BY}">CC BY</a>.</footer>': "CC BY 4.0",
}


def test_freedom_is_known_by_name_url_or_mark() -> None:
    assert {name: licence_freedom(name) for names in NAMES.values() for name in names} == {
        name: freedom for freedom, names in NAMES.items() for name in names
    }
    assert licence_freedom("", "https://creativecommons.org/licenses/by/4.0") == "free"
    assert licence_freedom("CC", "https://creativecommons.org/licenses/by-nc-sa/4.0/") == "not free"
    assert licence_freedom("", "http://creativecommons.org/publicdomain/zero/1.0/deed.en") == "free"
    assert licence_freedom("CC BY 4.0", is_marked_unfree=True) == "not free"


def test_licences_have_short_names() -> None:
    long = "Creative Commons Attribution-Share Alike 4.0"
    assert short_licence(long, "https://creativecommons.org/licenses/by-sa/4.0/") == "CC BY-SA 4.0"
    assert short_licence("", "//creativecommons.org/publicdomain/zero/1.0/") == "CC0 1.0"
    assert short_licence("", "//creativecommons.org/publicdomain/mark/1.0/") == "Public domain"
    assert short_licence(" Our own  terms") == "Our own terms"
    assert short_licence("") is None


def test_a_licence_is_taken_only_if_it_is_stated_for_the_text() -> None:
    assert {html: stated_licence(BeautifulSoup(html, "lxml")) for html in STATED} == STATED
