"""`kb build` of any group from a real MediaWiki, by the taxoboxes of its pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MEDIAWIKI, CommandLine, skip_or_fail
from tests.servers.own_wiki import BIRDS, OwnWiki, running

pytestmark = pytest.mark.integration

# A taxobox as Wikipedia renders it: the classification is not in the wikitext of the page.
BOX = """{| class="infobox biota"
! colspan="2" | {{{name}}}
|-
| Class: || {{{c}}}
|-
| Order: || {{{o}}}
|-
| Family: || {{{f}}}
|-
{{#if:{{{species|}}}|{{!}} Genus: {{!}}{{!}} {{{genus}}}
{{!}}-
! colspan="2" {{!}} [[Binomial nomenclature|Binomial name]]
{{!}}-
{{!}} colspan="2" class="binomial" {{!}} ''{{{genus}}} {{{species}}}''}}
|}"""
NYMPHS = "c=Insecta|o=Lepidoptera|f=Nymphalidae"
LOOKS = "== Description ==\nThe upperside of the wings is {0} with a {1} band. The antennae are black.\n"


def species(name: str, binomial: str, above: str, category: str, *colours: str) -> str:
    genus, epithet = binomial.split()
    box = f"{{{{Speciesbox|name={name}|genus={genus}|species={epithet}|{above}}}}}"
    lead = f"\nThe '''{name}''' (''{binomial}'') is a species.\n\n"
    return box + lead + LOOKS.format(*colours) + f"[[Category:{category}]]"


PAGES = {
    "Template:Speciesbox": BOX,
    "Template:Automatic taxobox": BOX,
    "Lepidoptera": "{{Automatic taxobox|name=Lepidoptera|taxon=Lepidoptera|c=Insecta|o=Lepidoptera|f=}}"
    "\n'''Lepidoptera''' is an order of insects.\n[[Category:Lepidoptera]]",
    "Vanessa (butterfly)": f"{{{{Automatic taxobox|name=Vanessa|taxon=Vanessa|{NYMPHS}}}}}"
    "\n'''''Vanessa''''' is a genus.\n* [[Vanessa atalanta]]\n* [[Painted lady (butterfly)]]\n* [[Vanessa nova]]\n"
    "[[Category:Nymphalidae]]",
    "Red admiral": species("Red admiral", "Vanessa atalanta", NYMPHS, "Nymphalidae", "black", "red"),
    "Vanessa atalanta": "#REDIRECT [[Red admiral]]",
    "Painted lady (butterfly)": species("Painted lady", "Vanessa cardui", NYMPHS, "Vanessa", "orange", "black"),
    "Danaus chrysippus": species("Plain tiger", "Danaus chrysippus", NYMPHS, "Nymphalidae", "tawny", "white"),
    "Common milkweed": species(
        "Common milkweed", "Asclepias syriaca", "c=Magnoliopsida|o=Gentianales|f=Apocynaceae", "Nymphalidae",
        "pink", "white",
    ),
    "Monarch disease": "'''Monarch disease''' (''Ophryocystis elektroscirrha'') is a disease of butterflies.\n"
    "[[Category:Nymphalidae]]",
    "Category:Vanessa": "[[Category:Nymphalidae]]",
    "Category:Nymphalidae": "[[Category:Lepidoptera]]",
}  # fmt: skip


@pytest.fixture(scope="module")
def butterflies(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnWiki]:
    if not MEDIAWIKI.is_dir() or shutil.which("php") is None:
        skip_or_fail("needs MediaWiki")
    with running(shared / "mediawiki", tmp_path_factory.mktemp("butterflies"), birds=BIRDS[:1]) as own:
        for title, text in PAGES.items():
            own.edit(title, text)
        yield own


def build(cli: CommandLine, wiki: OwnWiki, *more: str, check: bool = True) -> Any:
    return cli.call("build", *more, "--kb", "b.kb", "--api-url", wiki.api_url, check=check)


def held(cli: CommandLine) -> dict[str, Any]:
    rows = json.loads(cli.call("species", "--kb", "b.kb", "--format", "json", check=True).stdout)
    return {row["scientific_name"]: row for row in rows}


def test_a_taxon_outside_avilist_is_built_from_taxoboxes(cli: CommandLine, butterflies: OwnWiki) -> None:
    done = build(cli, butterflies, "--taxon", "Lepidoptera")
    assert "Lepidoptera: not in AviList 2025, so taxoboxes of the wiki name the species" in done.stderr
    found = held(cli)
    assert {name: row["common_name"] for name, row in found.items()} == {
        "Vanessa atalanta": "Red admiral", "Vanessa cardui": "Painted lady", "Danaus chrysippus": "Danaus chrysippus",
    }  # fmt: skip
    shown = json.loads(cli.call("show", "Red admiral", "--kb", "b.kb", "--format", "json", check=True).stdout)
    assert shown["taxon"]["lineage"] == {
        "class": "Insecta", "order": "Lepidoptera", "family": "Nymphalidae", "genus": "Vanessa",
    }  # fmt: skip
    status = json.loads(cli.call("status", "--kb", "b.kb", "--format", "json", check=True).stdout)
    assert status["checklist"] == "wiki"
    assert status["left_out"] == {"about another subject": 1, "no taxobox": 1, "not a species": 2}
    again = build(cli, butterflies, "--taxon", "Lepidoptera")
    assert "fetched" not in again.stdout
    shown = json.loads(cli.call("show", "Red admiral", "--kb", "b.kb", "--format", "json", check=True).stdout)
    assert shown["taxon"]["lineage"]["order"] == "Lepidoptera"


def test_a_further_build_and_an_addition_keep_the_wiki_as_checklist(cli: CommandLine, butterflies: OwnWiki) -> None:
    build(cli, butterflies, "--checklist", "wiki", "--category", "Vanessa")
    Path("names.csv").write_text("scientific_name\nDanaus chrysippus\n")
    build(cli, butterflies, "--names", "names.csv")
    assert set(held(cli)) == {"Vanessa cardui", "Danaus chrysippus"}
    found = cli.call("taxa", "painted lady", "--kb", "b.kb", check=True).stdout
    assert "Vanessa cardui" in found and "Nymphalidae" in found
    assert "Did you mean Painted lady?" in cli.call("taxa", "painted ladi", "--kb", "b.kb").stderr
    refused = cli.call("taxa", "painted lady", "--checklist", "wiki")
    assert refused.exit_code == 2 and "--checklist wiki is for kb build" in refused.stderr
    refused = cli.call("build", "--source", "folder:.", "--checklist", "wiki", "--kb", "c.kb")
    assert refused.exit_code == 2 and "--checklist wiki needs a wiki as its source" in refused.stderr


def test_a_name_that_neither_avilist_nor_the_wiki_has_is_refused(cli: CommandLine, butterflies: OwnWiki) -> None:
    done = build(cli, butterflies, "--taxon", "Lepidopteria", check=False)
    assert done.exit_code == 5 and 'Unknown taxon "Lepidopteria": not in AviList 2025, nor in 127.0.0.1' in done.stderr
    assert "hint: The wiki has no page, category or list of that name; try --category" in done.stderr
    done = build(cli, butterflies, "--taxon", "Monarch disease", "--checklist", "wiki", check=False)
    assert done.exit_code == 5 and 'Unknown taxon "Monarch disease": not in 127.0.0.1' in done.stderr
