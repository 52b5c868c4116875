"""Species lists in common formats, read and matched with the species of a knowledge base."""

from pathlib import Path
from typing import Any

import pytest

from data.errors import BadInput
from data.records import Taxon
from kb.checklist.avilist import load_checklist
from kb.checklist.selection import own_taxon
from kb.checklist.species_lists import ListedName, ListedNames, match_list, read_list


def taxa(*names: Any) -> Any:
    checklist = load_checklist()
    return [checklist.find(name) or own_taxon(name) for name in names]


KB = taxa("Turdus merula", "Parus major", "Cardellina pusilla", "Hirundo rustica", "Tachyspiza badia")
SUMMER = [0.0] * 16 + [0.25] * 20 + [0.0] * 12


def chart(*rows: Any) -> Any:
    """Return a bar chart in the layout of an eBird download."""
    head = "\nFrequency of observations in the selected location(s).:\t\n\nNumber of taxa:\t3\n\n"
    months = "\t\t" + "\t\t\t\t".join(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    )
    sizes = "Sample Size:\t\t" + "\t".join(["120.0"] * 48) + "\t\n\n"
    lines = [name + "\t" + "\t".join(map(str, frequencies)) + "\t\n" for name, frequencies in rows]
    return head + months + "\n" + sizes + "".join(lines)


def written(tmp_path: Path, text: Any) -> Any:
    path = tmp_path / "list.txt"
    path.write_text(text, encoding="utf-8")
    return path


def ids(tmp_path: Path, text: Any, known: Any = KB) -> Any:
    return match_list(read_list(written(tmp_path, text)), known).taxon_ids


def test_lists_of_all_formats_give_the_same_species(tmp_path: Path) -> None:
    for kind, text in (
        ("names", "# my patch\nTurdus merula\n\nGreat Tit\nWarbler, Wilson's\n"),
        ("names", "Turdus merula_Eurasian Blackbird\nParus major_Great Tit\nCardellina pusilla_Wilson's Warbler\n"),
        ("names", "eurbla\ngretit1\nwlswar\n"),
        ("names", "\ufeffturdus merula\r\nparus major\r\ncardellina pusilla\r\n"),
        ("JSON", '["eurbla", "gretit1", "wlswar"]'),
        ("JSON", '[{"speciesCode": "eurbla"}, {"comName": "Great Tit"}, {"sciName": "Cardellina pusilla"}]'),
        ("table", "scientific_name,common_name\nTurdus merula,\nParus major,Great Tit\n,Wilson's Warbler\n"),
        ("table", "Common name;Count\nCommon Blackbird;2\nGreat Tit;\nWilsons Warbler;1\n"),
        (
            "table",
            "Row #,Taxon Order,Category,Common Name,Scientific Name,Count\n"
            "1,1,species,Eurasian Blackbird,Turdus merula,1\n2,2,species,Great Tit,Parus major,X\n"
            "3,3,issf,Wilson's Warbler (pileolata),Cardellina pusilla pileolata,1\n",
        ),
        ("table", "COMMON NAME\tSCIENTIFIC NAME\nx\tTurdus merula\nx\tParus major\nx\tCardellina pusilla\n"),
    ):  # fmt: skip
        path = written(tmp_path, text)
        assert read_list(path).kind == kind, kind
        assert match_list(read_list(path), KB).taxon_ids == {"turdus-merula", "parus-major", "cardellina-pusilla"}, kind


def test_a_bar_chart_gives_the_season_of_each_species(tmp_path: Path) -> None:
    text = chart(
        ('Barn Swallow (<em class="sci">Hirundo rustica</em>)', SUMMER),
        ('Great Tit (<em class="sci">Parus major</em>)', [0.5] * 48),
        ("Wilson&#39;s Warbler", [0.0] * 47 + [0.01]),
        ('Eurasian Blackbird (<em class="sci">Turdus merula</em>)', [0.0] * 48),
        ("swallow sp.", [0.1] * 48),
    )
    listed = read_list(written(tmp_path, text))
    matched = match_list(listed, KB)
    assert listed.kind == "bar chart"
    assert matched.taxon_ids == {"hirundo-rustica", "parus-major", "cardellina-pusilla"}, "zeros list no species"
    assert matched.quarters["hirundo-rustica"] == set(range(15, 37)), "with a quarter before and after"
    assert matched.quarters["cardellina-pusilla"] == {46, 47, 0}, "the year is a circle"
    assert matched.quarters["parus-major"] == set(range(48))
    assert [(name.name, name.reason) for name in matched.unmatched] == [("swallow sp.", "several species")]


def test_bar_chart_rows_other_than_species_are_unmatched(tmp_path: Path) -> None:
    all_year = [0.1] * 48
    text = chart(
        ('Great Tit (Domestic type) (<em class="sci">Parus major (Domestic type)</em>)', all_year),
        ('swallow sp. (<em class="sci">Hirundinidae sp.</em>)', all_year),
        ('Great/Coal Tit (<em class="sci">Parus major/Periparus ater</em>)', all_year),
        ('Great x Blue Tit (hybrid) (<em class="sci">Parus major x Cyanistes caeruleus</em>)', all_year),
        ('Mesange bleue (<em class="sci">Cyanistes caeruleus</em>)', all_year),
    )
    matched = match_list(read_list(written(tmp_path, text)), KB)
    assert matched.taxon_ids == {"parus-major"}
    assert matched.absent == ("Cyanistes caeruleus",)
    assert [name.reason for name in matched.unmatched] == ["several species", "several species", "hybrid"]


def test_species_absent_from_the_knowledge_base_differ_from_unknown_names(tmp_path: Path) -> None:
    text = "Turdus merula\nCorvus corax\nParus majro\nWestern/Clark's Grebe\nTurdus\n"
    matched = match_list(read_list(written(tmp_path, text)), KB)
    assert matched.taxon_ids == {"turdus-merula"}
    assert matched.absent == ("Corvus corax",)
    reasons = {name.name: name.reason for name in matched.unmatched}
    assert reasons == {
        "Parus majro": "unknown", "Western/Clark's Grebe": "several species", "Turdus": "not a species"
    }  # fmt: skip
    assert "Parus major" in next(name.suggestions for name in matched.unmatched if name.name == "Parus majro")


def test_synonyms_match_in_both_directions(tmp_path: Path) -> None:
    assert ids(tmp_path, "Accipiter badius\n") == {"tachyspiza-badia"}
    old = [Taxon(taxon_id="accipiter-badius", scientific_name="Accipiter badius", rank="species")]
    assert ids(tmp_path, "Tachyspiza badia\n", old) == {"accipiter-badius"}


def test_species_outside_the_checklist_match_by_knowledge_base_names(tmp_path: Path) -> None:
    own = [own_taxon("Vanessa atalanta", common_names=["Red Admiral"])]
    assert ids(tmp_path, "red admiral\n", own) == ids(tmp_path, "Vanessa atalanta\n", own) == {"vanessa-atalanta"}


def test_a_known_binomial_takes_precedence_over_the_english_name(tmp_path: Path) -> None:
    """The knowledge base may use that English name for another species."""
    own = [*KB, own_taxon("Vanessa atalanta", common_names=["Song Thrush"])]
    listed = "scientific name,common name\nTurdus philomelos,Song Thrush\nParus major,Great Tit\n"
    matched = match_list(read_list(written(tmp_path, listed)), own)
    assert (matched.taxon_ids, matched.absent) == ({"parus-major"}, ("Turdus philomelos",))


def test_a_species_listed_once_without_season_has_none() -> None:
    lines = (
        ListedName(names=("Hirundo rustica",), quarters=frozenset([20])),
        ListedName(names=("Barn Swallow",)),
        ListedName(names=("Turdus merula",), quarters=frozenset([0])),
    )
    matched = match_list(ListedNames(kind="bar chart", lines=lines), KB)
    assert matched.taxon_ids == {"hirundo-rustica", "turdus-merula"}
    assert matched.quarters == {"turdus-merula": {47, 0, 1}}


def test_only_the_first_unknown_names_get_suggestions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.checklist.species_lists.MOST_SUGGESTED", 3)
    names = [f"Northern Cardnal {number}" for number in range(5)]
    missed = match_list(read_list(written(tmp_path, "\n".join([*names, "Turdus merula"]))), KB).unmatched
    assert [name.name for name in missed] == names
    assert [bool(name.suggestions) for name in missed] == [True] * 3 + [False] * 2


def test_a_table_without_a_column_of_names_is_refused_with_the_known_headings(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("# ours\nbird,Count\nLesser Scaup,3\n")
    with pytest.raises(
        BadInput, match="line 2: the table has no column of names; its first row is bird, Count"
    ) as caught:
        read_list(path)
    known = str(caught.value.hint).removeprefix("Known headings: ").removesuffix(".").split(", ")
    assert len(known) > 3
    for heading in known:
        path.write_text(f"{heading},Count\nAythya affinis,3\n")
        assert read_list(path).lines == (ListedName(names=("Aythya affinis",)),)


def test_files_without_a_list_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    with pytest.raises(BadInput, match=r"File not found: .*x\.txt"):
        read_list(path)
    for content, message in (
        (b"# nothing\n\n", "found none"),
        (b"\x89PNG\r\n\x1a\n\0\0", "UTF-8|binary"),
        (b"Turdus\0merula", "binary"),
        ("Rüppell".encode("utf-16"), "UTF-8|binary"),
    ):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=message):
            read_list(path)
    for text in ("[" * 100_000, "[" + "9" * 10_000 + "]"):
        assert match_list(read_list(written(tmp_path, text)), KB).taxon_ids == frozenset(), "no JSON, no names"


def test_names_in_two_columns_are_joined_and_repeated_rows_count_once(tmp_path: Path) -> None:
    for heading in ("Genus,Species,Name", "genus,specificEpithet,common_name"):
        listed = read_list(written(tmp_path, f"{heading}\nTurdus,merula,\nParus,major,Great Tit\nParus,major,Tit\n"))
        assert [line.names[0] for line in listed.lines] == ["Turdus merula", "Parus major"]
