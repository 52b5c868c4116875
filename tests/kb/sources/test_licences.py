"""Licence freedom and short names of licences."""

from __future__ import annotations

import pytest

from kb.sources.licences import licence_freedom, short_licence


@pytest.mark.parametrize(
    "name",
    [
        "CC BY-SA 4.0", "CC BY 2.0", "CC-BY-SA-3.0", "cc by-sa 2.5", "CC BY-SA 3.0 de", "CC0", "CC-Zero", "CC0 1.0",
        "Public domain", "PD-USGov", "pd", "GFDL", "GFDL 1.2", "Copyrighted free use", "FAL", "No restrictions",
        "Attribution", "Open Government Licence v3.0",
    ],
)  # fmt: skip
def test_free_licences_are_recognised(name: str) -> None:
    assert licence_freedom(name) == "free"


@pytest.mark.parametrize(
    "name",
    [
        "CC BY-NC 2.0", "CC BY-NC-SA 4.0", "CC BY-ND 4.0", "cc-by-nc-nd-3.0", "Fair use", "All rights reserved",
        "Creative Commons Attribution-NonCommercial 4.0", "Non-free logo", "Copyrighted", "used with permission",
    ],
)  # fmt: skip
def test_restrictive_licences_are_not_free(name: str) -> None:
    assert licence_freedom(name) == "not free"


@pytest.mark.parametrize("name", ["", "unknown", "See below", "Flickr", "my photo"])
def test_other_licence_texts_are_unknown(name: str) -> None:
    assert licence_freedom(name) == "unknown"


def test_the_licence_url_counts_as_well() -> None:
    assert licence_freedom("", "https://creativecommons.org/licenses/by/4.0") == "free"
    assert licence_freedom("CC", "https://creativecommons.org/licenses/by-nc-sa/4.0/") == "not free"
    assert licence_freedom("", "http://creativecommons.org/publicdomain/zero/1.0/deed.en") == "free"
    assert licence_freedom("CC BY 4.0", is_marked_unfree=True) == "not free"


@pytest.mark.parametrize(
    ("name", "url", "short"),
    [
        ("", "", None),
        (
            "Creative Commons Attribution-Share Alike 4.0",
            "https://creativecommons.org/licenses/by-sa/4.0/",
            "CC BY-SA 4.0",
        ),
        ("", "//creativecommons.org/publicdomain/zero/1.0/", "CC0 1.0"),
        ("Our own terms", "", "Our own terms"),
    ],
)
def test_licences_have_short_names(name: str, url: str, short: str | None) -> None:
    assert short_licence(name, url) == short
