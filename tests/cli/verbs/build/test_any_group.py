"""`kb build` of any group from a real MediaWiki, and pages that are no species."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MEDIAWIKI, CommandLine
from tests.servers.own_wiki import BIRDS, OwnWiki, running

pytestmark = pytest.mark.integration

# As in today's Wikipedia, `Taxonomy` templates state the classification, so that only the rendered page has it.
HEAD = '{| class="infobox biota"\n! colspan="2" | {{{name}}}\n|-\n'
BINOMIAL = '| Binomial || <span class="binomial">{{{genus}}} {{{species}}}</span>\n|}'
TRINOMIAL = '| Trinomial || <span class="trinomial">{{{genus}}} {{{species}}} {{{subspecies}}}</span>\n|}'
RANKS = {
    "Vanessa": "Kingdom Animalia, Class Insecta, Order Lepidoptera, Family Nymphalidae, Genus Vanessa",
    "Amanita": "Kingdom Fungi, Division Basidiomycota, Class Agaricomycetes, Family Amanitaceae, Genus Amanita",
    "Tiliqua": "Kingdom Animalia, Class Reptilia, Family Scincidae, Genus Tiliqua",
}
ODD = {
    "Red admiral": "{{Speciesbox|name=Red admiral|genus=Vanessa|species=atalanta|authority=([[Linnaeus]], 1758)}}\n"
    "The '''red admiral''' (''Vanessa atalanta'') is a butterfly.\n\n== Description ==\n"
    "The upperside of the wings is black with a red band.",
    "Vanessa (butterfly)": "{{Automatic taxobox|name=Vanessa|taxon=Vanessa}}\n'''''Vanessa''''' is a genus.",
    "Vanessa": "'''Vanessa''' may refer to:\n* [[Vanessa (butterfly)]]\n{{disambiguation}}",
    "Fly agaric": "{{Speciesbox|name=Fly agaric|genus=Amanita|species=muscaria}}\n"
    "The '''fly agaric''' is a mushroom.\n\n== Description ==\nThe cap is red with white warts.",
    "Tiliqua": "{{Automatic taxobox|name=Blue-tongued skink|taxon=Tiliqua}}\n"
    "'''''Tiliqua''''' is a genus of lizards.\n\n== Description ==\nThe tongue is blue.",
    "Dark admiral": "{{Subspeciesbox|name=Dark admiral|genus=Vanessa|species=atalanta|subspecies=nigra}}\nA form.",
    "Noctua pronuba": "'''''Noctua pronuba''''', the large yellow underwing, is a moth.\n\n"
    "== Description ==\nThe forewings are brown.",
    "Frog legs": "{{Infobox food|name=Frog legs}}\n'''Frog legs''' are a dish.",
    "List of butterflies": "* [[Red admiral]]\n* [[Vanessa cardui]]",
}
PAGES = {
    **{
        f"Template:Taxonomy/{genus}": "".join(f"| {each.replace(' ', ': || ')}\n|-\n" for each in ranks.split(", "))
        for genus, ranks in RANKS.items()
    },
    "Template:Speciesbox": f"{HEAD}{{{{Taxonomy/{{{{{{genus}}}}}}}}}}\n{BINOMIAL}",
    "Template:Automatic taxobox": f"{HEAD}{{{{Taxonomy/{{{{{{taxon}}}}}}}}}}\n|}}",
    "Template:Subspeciesbox": f"{HEAD}{{{{Taxonomy/{{{{{{genus}}}}}}}}}}\n{TRINOMIAL}",
    **{title: f"{text}\n[[Category:Oddities]]" for title, text in ODD.items()},
    "Template:Infobox food": "<b>{{{name}}}</b>",
}


@pytest.fixture(scope="module")
def wiki(mediawiki: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnWiki]:
    with running(mediawiki, tmp_path_factory.mktemp("any"), birds=BIRDS[:2], more=PAGES) as own:
        yield own


def build(cli: CommandLine, wiki: OwnWiki, *more: str) -> Any:
    return cli.call("build", *more, "--kb", "b.kb", "--api-url", wiki.api_url, check=True)


def found_by(cli: CommandLine, *arguments: str) -> Any:
    return json.loads(cli.call(*arguments, "--kb", "b.kb", "--format", "json", check=True).stdout)


def held(cli: CommandLine) -> dict[str, str]:
    return {row["scientific_name"]: row["common_name"] for row in found_by(cli, "species")}


def test_a_category_takes_species_of_all_kingdoms_and_tells_the_other_pages_apart(
    cli: CommandLine, wiki: OwnWiki
) -> None:
    build(cli, wiki, "--category", "Oddities")
    assert held(cli) == {"Vanessa atalanta": "Red admiral", "Amanita muscaria": "Fly agaric", "Tiliqua": "Tiliqua"}
    assert {row["name"]: (row["reason"], row["detail"]) for row in found_by(cli, "status", "--left-out")} == {
        "Vanessa": ("disambiguation", ""),
        "Vanessa (butterfly)": ("not a species", "genus Vanessa; its species have their own articles"),
        "Dark admiral": ("not a species", "subspecies Vanessa atalanta nigra"),
        "List of butterflies": ("not a species", ""),
        "Noctua pronuba": ("no taxobox", "Noctua pronuba: --names takes it"),
        "Frog legs": ("about another subject", ""),
    }
    assert found_by(cli, "status")["checklist"] == "wiki"
    assert found_by(cli, "show", "Fly agaric")["taxon"]["lineage"] == {
        "kingdom": "Fungi", "phylum": "Basidiomycota", "class": "Agaricomycetes", "family": "Amanitaceae",
        "genus": "Amanita",
    }  # fmt: skip
    assert "genus article" in cli.call("show", "Tiliqua", "--kb", "b.kb", check=True).stdout


def test_a_further_build_keeps_the_wiki_as_checklist_and_unknown_names_are_refused(
    cli: CommandLine, wiki: OwnWiki
) -> None:
    build(cli, wiki, "--checklist", "wiki", "--list", "List of butterflies")
    Path("names.txt").write_text("Amanita muscaria\n")
    build(cli, wiki, "--names", "names.txt")
    assert held(cli) == {"Vanessa atalanta": "Red admiral", "Amanita muscaria": "Fly agaric"}
    assert "Vanessa atalanta" in cli.call("taxa", "red admiral", "--kb", "b.kb", check=True).stdout
    done = cli.call("build", "--taxon", "Lepidopteria", "--kb", "c.kb", "--api-url", wiki.api_url)
    assert done.exit_code == 5 and 'Unknown taxon "Lepidopteria": not in AviList 2025, nor in 127.0.0.1' in done.stderr
    assert "hint: The wiki has no page, category or list of that name; try --category" in done.stderr


def test_a_private_wiki_needs_a_bot_password(cli: CommandLine, wiki: OwnWiki, monkeypatch: pytest.MonkeyPatch) -> None:
    password = "0123456789abcdefghijklmnopqrstuv"
    environment = {"MW_CONFIG_FILE": str(wiki.state / "LocalSettings.php")}
    script = MEDIAWIKI / "maintenance/createBotPassword.php"
    command = ["php", script, "--appid=Field", "--grants=basic", "Admin", password]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    wiki.configure("$wgGroupPermissions['*']['read'] = false;", lambda answer: "error" in answer)
    asked = ["build", "--list", "List of butterflies", "--checklist", "wiki", "--kb", "p.kb", "--api-url", wiki.api_url]
    done = cli.call(*asked)
    assert done.exit_code == 3 and "is a private wiki, which only its users may read" in done.stderr
    monkeypatch.setenv("FIELDMARK_WIKI_USER", "Admin@Field")
    monkeypatch.setenv("FIELDMARK_WIKI_PASSWORD", password)
    cli.call(*asked, check=True)
    cli.call("update", "--kb", "p.kb", "--api-url", wiki.api_url, check=True)
    shown = cli.call("context", "a red admiral", "--wiki", "--kb", "p.kb", "--api-url", wiki.api_url, check=True)
    assert "butterfly" in shown.stdout
    assert not any(password.encode() in file.read_bytes() for file in Path("p.kb").rglob("*") if file.is_file())
