"""Names of other lists: spellings, parts of scientific names, tables of names, and birds among species."""

from pathlib import Path
from typing import Any

import pytest

from data.errors import BadInput, UnknownTaxon
from data.records import LeftOut, Taxon
from kb.checklist.avilist import is_bird, load_checklist, profile_for
from kb.checklist.name_files import NamesFile, has_names_or_ranks
from kb.checklist.names import epithet_stem, fold, name_key, near_names, parse_name
from kb.checklist.names_table import read_names
from kb.checklist.selection import select
from kb.checklist.shelf import checklist_of_species, is_of_build
from kb.checklist.species_lists import read_list
from kb.pipeline.selection import N_ASKED, Selection, with_profile
from kb.sources.folder import OwnSource
from recognize.settings import BIRD_PROFILE, GENERAL_PROFILE

CHECKLIST = load_checklist()
PARTS = {
    "VANESSA ATALANTA LINNAEUS, 1758": ("Vanessa atalanta", "species"),
    "NYMPHALIDAE RAFINESQUE, 1815": ("Nymphalidae", ""),
    "SALIX ALBA VAR. VITELLINA": ("Salix alba var. vitellina", "variety"),
    "MENTHA X PIPERITA": ("Mentha × piperita", "species"), "Vanessa FABRICIUS, 1807": ("Vanessa", ""),
    "Coccinella 7-punctata Linnaeus, 1758": ("Coccinella 7-punctata", "species"),
    "Papilio d'urvillei": ("Papilio d'urvillei", "species"), "Aus bus d’Abrera, 1980": ("Aus bus", "species"),
    "Candidatus Phytoplasma asteris": ("Phytoplasma asteris", "species"),
    "Tobacco mosaic virus": ("Tobacco mosaic virus", "species"),
    "Pelophylax kl. esculentus (Linnaeus, 1758)": ("Pelophylax esculentus", "species"),
    "Bufo bufo s. str.": ("Bufo bufo", "species"), "Aus bus sp. nov.": ("Aus bus", "species"),
    "Aus subg. Bus cus Smith": ("Aus cus", "species"),
    "Amanita Pers. sect. Phalloideae (Fr.) Quél.": ("Amanita sect. Phalloideae", "section"),
    "Carica papaya L. f.": ("Carica papaya", "species"),
    "Lonicera japonica Thunb. f. alba": ("Lonicera japonica f. alba", "form"),
    "Rosa 'Peace'": ("Rosa 'Peace'", "cultivar"),
    "Brassica oleracea Capitata Group": ("Brassica oleracea Capitata Group", "cultivar"),
    "Anas acuta L. × Anas crecca L.": ("Anas acuta L. × Anas crecca L.", "hybrid"),
    "Aus n. sp. 1": ("Aus n. sp. 1", "unnamed"), "cf. Aus bus": ("cf. Aus bus", "unnamed"),
    "BOLD:AAA1234": ("BOLD:AAA1234", ""), "×": ("", ""),
}  # fmt: skip
TABLE = """\
Scientific Name;common_name;common_name_de;synonyms;kingdom;family;site
"Papilio machaon Linnaeus, 1758";Swallowtail;Schwalbenschwanz;Papilio sphyrus|Papilio aliaska;Animalia;Papilionidae;fen
Pikachu;;;;;Pokemon;
"""


def taxon(name: str, **lineage: str) -> Taxon:
    return Taxon(taxon_id=name.lower().replace(" ", "-"), scientific_name=name, rank="species", lineage=lineage)


def table(tmp_path: Path, text: str = TABLE) -> Path:
    (tmp_path / "names.csv").write_text(text, encoding="utf-8")
    return tmp_path / "names.csv"


def test_names_are_compared_regardless_of_spelling_and_ending() -> None:
    for one, other in (
        ("Black-crowned Night-Heron", "black crowned night heron"), ("Rüppell’s Gray Parrot", "Ruppell's Grey Parrot"),
        ("Hawaiʻi ʻElepaio", "Hawaii Elepaio"), ("Bjørn's Tærn", "bjorns taern"), ("зяблик", "ЗЯБЛИК"),
    ):  # fmt: skip
        assert fold(one) == fold(other)
    assert fold("зяблик") != fold("снегирь") != ""
    assert [epithet_stem(name) for name in ("Motacilla alba", "Motacilla albus", "Foo a")] == ["alb", "alb", "a"]
    names = ["snowyowls", "showyowls", "snowyowl", "sootyowl", "mallard", "snowyplover"]
    assert near_names("snowyowll", names) == ["snowyowl", "snowyowls"]
    assert near_names("plover", names) == ["snowyplover"]


def test_a_scientific_name_has_its_words_and_rank() -> None:
    assert {written: parse_name(written)[:2] for written in PARTS} == PARTS
    for written in ("Bufo bufo agg.", "Bufo bufo complex", "Bufo bufo species group"):
        assert parse_name(written) == ("Bufo bufo", "species", True)
    assert parse_name("Bufo bufo") == ("Bufo bufo", "species", False)
    assert name_key("Pelophylax kl. esculentus") == name_key("Pelophylax esculentus")
    assert name_key("Salix alba var. vitellina") == name_key("Salix alba vitellina")


NAMES_OF_ROWS: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "the most specific heading": (
        "Species,Scientific name\nBlackbird,Turdus merula\nRed Fox,Vulpes vulpes\n",
        [("Turdus merula", "Blackbird"), ("Vulpes vulpes", "Red Fox")],
    ),
    "a heading of another country": (
        "Art;Wissenschaftlicher Name;Deutscher Name\nx;Turdus merula;Amsel\n", [("Turdus merula", "x", "Amsel")],
    ),
    "words in another order": ("NAME_SPECIES;LATIN_SPECIES\nAmsel;Turdus merula\n", [("Turdus merula", "Amsel")]),
    "words joined": ("mainCommonName,scientificName\nGreat Tit,Parus major\n", [("Parus major", "Great Tit")]),
    "English names as species": ("Species,n\nRed fox,1\nRoe deer,2\nEuropean badger,1\n",
                                 [("Red fox",), ("Roe deer",), ("European badger",)]),
    "scientific names as species": ("Species;Nombre común\nParus major;Carbonero\n", [("Parus major", "Carbonero")]),
    "no scientific names in their column": (
        "Scientific name,Taxon\nmagpie,Pica pica\nowl,Bubo bubo\n", [("Pica pica",), ("Bubo bubo",)],
    ),
    "genus and species": ("class,genus,species,common_name\nAves,Tyto,alba,Owl\nAves,,,Bird\nAves,No CV,No CV,Blank\n",
                          [("Tyto alba", "Owl"), ("Bird",), ("Blank",)]),
    "empty cells of R": ('"","scientificName","commonName","class"\n"1",NA,"Great Tit","Aves"\n"2",NA,NA,"Aves"\n',
                         [("Great Tit",), ("Aves",)]),
    "letters with strokes": ("Nazwa łacińska;n\nPica pica;1\n", [("Pica pica",)]),
    "an unknown heading over scientific names": ("Vogel;lat. Bez.\nAmsel;Turdus merula\nElster;Pica pica\n",
                                                 [("Turdus merula",), ("Pica pica",)]),
    "an unknown heading beside English names": ("name,lat\nRook,Corvus frugilegus\n", [("Corvus frugilegus", "Rook")]),
    "a title above it": ("Birds of Northland\nVogel;lat. Bez.\nAmsel;Turdus merula\nElster;Pica pica\n",
                         [("Turdus merula",), ("Pica pica",)]),
    "no heading": ("1;Turdus merula;Amsel\n2;Pica pica;Elster\n", [("Turdus merula",), ("Pica pica",)]),
    "counts beside names": ("12\tCanada Goose\n3\tMallard\n", [("Canada Goose",), ("Mallard",)]),
    "names in lower case": ("species,common_name\nodocoileus virginianus,Deer\n", [("odocoileus virginianus", "Deer")]),
    "genera and species in capitals": ("GENUS,SPECIES\nPARUS,MAJOR\n", [("Parus major",)]),
    "a space for a separator, as of R": ('"species" "n"\n"1" "Pica pica" 3\n', [("Pica pica",)]),
    "families": ("family\nGruidae\n", [("Gruidae",)]),
    "a comment": ("species\n#Parus major\nPica  pica\n", [("Pica pica",)]),
    "lines": ("# mine\nPica  pica\nWarbler, Wilson's\n", [("Pica pica",), ("Warbler, Wilson's",)]),
    "lines with entities": ("Cooper&#39;s Hawk\n", [("Cooper's Hawk",)]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "names"), NAMES_OF_ROWS.values(), ids=NAMES_OF_ROWS)
def test_columns_of_names_are_found_by_meaning_and_cells(text: str, names: list[tuple[str, ...]]) -> None:
    assert [row.names for row in NamesFile(text.encode(), needed=has_names_or_ranks).rows()] == names


def test_rows_without_a_name_and_unused_columns_are_told() -> None:
    file = NamesFile(b"species,count,site\nParus major,1,a\n,2,b\nNA,3,c\n", "names.csv")
    assert [row.line for row in file.rows()] == [2]
    assert file.notes() == ["2 rows without a name skipped", "2 columns not used: count, site"]
    for text in ("x,lat\n1,Pica pica\n2,Bubo bubo\n", "name,lat\nRook,Corvus frugilegus\n"):
        assert any("read as scientific names" in note for note in NamesFile(text.encode()).notes())


def test_a_table_with_names_in_another_language_alone_is_read(tmp_path: Path) -> None:
    (robin,) = read_names(table(tmp_path, "Deutscher Name;Ort\nRotkehlchen;A\n"), CHECKLIST).taxa
    assert robin.scientific_name == "Erithacus rubecula"


def test_a_row_gives_synonyms_ranks_and_names_by_language(tmp_path: Path) -> None:
    species = read_names(table(tmp_path), CHECKLIST).taxa
    assert species[0] == Taxon(
        taxon_id="papilio-machaon", scientific_name="Papilio machaon", rank="species", common_names=("Swallowtail",),
        lineage={"kingdom": "Animalia", "family": "Papilionidae", "genus": "Papilio"},
        synonyms=("Papilio sphyrus", "Papilio aliaska"), names_by_language={"de": ("Schwalbenschwanz",)},
    )  # fmt: skip
    assert read_list(table(tmp_path)).notes == ("1 column not used: site",)
    made = checklist_of_species(species, tmp_path / "c.sqlite", "names")
    assert (made.name, made.n_species, is_of_build(made), is_of_build(CHECKLIST)) == ("names", 2, True, False)
    for name in ("Papilio aliaska", "schwalbenschwanz", "Swallowtail"):
        assert made.find(name) == species[0]
    again = checklist_of_species(species, tmp_path / "d.sqlite", "names")
    assert again.digest == made.digest != checklist_of_species(species[:1], tmp_path / "e.sqlite", "names").digest
    assert read_list(table(tmp_path, "Snowy Owl\nMerlin\n")).notes == ()
    (owl,) = read_names(table(tmp_path, "common_name,common_name_de\nSnowy Owl,Schneeeule\n"), CHECKLIST).taxa
    assert (owl.common_name, owl.names_by_language) == ("Snowy Owl", {"de": ("Schneeeule",)})
    other_class = table(tmp_path, "scientific_name,common_name,class\nPsyche nova,Snowy Owl,Insecta\n")
    assert [each.taxon_id for each in read_names(other_class, CHECKLIST).taxa] == ["psyche-nova"]


def test_birds_are_told_from_others_and_the_first_species_choose_the_profile() -> None:
    owl, admiral = taxon("Bubo scandiacus"), taxon("Vanessa atalanta", **{"class": "Insecta"})
    birds = (owl, taxon("Avis nova", **{"class": "Aves"}), taxon("Avis nova", order="Passeriformes"))
    others = (admiral, taxon("Vanessa atalanta"), taxon("Prunella vulgaris", genus="Prunella"),
              taxon("Prunella vulgaris", kingdom="Plantae", order="Passeriformes"))  # fmt: skip
    assert [is_bird(each) for each in (*birds, *others)] == [True] * 3 + [False] * 4
    assert (profile_for([owl, *birds]), profile_for([owl, admiral])) == (BIRD_PROFILE, GENERAL_PROFILE)
    asked = []

    def located(*taxa: Taxon) -> Any:
        yield "Nothing", LeftOut(name="Nothing", reason="no page")
        for number in range(10 * N_ASKED):
            asked.append(number)
            yield taxa[number % len(taxa)], None

    for taxa, expected in (((admiral, owl), GENERAL_PROFILE), ((owl,), BIRD_PROFILE)):
        asked.clear()
        profile, left = with_profile(Selection(source=OwnSource(), located=located(*taxa), name=""))
        assert (profile, len(asked)) == (expected, N_ASKED - 1)
        assert [each for each, _ in left.located][:2] == ["Nothing", taxa[0]] and len(asked) == 10 * N_ASKED
    assert with_profile(Selection(source=OwnSource(), located=iter(()), name=""))[0] == BIRD_PROFILE


def test_an_unknown_taxon_is_refused_with_suggestions() -> None:
    with pytest.raises(UnknownTaxon, match='Unknown taxon "Strigiforms": not in AviList 2025') as caught:
        select(CHECKLIST, "Strigiforms")
    assert (caught.value.hint or "").startswith("Did you mean Strigiformes")
    for taxon, n in (("Northern Cardinal", 1), ("  cardinalis   cardinalis ", 1), ("Cardinalis", 3)):
        assert len(select(CHECKLIST, taxon)) == n


def test_tables_and_lists_of_names_are_read(tmp_path: Path) -> None:
    for text in (
        "scientific_name,common_name\nCardinalis cardinalis,Northern Cardinal\nUpupa epops,\n",
        "Common Name;Scientific Name\r\nNorthern Cardinal;Cardinalis cardinalis\r\nEurasian Hoopoe;Upupa epops\r\n",
        "\ufeffcommon_name\nnorthern cardinal\neurasian hoopoe\nNORTHERN CARDINAL\n",
        "Cardinalis cardinalis\n\n# the old world\nEurasian Hoopoe\n",
        "Cardinalis cardinalis",
        "scientificName\nCardinalis cardinalis (Linnaeus, 1758)\nUpupa epops Linnaeus, 1758\n",
    ):
        species = [taxon.scientific_name for taxon in read_names(table(tmp_path, text), CHECKLIST).taxa]
        assert species == ["Cardinalis cardinalis", "Upupa epops"][: 1 if "\n" not in text else 2], text
    meant = {  # by the same rules as in `kb taxa`
        "Pica pica hudsonia": "Pica hudsonia", "Hooded Crow": "Corvus corone", "norcar": "Cardinalis cardinalis",
        "Herring Gull (American)": "Larus smithsonianus", "Amsel": "Turdus merula",
    }  # fmt: skip
    found = read_names(table(tmp_path, "\n".join(meant)), CHECKLIST).taxa
    assert [taxon.scientific_name for taxon in found] == list(meant.values())
    frogs = read_names(table(tmp_path, "scientific name,common name\nHyla nova,Amsel\n"), CHECKLIST)
    assert [taxon.taxon_id for taxon in frogs.taxa] == ["hyla-nova"]  # an everyday name may be a frog's too
    several = read_names(table(tmp_path, "Robin\nLarus sp.\nGruidae\nPica pica\n"), CHECKLIST).left_out
    reasons = ["name of several taxa", "not a species", "not a species"]
    assert [each.reason for each in several] == reasons and several[1].detail == "line 2: genus only"
    english = read_names(table(tmp_path, "scientific name,class\nRed Fox,Mammalia\nPica pica,Aves\n"), CHECKLIST)
    assert [taxon.scientific_name for taxon in english.taxa] == ["Pica pica"]
    rows = read_names(table(tmp_path, "common_name\nNorthern Cardinal\nnorthen cardinl\n"), CHECKLIST)
    assert (len(rows.taxa), rows.left_out[0].name, rows.left_out[0].reason) == (
        1, "northen cardinl", "not in the checklist",
    )  # fmt: skip
    assert rows.left_out[0].detail.startswith("line 3; did you mean Northern Cardinal")


def test_a_table_can_add_names_of_one_word_but_no_genera(tmp_path: Path) -> None:
    text = (
        "scientific_name,common_name,class\nPikachu,,Pokemon\nBulbasaur,Bulbasaur,\nEevee,,\neevee,,Pokemon\n"
        "Turdus,,Aves\nTurduss,,Aves\nVanessa,,Insecta\nVanessa atalanta,,Insecta\nRana sp.,a frog,\n"
    )
    found = read_names(table(tmp_path, text), CHECKLIST)
    assert [taxon.taxon_id for taxon in found.taxa] == ["pikachu", "bulbasaur", "vanessa-atalanta"]
    assert found.taxa[0].lineage == {"class": "Pokemon"}
    assert [row.name for row in found.left_out] == ["Eevee", "eevee", "Turdus", "Turduss", "Vanessa", "Rana sp."]


def test_a_bad_table_is_refused_with_the_reason_and_line(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    for content, message in (
        ("", "found none"),
        ("id,notes\n1,red\n", "line 1: the table has no column of names; its first row is id, notes"),
        ("scientific_name,notes\n,y\n", "no row has a name"),
        ("scientific_name\nFoo barus\n", "none of the names are in AviList 2025"),
        ("a\0b", "binary file"),
    ):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(BadInput, match=message):
            read_names(path, CHECKLIST)
    with pytest.raises(BadInput, match="File not found"):
        read_names(tmp_path / "none.csv", CHECKLIST)
    with pytest.raises(BadInput, match="cannot be read"):
        read_names(tmp_path, CHECKLIST)
