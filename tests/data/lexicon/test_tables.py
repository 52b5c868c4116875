"""Tables and words of the lexicon: complete, without conflicts, and chosen by animal group."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from data.lexicon import tables
from data.lexicon.appearance import appearance
from data.lexicon.tables import BIRDS, COMMON, column, group_names, lines_of, near_colours, near_parts, rows
from data.lexicon.taxa import GENERAL, group_of_taxon
from data.lexicon.word_groups import OTHER_GROUPS, VISUAL_GROUPS, equations, group_of, groups
from recognize.starter.lexicon import ATTRIBUTES, PARTS

TABLES = ("colours", "looks", "markings", "parts", "sexes")


@pytest.fixture
def frogs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A second animal group with its own words."""
    folder = tmp_path / "frogs"
    folder.mkdir()
    (tmp_path / "common").mkdir()
    (tmp_path / "groups.txt").write_text("group  extends\nfrogs  common\n", encoding="utf-8")
    (tmp_path / "common" / "colours.txt").write_text("word  field_mark\nlime  yellow\nred   red\n", encoding="utf-8")
    (tmp_path / "common" / "words.txt").write_text("[colour]\ntympanum red\n", encoding="utf-8")
    (folder / "words.txt").write_text("[part]\ntympanum  # an ear\n[synonym]\nbelly=venter\n", encoding="utf-8")
    (folder / "colours.txt").write_text("word   field_mark\n\nlime   green\nglass  -\n", encoding="utf-8")
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    tables._rows.cache_clear()
    yield "frogs"
    tables._rows.cache_clear()
    for cached in (column, groups, tables.folders):
        cached.cache_clear()


def test_a_group_adds_to_the_common_words_and_its_own_win(frogs: str) -> None:
    assert column("colours", "field_mark", group=frogs) == {"lime": "green", "red": "red"}
    assert (groups(frogs)["colour"], groups(frogs)["part"]) == ({"red"}, {"tympanum"})
    assert equations("synonym", frogs) == [("belly", "venter")]


def test_words_of_a_table_are_unique_and_have_a_value_in_some_column() -> None:
    for table in TABLES:
        words = [row[0] for row in rows(table)]
        assert sorted(words) == sorted(set(words)), table
        assert [row[0] for row in rows(table) if set(row[1:]) == {"-"}] == [], table
    with pytest.raises(ValueError, match="field_mark, fact, tone, starter of birds/colours, got 'colour'"):
        column("colours", "colour")


def test_values_are_known_colours_parts_and_attributes() -> None:
    assert set(column("parts", "starter").values()) == set(PARTS)
    attributes = {*column("colours", "starter").values(), *column("looks", "starter").values()}
    assert attributes == set(ATTRIBUTES)
    assert set(column("looks", "shade").values()) == {"dark", "pale", "bright"}


def test_the_starter_columns_match_the_trained_weights() -> None:
    """The shipped weights identify features by these words; another word in these columns needs new weights."""
    columns = (column(table, "starter") for table in ("colours", "looks", "parts"))
    known = sorted((word, name) for each in columns for word, name in each.items())
    assert hashlib.sha256(repr(known).encode()).hexdigest()[:16] == "edfc0063038cf5e6"


def test_every_lexicon_file_is_known_and_has_lines() -> None:
    known = {
        *TABLES,
        *["everyday", "near_colours", "near_parts", "pairs", "part_phrases", "shapes", "sided_parts", "sides", "words"],
    }
    folders = {each.name for each in files("data.lexicon").iterdir() if each.is_dir()}
    assert {*group_names(), COMMON} == folders - {"__pycache__"}
    for group in (*group_names(), COMMON):
        names = {Path(file.name).stem for file in (files("data.lexicon") / group).iterdir()}
        assert names <= known
        assert all(lines_of(name, group) for name in names - {"words"})


def test_near_colours_and_parts_are_those_of_field_marks() -> None:
    colours = {colour for mixture in column("colours", "field_mark").values() for colour in mixture.split("+")}
    parts = {*column("parts", "field_mark").values()}
    assert {*near_colours()} <= colours
    assert {*near_parts()} <= parts
    likenesses = [value for table in (near_colours(), near_parts()) for row in table.values() for value in row.values()]
    assert all(0 < value < 1 for value in likenesses)


def test_everyday_words_stand_for_words_of_the_other_tables() -> None:
    words_of_tables = (*column("colours", "field_mark"), *column("parts", "field_mark"), *dict(equations("participle")))
    known = {*words_of_tables, *(word for words in groups().values() for word in words)}
    for words, lexicon in column("everyday", "lexicon").items():
        assert words != lexicon
        assert lexicon in known or {*lexicon.split()} <= known, words


LINEAGES = (
    ({"class": "Aves", "order": "Strigiformes"}, "birds"),
    ({"class": "Insecta", "order": "Lepidoptera", "family": "Pieridae", "genus": "Pieris"}, "lepidoptera"),
    ({"class": "Insecta", "order": "Odonata"}, "odonata"), ({"class": "Insecta", "order": "Coleoptera"}, "insects"),
    ({"class": "Amphibia", "order": "Anura"}, "amphibia"), ({"class": "Squamata"}, "reptilia"),
    ({"class": "Mammalia", "order": "Proboscidea"}, "mammalia"), ({"class": "Actinopterygii"}, "fish"),
    ({"class": "Cephalopoda"}, "mollusca"), ({"class": "Magnoliopsida", "order": "Cucurbitales"}, "plants"),
    ({"order": "Asterales", "family": "Asteraceae"}, "plants"),
    ({"class": "Agaricomycetes", "order": "Agaricales", "family": "Amanitaceae"}, "fungi"),
    ({"kingdom": "Fungi"}, "fungi"), ({"class": "Arachnida", "order": "Araneae"}, "animals"),
    ({"genus": "Vanessa"}, "animals"), ({}, "birds"),
)  # fmt: skip


def test_the_lineage_of_a_taxon_gives_its_group() -> None:
    for lineage, group in LINEAGES:
        assert group_of_taxon(lineage) == group, lineage
    assert group_of_taxon({}, "Anura") == "amphibia", "the article of a group itself"


def test_a_word_that_tells_topics_apart_has_one_topic_in_a_group() -> None:
    for group in group_names():
        counted = Counter(word for name in (*VISUAL_GROUPS, *OTHER_GROUPS) for word in groups(group).get(name, ()))
        assert [word for word, n in counted.items() if n > 1] == [], group


def test_parts_of_field_marks_are_looks_to_the_distiller_too() -> None:
    """Stages such as larvae are whole bodies in marks."""
    for group in set(group_names()) - {BIRDS, "all_animals"}:
        words = [word for word in column("parts", "field_mark", group=group) if "-" not in word]
        assert [word for word in words if group_of(word, group) not in ("part", "who")] == [], group
        assert appearance(group).sided <= set(column("parts", "field_mark", group=group).values()), group


def test_every_group_is_described_and_reachable_and_the_words_of_birds_are_those_that_were_measured() -> None:
    reached = {*column("taxa", "group", group="").values(), GENERAL, "all_animals"}
    assert set(column("groups", "noun", group="")) == reached == set(group_names())
    words = sorted((name, sorted(found)) for name, found in groups().items())
    assert hashlib.sha256(repr(words).encode()).hexdigest()[:16] == "2fdd5bc26192312d"
