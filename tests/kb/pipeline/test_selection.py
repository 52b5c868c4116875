from collections.abc import Iterator
from pathlib import Path

import pytest

import kb
from data.errors import BadInput, SourceError, UnknownTaxon
from data.records import LeftOut, PageRef, Taxon
from kb.checklist.avilist import load_checklist
from kb.pipeline.page_list import read_pages
from kb.pipeline.selection import (
    Selection,
    preview,
    require_species,
    select_from_folder,
    select_from_wiki,
    select_shipped,
)
from kb.sources.mediawiki.wiki_source import WikipediaSource
from tests.pages import PageSource, made_up_taxa
from tests.servers.faulty_wiki import FaultyWiki
from tests.toy.encoders import toy_encoders

ARTICLE = "The {0} is a bird. Its head is red."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Northern Cardinal", "Snowy Owl", "Unknown thing"):
        (tmp_path / "birds" / name).mkdir(parents=True)
        (tmp_path / "birds" / name / "article.txt").write_text(ARTICLE.format(name), encoding="utf-8")
    return tmp_path / "birds"


@pytest.fixture
def wiki() -> Iterator[FaultyWiki]:
    with FaultyWiki().running() as wiki:
        for name, binomial in (
            ("Northern cardinal", "Cardinalis cardinalis"), ("Merlin", "Falco columbarius"),
            ("Snowy owl", "Bubo scandiacus"),
        ):  # fmt: skip
            wiki.pages[name] = f"<p>The <b>{name}</b> ({binomial}) is a bird.</p>"
            wiki.wikitext[name] = f"The '''{name}''' (''{binomial}'') is a bird. {{{{Speciesbox|taxon={binomial}}}}}"
        wiki.pages["List of birds"] = "<ul>" + "".join(
            f'<li><a href="/wiki/{name}" title="{name}">{name}</a></li>' for name in ("Merlin", "Snowy owl")
        )
        wiki.wikitext["List of birds"] = "A list."
        wiki.categories["Category:Red birds"] = ["Northern cardinal", "Merlin"]
        yield wiki


def opened(wiki: FaultyWiki) -> WikipediaSource:
    return wiki.source()


def species_of(selection: Selection) -> set[str]:
    return {
        subject.scientific_name
        for subject, place in selection.located
        if isinstance(subject, Taxon) and isinstance(place, PageRef)
    }


def left_out_of(selection: Selection) -> dict[str, str]:
    return {place.name: place.reason for _, place in selection.located if isinstance(place, LeftOut)}


def test_taxa_narrow_the_shipped_knowledge() -> None:
    whole, owls = select_shipped(), select_shipped(["Strigiformes"])
    assert 0 < len(species_of(owls)) < len(species_of(whole))
    assert len(whole.terms) > 50
    with pytest.raises(BadInput, match="no species of Atrichornithidae"):
        select_shipped(["Atrichornithidae"])
    with pytest.raises(UnknownTaxon, match="Strigiforms"):
        select_shipped(["Strigiforms"])


def test_a_folder_selects_species_by_taxa_or_names_and_reports_the_others(folder: Path, tmp_path: Path) -> None:
    names, terms = tmp_path / "names.csv", tmp_path / "terms.txt"
    names.write_text("common_name\nSnowy Owl\nMerlin\nJabberwock\n", encoding="utf-8")
    terms.write_text("Mirror\nSpeculum\tSpeculum feathers\n", encoding="utf-8")
    whole = select_from_folder(folder, terms=terms)
    assert list(whole.terms) == [("Mirror", None), ("Speculum", "Speculum feathers")]
    assert species_of(whole) == {"Cardinalis cardinalis", "Bubo scandiacus"}
    assert left_out_of(select_from_folder(folder))["Unknown thing"] == "not in the checklist"
    assert species_of(select_from_folder(folder, ["Strigidae"])) == {"Bubo scandiacus"}
    assert species_of(select_from_folder(folder, names=names)) == {"Bubo scandiacus"}
    left_out = left_out_of(select_from_folder(folder, names=names))
    assert (left_out["Jabberwock"], left_out["Unknown thing"]) == ("not in the checklist", "not in the checklist")
    assert species_of(select_from_folder(folder, ["Falconidae"], names=names)) == set()


def test_genus_and_epithet_may_stand_in_two_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = tmp_path / "pages.csv"
    table.write_text("Mine\ngenus,species,url\nTurdus,merula,https://x.test/a\nRana,arvalis,https://x.test/b\n")
    pages = read_pages(table, load_checklist()).pages
    assert [taxon.scientific_name for taxon, _ in pages] == ["Turdus merula", "Rana arvalis"]
    assert "1 row above the heading skipped" in caplog.text


@pytest.mark.parametrize("heading", ["", "species,address\n"])
def test_an_address_is_never_cut_at_a_comma(tmp_path: Path, heading: str) -> None:
    """Nor is its row skipped."""
    table = tmp_path / "pages.csv"
    table.write_text(f"{heading}Great Tit,https://x.test/b\nMallard,https://x.test/a,b\n")
    with pytest.raises(BadInput, match=f"line {3 if heading else 2}"):
        read_pages(table, load_checklist())


def test_a_wiki_selects_by_taxon_list_or_category(wiki: FaultyWiki) -> None:
    cases: tuple[tuple[dict[str, str], list[str], set[str]], ...] = (
        ({}, ["Falconidae"], {"Falco columbarius"}),
        ({"list_page": "List of birds"}, [], {"Falco columbarius", "Bubo scandiacus"}),
        ({"list_page": "List of birds"}, ["Strigidae"], {"Bubo scandiacus"}),
        ({"category": "Red birds"}, [], {"Cardinalis cardinalis", "Falco columbarius"}),
        ({"category": "Red birds"}, ["Falconidae", "Strigidae"], {"Falco columbarius"}),
    )
    for pages, taxa, expected in cases:
        selection = select_from_wiki(lambda: opened(wiki), taxa, **pages)  # type: ignore[arg-type]  # titles
        assert species_of(selection) == expected
    assert "List of birds" in left_out_of(select_from_wiki(lambda: opened(wiki), ["Falconidae"]))


def test_selection_names_depend_on_species_or_page_titles(wiki: FaultyWiki) -> None:
    def named(taxon: str) -> str:
        return select_from_wiki(lambda: opened(wiki), [taxon]).name

    assert named("Merlin") == named("Falco columbarius") != named("Strigidae")
    before = select_from_wiki(lambda: opened(wiki), category="Red birds").name
    wiki.categories["Category:Red birds"].append("Snowy owl")
    assert select_from_wiki(lambda: opened(wiki), category="Red birds").name != before


def test_a_preview_counts_taxa_pages_and_reasons(wiki: FaultyWiki) -> None:
    found = preview(select_from_wiki(lambda: opened(wiki), ["Falco"]))
    assert (found.n_taxa, found.n_pages) == (39, 1)
    assert found.left_out["no page"] == 38
    assert preview(select_from_wiki(lambda: opened(wiki), category="Red birds"), limit=1).n_pages == 1
    assert not any(request.get("action") == "parse" for request in wiki.requests)


def test_a_build_without_a_species_fails_with_the_reasons(folder: Path, tmp_path: Path) -> None:
    encoders = toy_encoders()
    taxa = made_up_taxa(2)
    ids = [taxon.taxon_id for taxon in taxa]
    wrong = {"missing": PageSource(missing=ids), "failing": PageSource(failing=ids), "good": PageSource()}
    status = {name: kb.build(tmp_path / name, taxa, source, encoders) for name, source in wrong.items()}
    selections = {name: Selection(source=source, located=(), name="") for name, source in wrong.items()}
    require_species(status["good"], selections["good"])
    with pytest.raises(SourceError, match="None of the requested species were found in pages") as caught:
        require_species(status["missing"], selections["missing"])
    assert caught.value.hint == "Left out: no page 2"
    with pytest.raises(SourceError, match=r"First failure: .*: fetch: "):
        require_species(status["failing"], selections["failing"])
    with pytest.raises(BadInput, match="None of the requested species were found in folder"):
        require_species(status["missing"], select_from_folder(folder))
