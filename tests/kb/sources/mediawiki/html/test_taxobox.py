"""Binomials composed from the genus and species rows of a taxobox."""

from __future__ import annotations

import pytest

from data.records import Source
from kb.sources.mediawiki.html.parse import parse_article


def binomial(genus: str, species: str) -> str | None:
    """Return the binomial of a taxobox with a row for the genus and one for the species."""
    box = f"""<table class="infobox biota"><tr><th colspan="2">A bird</th></tr>
    <tr><td>Family:</td><td>Falconidae</td></tr>
    <tr><td>Genus:</td><td>{genus}</td></tr><tr><td>Species:</td><td>{species}</td></tr></table>"""
    infobox = parse_article(box, source=Source(title="A bird")).infobox
    assert infobox is not None
    return infobox.binomial


@pytest.mark.parametrize(
    ("genus", "species", "expected"),
    [
        ("Falco", "Falco columbarius", "Falco columbarius"),
        ("Falco", "F. columbarius", "Falco columbarius"),
        ("Falco", "columbarius", "Falco columbarius"),
        ("Crex", "crex", "Crex crex"),
        ("Ninox", "ios", "Ninox ios"),  # the shortest epithet
        ("Falco", "novae-zeelandiae", "Falco novae-zeelandiae"),
        ("Branta", "canadensis (Linnaeus, 1758)", "Branta canadensis"),
        ("Tyto", "A. alba", None),  # another genus
        ("Falco", "sp", None),  # no epithet
        ("Falco", "several species", None),
        ("", "columbarius", None),
    ],
)
def test_genus_and_epithet_form_a_binomial(genus: str, species: str, expected: str | None) -> None:
    assert binomial(genus, species) == expected
