"""Species lists in common formats, read and matched with the species of a knowledge base."""

from pathlib import Path
from typing import Any

import pytest

from data.errors import BadInput
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import own_taxon
from kb.checklist.species_lists import MatchedNames, match_list, read_list

NAMES = ("Turdus merula", "Parus major", "Cardellina pusilla", "Hirundo rustica", "Tachyspiza badia")
KB = [taxon for name in NAMES if (taxon := load_checklist().find(name)) is not None]
ALL_YEAR = [0.1] * 48


def chart(*rows: tuple[str, list[float]]) -> str:
    """Return a bar chart in the layout of an eBird download."""
    head = "\nFrequency of observations in the selected location(s).:\t\n\nNumber of taxa:\t3\n\n\t\tJan\t\t\t\tFeb\n"
    sizes = "Sample Size:\t\t" + "\t".join(["120.0"] * 48) + "\t\n\n"
    return head + sizes + "".join(name + "\t" + "\t".join(map(str, row)) + "\t\n" for name, row in rows)


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "list.txt").write_text(text, encoding="utf-8")
    return tmp_path / "list.txt"


def matched(tmp_path: Path, text: str, known: Any = KB) -> MatchedNames:
    return match_list(read_list(written(tmp_path, text)), known)


def test_lists_of_all_formats_give_the_same_species(tmp_path: Path) -> None:
    for kind, text in (
        ("names", "# my patch\nTurdus merula\n\nGreat Tit\nWarbler, Wilson's\n"),
        ("names", "Turdus merula_Eurasian Blackbird\nParus major_Great Tit\nCardellina pusilla_Wilson's Warbler\n"),
        ("names", "\ufeffeurbla\r\ngretit1\r\nwlswar\r\n"),
        ("JSON", '[{"speciesCode": "eurbla"}, {"comName": "Great Tit"}, {"sciName": "Cardellina pusilla"}]'),
        ("table", "scientific_name,common_name\nTurdus merula,\nParus major,Great Tit\n,Wilson's Warbler\n"),
        ("table", "Row #,Category,Common Name,Scientific Name,Count\n1,species,Eurasian Blackbird,Turdus merula,1\n"
         "2,species,Great Tit,Parus major,X\n3,issf,Wilson's Warbler (pileolata),Cardellina pusilla pileolata,1\n"),
    ):  # fmt: skip
        assert read_list(written(tmp_path, text)).kind == kind, kind
        assert matched(tmp_path, text).taxon_ids == {"turdus-merula", "parus-major", "cardellina-pusilla"}, text


def test_a_bar_chart_gives_the_season_of_each_species(tmp_path: Path) -> None:
    text = chart(
        ('Barn Swallow (<em class="sci">Hirundo rustica</em>)', [0.0] * 16 + [0.25] * 20 + [0.0] * 12),
        ('Great Tit (Domestic type) (<em class="sci">Parus major (Domestic type)</em>)', ALL_YEAR),
        ("Wilson&#39;s Warbler", [0.0] * 47 + [0.01]),
        ('Eurasian Blackbird (<em class="sci">Turdus merula</em>)', [0.0] * 48),
        ('swallow sp. (<em class="sci">Hirundinidae sp.</em>)', ALL_YEAR),
        ('Great x Blue Tit (hybrid) (<em class="sci">Parus major x Cyanistes caeruleus</em>)', ALL_YEAR),
        ('Mesange bleue (<em class="sci">Cyanistes caeruleus</em>)', ALL_YEAR),
    )
    found = matched(tmp_path, text)
    assert read_list(written(tmp_path, text)).kind == "bar chart"
    assert found.taxon_ids == {"hirundo-rustica", "parus-major", "cardellina-pusilla"}, "zeros list no species"
    assert found.quarters["hirundo-rustica"] == set(range(15, 37)), "with a quarter before and after"
    assert found.quarters["cardellina-pusilla"] == {46, 47, 0}, "the year is a circle"
    assert found.quarters["parus-major"] == set(range(48))
    assert [name.reason for name in found.unmatched] == ["several species", "hybrid"]
    assert found.absent == ("Cyanistes caeruleus",)


def test_absent_species_differ_from_unknown_names_of_which_the_first_get_suggestions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.checklist.species_lists.MOST_SUGGESTED", 3)
    typos = [f"Northern Cardnal {number}" for number in range(4)]
    found = matched(tmp_path, "\n".join(["Turdus merula", "Corvus corax", "Western/Clark's Grebe", "Aves", *typos]))
    assert found.taxon_ids == {"turdus-merula"} and found.absent == ("Corvus corax",)
    reasons = ["several species", "not a species", *["unknown"] * 4]
    assert [name.reason for name in found.unmatched] == reasons
    assert [bool(name.suggestions) for name in found.unmatched[2:]] == [True, True, False, False]
    assert found.unmatched[2].suggestions[0] == "Northern Cardinal"


def test_names_of_the_knowledge_base_match_where_the_checklist_has_none(tmp_path: Path) -> None:
    """Not by English name where the checklist knows the binomial: that may mean another species there."""
    assert matched(tmp_path, "Accipiter badius\n").taxon_ids == {"tachyspiza-badia"}
    old = [Taxon(taxon_id="accipiter-badius", scientific_name="Accipiter badius", rank="species")]
    assert matched(tmp_path, "Tachyspiza badia\n", old).taxon_ids == {"accipiter-badius"}
    own = [*KB, own_taxon("Vanessa atalanta", common_names=["Song Thrush", "Red Admiral"])]
    assert matched(tmp_path, "red admiral\n", own).taxon_ids == {"vanessa-atalanta"}
    text = "scientific name,common name\nTurdus philomelos,Song Thrush\nParus major,Great Tit\n"
    found = matched(tmp_path, text, own)
    assert found.taxon_ids == {"parus-major"} and found.absent == ("Turdus philomelos",)


def test_files_without_a_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"File not found: .*x\.txt"):
        read_list(tmp_path / "x.txt")
    for content, message in (
        (b"# nothing\n\n", "found none"),
        (b"Turdus\0merula", "binary"),
    ):
        (tmp_path / "x.txt").write_bytes(content)
        with pytest.raises(BadInput, match=message):
            read_list(tmp_path / "x.txt")
    assert matched(tmp_path, "[" * 100_000).taxon_ids == frozenset(), "no JSON, no names"
    message = "line 2: the table has no column of names; its first row is beast, Count"
    with pytest.raises(BadInput, match=message) as caught:
        read_list(written(tmp_path, "# ours\nbeast,Count\nLesser Scaup,3\n"))
    known = str(caught.value.hint).removeprefix("Known headings: ").removesuffix(".").split(", ")
    assert len(known) > 3
    for heading in known:
        listed = read_list(written(tmp_path, f"{heading},Count\nAythya affinis,3\n"))
        assert [row.names for row in listed.rows] == [("Aythya affinis",)]


def test_families_of_a_list_stand_for_their_species(tmp_path: Path) -> None:
    found = matched(tmp_path, "Turdus Linnaeus, 1758\nParidae (Tits)\nHirundo rustica\nAves\n")
    assert found.taxon_ids == {"turdus-merula", "parus-major", "hirundo-rustica"}
    assert found.groups["Paridae (Tits)"] == {"parus-major"} and "Cyanistes caeruleus" in found.absent
    assert [missed.name for missed in found.unmatched] == ["Aves"]  # all birds are no expectation
    label = "11111111-2222-4333-8444-555555555503;aves;passeriformes;turdidae;;;turdidae family"
    assert matched(tmp_path, label).taxon_ids == {"turdus-merula"}
    records = matched(tmp_path, "scientificName,taxonRank\nParidae,FAMILY\nHirundo rustica,SPECIES\n")
    assert records.taxon_ids == {"hirundo-rustica"}  # a bird that was not identified


def test_a_third_word_in_a_column_of_its_own_counts() -> None:
    """*Pica pica* with the subspecies *hudsonia* is no Eurasian Magpie."""
    for text in (
        "Genus,Species,Subspecies\nPica,pica,hudsonia\n",
        "Species,Subspecies\nPica pica,Pica pica hudsonia\n",
        'scientificName,infraspecificEpithet\n"Pica pica (Linnaeus, 1758)",hudsonia\n',
    ):
        assert read_list(text.encode()).rows[0].names == ("Pica pica hudsonia",), text


def test_a_name_matched_without_its_bracket_or_third_word_is_told(tmp_path: Path) -> None:
    found = matched(tmp_path, "Great Tit (Old World)\nTurdus merula nonsensus\nBarn Swallow (White-bellied)\n")
    assert [(name.name, name.taxon.scientific_name) for name in found.partial] == [
        ("Great Tit (Old World)", "Parus major"), ("Turdus merula nonsensus", "Turdus merula"),
        ("Barn Swallow (White-bellied)", "Hirundo rustica"),
    ]  # fmt: skip
