"""Words by group of organisms: chosen by lineage, complete, without conflicts, and those of birds unchanged."""

import hashlib
from collections import Counter

from data.lexicon.appearance import appearance
from data.lexicon.tables import BIRDS, column, group_names
from data.lexicon.taxa import GENERAL, group_of_taxon
from data.lexicon.word_groups import OTHER_GROUPS, VISUAL_GROUPS, group_of, groups

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
