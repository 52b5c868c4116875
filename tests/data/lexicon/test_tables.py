"""Tables of the lexicon: complete, and read by animal group."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import pytest

from data.lexicon import tables
from data.lexicon.near import near_colours, near_parts
from data.lexicon.tables import BIRDS, column, lines_of, rows
from data.lexicon.word_groups import equations, groups
from recognize.starter.lexicon import ATTRIBUTES, PARTS

TABLES = ("colours", "looks", "markings", "parts", "sexes")


@pytest.fixture
def frogs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A second animal group with its own words."""
    folder = tmp_path / "frogs"
    folder.mkdir()
    (folder / "words.txt").write_text("[part]\ntympanum  # an ear\n[synonym]\nbelly=venter\n", encoding="utf-8")
    (folder / "colours.txt").write_text("word   field_mark\n\nlime   green\nglass  -\n", encoding="utf-8")
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    return "frogs"


def test_each_group_is_read_from_its_own_folder(frogs: str) -> None:
    assert column("colours", "field_mark", group=frogs) == {"lime": "green"}
    assert groups(frogs)["part"] == {"tympanum"}
    assert equations("synonym", frogs) == [("belly", "venter")]


def test_an_unknown_column_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="field_mark, fact, tone, starter of birds/colours, got 'colour'"):
        column("colours", "colour")


@pytest.mark.parametrize("table", TABLES)
def test_words_of_a_table_are_unique(table: str) -> None:
    words = [row[0] for row in rows(table)]
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize("table", TABLES)
def test_every_word_has_a_value_in_some_column(table: str) -> None:
    assert [row[0] for row in rows(table) if set(row[1:]) == {"-"}] == []


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
    names = {Path(file.name).stem for file in (files("data.lexicon") / BIRDS).iterdir()}
    assert names == {*TABLES, "everyday", "near_colours", "near_parts", "part_phrases", "shapes", "words"}
    assert all(lines_of(name) for name in names)


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
