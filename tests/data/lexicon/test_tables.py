import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.lexicon import words as tables
from recognize.starter.encoders import ATTRIBUTES, PARTS

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
    for cached in (tables.column, tables.groups, tables.folders):
        cached.cache_clear()


def test_a_group_adds_to_the_common_words_and_its_own_win(frogs: str) -> None:
    assert tables.column("colours", "field_mark", group=frogs) == {"lime": "green", "red": "red"}
    assert (tables.groups(frogs)["colour"], tables.groups(frogs)["part"]) == ({"red"}, {"tympanum"})
    assert tables.equations("synonym", frogs) == [("belly", "venter")]


def test_words_of_a_table_are_unique_and_have_a_value_in_some_column() -> None:
    for table in TABLES:
        words = [row[0] for row in tables.rows(table)]
        assert sorted(words) == sorted(set(words)), table
        assert [row[0] for row in tables.rows(table) if set(row[1:]) == {"-"}] == [], table
    with pytest.raises(ValueError, match="field_mark, fact, tone, starter of birds/colours, got 'colour'"):
        tables.column("colours", "colour")


def test_values_are_known_colours_parts_and_attributes() -> None:
    assert set(tables.column("parts", "starter").values()) == set(PARTS)
    attributes = {*tables.column("colours", "starter").values(), *tables.column("looks", "starter").values()}
    assert attributes == set(ATTRIBUTES)
    assert set(tables.column("looks", "shade").values()) == {"dark", "pale", "bright"}
    assert tables.near("near_colours")["grey"] == {"brown": 0.3, "olive": 0.3, "slate": 0.8, "white": 0.3, "black": 0.3}
    assert tables.near("near_parts")["crown"] == {"head": 0.7, "crest": 0.6, "forehead": 0.6, "nape": 0.5}


def test_the_starter_columns_match_the_trained_weights() -> None:
    """The shipped weights identify features by these words; another word in these columns needs new weights."""
    columns = (tables.column(table, "starter") for table in ("colours", "looks", "parts"))
    known = sorted((word, name) for each in columns for word, name in each.items())
    assert hashlib.sha256(repr(known).encode()).hexdigest()[:16] == "edfc0063038cf5e6"


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
        assert tables.group_of_taxon(lineage) == group, lineage
    assert tables.group_of_taxon({}, "Anura") == "amphibia", "the article of a group itself"


def test_a_word_that_tells_topics_apart_has_one_topic_in_a_group() -> None:
    for group in tables.group_names():
        counted = Counter(
            word
            for name in (*tables.VISUAL_GROUPS, *tables.OTHER_GROUPS)
            for word in tables.groups(group).get(name, ())
        )
        assert [word for word, n in counted.items() if n > 1] == [], group


def test_every_group_is_described_and_reachable_and_the_words_of_birds_are_those_that_were_measured() -> None:
    reached = {*tables.column("taxa", "group", group="").values(), tables.GENERAL, "all_animals"}
    assert set(tables.column("groups", "noun", group="")) == reached == set(tables.group_names())
    words = sorted((name, sorted(found)) for name, found in tables.groups().items())
    assert hashlib.sha256(repr(words).encode()).hexdigest()[:16] == "2fdd5bc26192312d"
