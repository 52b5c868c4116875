"""`kb build` of any group from a real MediaWiki with the saved pages, and pages that are no species."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.verbs.build.any_group_pages import PAGES
from tests.conftest import MEDIAWIKI, CommandLine, skip_or_fail
from tests.servers.own_wiki import BIRDS, OwnWiki, running
from tests.servers.saved_pages import saved_pages

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def wiki(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnWiki]:
    if not MEDIAWIKI.is_dir() or shutil.which("php") is None:
        skip_or_fail("needs MediaWiki")
    pages = saved_pages(shared / "fixtures" / "wikipedia_html") | PAGES
    with running(shared / "mediawiki", tmp_path_factory.mktemp("any"), birds=BIRDS[:2], more=pages) as own:
        yield own


def build(cli: CommandLine, wiki: OwnWiki, *more: str) -> Any:
    return cli.call("build", *more, "--kb", "b.kb", "--api-url", wiki.api_url, check=True)


def held(cli: CommandLine) -> dict[str, str]:
    """Return scientific name -> common name of all entries; a genus or family article is marked by a star."""
    rows = json.loads(cli.call("species", "--kb", "b.kb", "--format", "json", check=True).stdout)
    marks = {"genus-article", "family-article"}
    return {row["scientific_name"]: row["common_name"] + "*" * bool(marks & set(row["notes"])) for row in rows}


def left_out(cli: CommandLine) -> dict[str, tuple[str, str]]:
    rows = json.loads(cli.call("status", "--kb", "b.kb", "--left-out", "--format", "json", check=True).stdout)
    return {row["name"]: (row["reason"], row["detail"]) for row in rows}


def checklist(cli: CommandLine) -> str:
    status = json.loads(cli.call("status", "--kb", "b.kb", "--format", "json", check=True).stdout)
    return str(status["checklist"])


def test_a_category_takes_species_of_all_kingdoms_and_tells_the_other_pages_apart(
    cli: CommandLine, wiki: OwnWiki
) -> None:
    build(cli, wiki, "--category", "Oddities")
    assert held(cli) == {
        "Vanessa atalanta": "Red admiral", "Malus domestica": "Apple", "Amanita muscaria": "Fly agaric",
        "Tiliqua": "Tiliqua*",
    }  # fmt: skip
    assert left_out(cli) == {
        "Vanessa": ("disambiguation", ""),
        "Vanessa (butterfly)": ("not a species", "genus Vanessa; its species have their own articles"),
        "Dark admiral": ("not a species", "subspecies Vanessa atalanta nigra"),
        "Garden crab": ("not a species", "hybrid Malus × hortensis"),
        "Apple mosaic": ("not a species", "virus Ilarvirus appli"),
        "List of butterflies": ("not a species", ""),
        "Noctua pronuba": ("no taxobox", "Noctua pronuba: --names takes it"),
        "Copper underwing": ("no taxobox", "Amphipyra pyramidea: --names takes it"),
        "Apple scab": ("about another subject", ""),
        "Frog legs": ("about another subject", ""),
        "The Swarm": ("about another subject", ""),
    }
    assert checklist(cli) == "wiki"
    shown = json.loads(cli.call("show", "Fly agaric", "--kb", "b.kb", "--format", "json", check=True).stdout)
    assert shown["taxon"]["lineage"] == {
        "kingdom": "Fungi", "phylum": "Basidiomycota", "class": "Agaricomycetes", "family": "Amanitaceae",
        "genus": "Amanita",
    }  # fmt: skip
    assert "genus article" in cli.call("show", "Tiliqua", "--kb", "b.kb", check=True).stdout
    assert "genus article 1" in cli.call("status", "--kb", "b.kb", check=True).stdout


def test_genera_and_families_enter_where_none_of_their_species_has_a_page(cli: CommandLine, wiki: OwnWiki) -> None:
    build(cli, wiki, "--taxon", "Mollusca")
    assert held(cli) == {
        "Arion fuscus": "Arion fuscus", "Selenochlamys ysbryda": "Ghost slug", "Ariolimax": "Banana slug*",
        "Vampyroteuthis infernalis": "Vampire Squid", "Meghimatium": "Meghimatium*", "Vaginulus": "Vaginulus*",
        "Naticidae": "Naticidae*",
    }  # fmt: skip
    covered = "its species have their own articles"
    assert left_out(cli) == {
        "Trigonochlamydidae": ("not a species", f"family Trigonochlamydidae; {covered}"),
        "Veronicellidae": ("not a species", f"family; {covered}"),
    }


def test_names_of_any_group_are_taken_from_pages_redirects_and_genus_articles(cli: CommandLine, wiki: OwnWiki) -> None:
    names = ["Vanessa atalanta", "Ariolimax columbianus", "Turdus merula", "Vampyroteuthis infernalis",
             "Echinocystis lobata", "Turdus merulla"]  # fmt: skip
    Path("names.txt").write_text("\n".join(names))
    build(cli, wiki, "--names", "names.txt")
    assert held(cli) == {
        "Vanessa atalanta": "Red admiral", "Turdus merula": "Common Blackbird", "Ariolimax": "Banana slug*",
        "Vampyroteuthis infernalis": "Vampire Squid", "Echinocystis lobata": "Echinocystis lobata",
    }  # fmt: skip
    found = left_out(cli)
    assert found["Ariolimax columbianus"] == ("in a genus or family article", "genus article Banana slug")
    assert found["Turdus merulla"][0] == "no page" and "Turdus merula" in found["Turdus merulla"][1]
    assert checklist(cli) == "AviList 2025, wiki"


def test_a_further_build_keeps_the_wiki_as_checklist_and_unknown_names_are_refused(
    cli: CommandLine, wiki: OwnWiki
) -> None:
    build(cli, wiki, "--checklist", "wiki", "--list", "List of butterflies")
    Path("names.txt").write_text("Amanita muscaria\n")
    build(cli, wiki, "--names", "names.txt")
    assert held(cli) == {"Vanessa atalanta": "Red admiral", "Amanita muscaria": "Fly agaric"}
    assert "Vanessa atalanta" in cli.call("taxa", "red admiral", "--kb", "b.kb", check=True).stdout
    assert "Did you mean Red admiral?" in cli.call("taxa", "red admirel", "--kb", "b.kb").stderr
    done = cli.call("build", "--taxon", "Lepidopteria", "--kb", "c.kb", "--api-url", wiki.api_url)
    assert done.exit_code == 5 and 'Unknown taxon "Lepidopteria": not in AviList 2025, nor in 127.0.0.1' in done.stderr
    assert "hint: The wiki has no page, category or list of that name; try --category" in done.stderr
