"""The tables of the lexicon: whole, and read by group."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import pytest

from data.lexicon import tables
from data.lexicon.palette import COLOURS
from data.lexicon.tables import BIRDS, column, lines_of, rows
from data.lexicon.word_groups import equations, groups
from recognize.starter.lexicon import ATTRIBUTES, PARTS

TABLES = ("colours", "looks", "markings", "parts", "sexes")


@pytest.fixture
def frogs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A second group of animals with words of its own."""
    folder = tmp_path / "frogs"
    folder.mkdir()
    (folder / "words.txt").write_text("[part]\ntympanum  # an ear\n[synonym]\nbelly=venter\n", encoding="utf-8")
    (folder / "colours.txt").write_text("word   plain\n\nlime   green\nglass  -\n", encoding="utf-8")
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    return "frogs"


def test_another_group_is_another_folder(frogs: str) -> None:
    assert column("colours", "plain", group=frogs) == {"lime": "green"}
    assert groups(frogs)["part"] == {"tympanum"}
    assert equations("synonym", frogs) == [("belly", "venter")]


def test_an_unknown_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="plain, fact, tone, starter of birds/colours, got 'colour'"):
        column("colours", "colour")


@pytest.mark.parametrize("table", TABLES)
def test_no_word_stands_twice_in_a_table(table: str) -> None:
    words = [row[0] for row in rows(table)]
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize("table", TABLES)
def test_every_word_means_something_to_some_reader(table: str) -> None:
    assert [row[0] for row in rows(table) if set(row[1:]) == {"-"}] == []


def test_entries_are_names_that_their_readers_know() -> None:
    plain = {name for mixture in column("colours", "plain").values() for name in mixture.split("+")}
    assert plain == set(COLOURS)
    assert set(column("parts", "starter").values()) == set(PARTS)
    attributes = {*column("colours", "starter").values(), *column("looks", "starter").values()}
    assert attributes == set(ATTRIBUTES)
    assert set(column("looks", "shade").values()) == {"dark", "pale", "bright"}


def test_the_words_of_the_starter_models_are_those_their_weights_were_trained_with() -> None:
    """The shipped weights know each feature by these words; another word in these columns needs new weights."""
    columns = (column(table, "starter") for table in ("colours", "looks", "parts"))
    known = sorted((word, name) for each in columns for word, name in each.items())
    assert hashlib.sha256(repr(known).encode()).hexdigest()[:16] == "edfc0063038cf5e6"


def test_every_file_of_the_lexicon_is_read() -> None:
    names = {Path(file.name).stem for file in (files("data.lexicon") / BIRDS).iterdir()}
    assert names == {*TABLES, "part_phrases", "shapes", "words"}
    assert all(lines_of(name) for name in names)
