"""`kb build --language de` from a real MediaWiki in German: names, titles and links to other languages."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine
from tests.servers.own_wiki import BIRDS, OwnWiki, running

pytestmark = pytest.mark.integration

BOX = """{| class="taxobox"
! colspan="2" | {{{Taxon_Name|}}}
|-
| Klasse: || Insekten (Insecta)
|-
| Ordnung: || Schmetterlinge (Lepidoptera)
|-
| Familie: || Edelfalter (Nymphalidae)
|-
| Gattung: || ''{{{Taxon2_WissName}}}''
|-
! colspan="2" | Wissenschaftlicher Name
|-
| colspan="2" class="binomial" | ''{{{Taxon_WissName}}}''
|}"""


def species(name: str, binomial: str, colour: str, *links: str) -> str:
    box = (
        f"{{{{Taxobox\n| binomial = {binomial}\n| Taxon_Name = {name}\n| Taxon_WissName = {binomial}\n"
        f"| Taxon_Rang = Art\n| Taxon2_WissName = {binomial.split()[0]}\n| Taxon2_Rang = Gattung\n"
        "| Taxon3_WissName = Nymphalidae\n| Taxon3_Rang = Familie\n}}\n"
    )
    lead = f"Der '''{name}''' (''{binomial}'') ist ein [[Schmetterling]] aus der Familie der Edelfalter.\n\n"
    looks = f"== Merkmale ==\nDie Flügeloberseite ist {colour} gefärbt, mit weißen Flecken an der Spitze.\n"
    return box + lead + looks + "".join(f"[[{link}]]\n" for link in links) + "[[Kategorie:Edelfalter]]"


PAGES = {
    "Vorlage:Taxobox": BOX,
    "Liste der Edelfalter": "* [[Distelfalter]]\n* [[Admiral (Schmetterling)]]\n* [[Vanessa gonerilla]]\n",
    "Distelfalter": species("Distelfalter", "Vanessa cardui", "orange", "en:Painted lady", "fr:Belle-dame"),
    "Admiral (Schmetterling)": species("Admiral", "Vanessa atalanta", "schwarz", "en:Vanessa atalanta"),
    "Vanessa gonerilla": species("Vanessa gonerilla", "Vanessa gonerilla", "rot", "en:New Zealand red admiral"),
}


@pytest.fixture(scope="module")
def german(mediawiki: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnWiki]:
    with running(mediawiki, tmp_path_factory.mktemp("german"), birds=BIRDS[:1]) as own:
        with closing(sqlite3.connect(own.state / "db" / "wiki.sqlite")) as db, db:
            for code in ("en", "fr"):
                row = (code, f"https://{code}.wikipedia.org/wiki/$1", "", "", 0, 0)
                db.execute("INSERT OR REPLACE INTO interwiki VALUES (?, ?, ?, ?, ?, ?)", row)
        own.configure('$wgLanguageCode = "de";', lambda answer: answer["query"]["general"]["lang"] == "de")
        for title, text in PAGES.items():
            own.edit(title, text)
        yield own


def test_a_german_wiki_gives_german_names_with_english_ones_beside_them(cli: CommandLine, german: OwnWiki) -> None:
    def call(*arguments: str) -> Any:
        return cli.call(*arguments, "--kb", "b.kb", check=True)

    build = ("build", "--list", "Liste der Edelfalter", "--checklist", "wiki", "--api-url", german.api_url)
    built = call(*build, "--language", "de")
    assert "in other languages (de)" in built.stderr and "--distiller model" in built.stderr
    names = {
        row["scientific_name"]: row["common_name"] for row in json.loads(call("species", "--format", "json").stdout)
    }
    assert names == {
        "Vanessa cardui": "Distelfalter", "Vanessa atalanta": "Admiral", "Vanessa gonerilla": "Vanessa gonerilla",
    }  # fmt: skip
    shown = json.loads(call("show", "Painted lady", "--format", "json").stdout)["taxon"]
    assert shown["common_names"][0] == "Distelfalter"
    assert shown["lineage"].get("order") == "Lepidoptera", shown
    assert shown["names_by_language"]["en"] == ["Painted lady"]
    assert "fr" not in shown["names_by_language"]  # not asked for
    assert "Painted lady (Vanessa cardui)" in call("show", "Distelfalter", "--language", "en").stdout
    call(*build)
    assert "Distelfalter" in call("species").stdout
