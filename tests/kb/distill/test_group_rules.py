"""Rules of the extractive distiller for other groups than birds, each on a text where an earlier version failed."""

from __future__ import annotations

import pytest

from data.lexicon.tables import group_names
from data.lexicon.taxa import group_of_taxon
from data.lexicon.word_groups import groups
from data.records import Article, Section, Source, Summary, Taxon
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.subjects import is_about_another, stated_subject

BUTTERFLY = {"order": "Lepidoptera"}


def distilled(text: str, lineage: dict[str, str], *names: str, title: str = "Description") -> Summary | None:
    taxon = Taxon(taxon_id="a-b", scientific_name="Aus bus", rank="species", common_names=names, lineage=lineage)
    section = Section(title=title, level=2, start=0, end=len(text))
    source = Source(title="Aus bus", url="https://wiki.example/a", revision=1)
    return ExtractiveDistiller().distil(Article(source=source, text=text, sections=(section,)), taxon)


def statements(text: str, lineage: dict[str, str], *names: str, title: str = "Description") -> list[str]:
    summary = distilled(text, lineage, *names, title=title)
    return [statement.text for statement in summary.statements] if summary is not None else []


@pytest.mark.parametrize("lineage", [BUTTERFLY, {"genus": "Pieris"}])
def test_a_sentence_without_a_pronoun_takes_no_sex_from_the_one_before(lineage: dict[str, str]) -> None:
    text = (
        "The male has a grey wing tip. The female has two black spots on each forewing. The underside of the hindwing "
        "is pale yellow. The caterpillar is green with a thin yellow line on the back."
    )
    summary = distilled(text, lineage)
    assert summary is not None
    for statement in summary.statements:
        [span] = statement.evidence
        assert text[span.start : span.end] == statement.text
    assert summary.statements[0].text.startswith("The underside")


def test_a_pronoun_goes_on_with_the_sex_of_the_sentence_before() -> None:
    text = "The female has brown wings. It has two black spots on each forewing."
    summary = distilled(text, BUTTERFLY)
    assert summary is not None
    assert [len(statement.evidence) for statement in summary.statements] == [1, 2]


def test_a_sex_after_a_semicolon_is_not_the_subject_of_the_sentence() -> None:
    sentence = "The tip is grey; the female has two black spots."
    assert stated_subject(sentence, "lepidoptera") is None
    assert stated_subject(sentence) == "female"  # birds are read as measured


@pytest.mark.parametrize("group", ["animals", "lepidoptera", "mammalia"])
def test_caterpillars_are_a_stage_in_any_text_on_animals_but_not_as_food(group: str) -> None:
    assert stated_subject("The caterpillar is green.", group) == "larva"
    assert stated_subject("It feeds mainly on caterpillars.", group) is None


def test_a_heading_of_a_stage_wins_over_young_ones() -> None:
    text = "The young are yellow with red legs. The head has two dark lines. Later the body is green."
    assert statements(text, BUTTERFLY, title="Larva") == [
        "The young are yellow with red legs.",
        "Larva: the head has two dark lines.",
        "Larva: later the body is green.",
    ]
    assert stated_subject("Young larvae are yellow.", "lepidoptera") == "larva"


def test_spore_prints_brittle_stems_and_bruises_of_mushrooms_are_kept() -> None:
    kept = ["The cap is red.", "The spore print is white.", "The flesh turns blue when bruised.",
            "The stem breaks like chalk."]  # fmt: skip
    assert statements(f"{' '.join(kept)} The spores are amyloid.", {"order": "Russulales"}) == kept


def test_the_pupa_stays_in_a_long_summary() -> None:
    text = (
        "The Old World Swallowtail has yellow wings with black veins and a black margin with yellow crescents. The "
        "hindwing bears a short black tail, a blue band and a red eyespot at the inner corner. The wingspan is 65 to "
        "86 mm. The young larva looks like a bird dropping. The full-grown caterpillar is bright green with black "
        "bands marked with orange dots; when it is disturbed it pushes out a forked orange osmeterium behind the head, "
        "which smells of fruit. The pupa is green or brown and is held upright by a girdle of silk."
    )
    assert "The pupa is green or brown and is held upright by a girdle of silk." in statements(
        text, BUTTERFLY, "Swallowtail"
    )


def test_a_coral_gets_a_summary() -> None:
    text = "Colonies are purple and fan-shaped and up to 1 m tall. The polyps are white with eight tentacles."
    assert " ".join(statements(text, {"class": "Anthozoa"})) == text


@pytest.mark.parametrize(
    "sentence",
    [
        "It eats green frogs and small red fish.",
        "Locals make black bags from its skin.",
        "Males court with their fins raised.",
    ],
)
def test_food_use_and_courtship_are_no_looks(sentence: str) -> None:
    assert statements(sentence, {"class": "Actinopterygii"}) == []


def test_a_size_needs_no_word_of_size() -> None:
    text = "It reaches 1 m. It reaches depths of 200 m."
    assert statements(text, {"class": "Actinopterygii"}) == ["It reaches 1 m."]


def test_a_name_without_a_verb_is_replaced_by_its_kind_and_acorns_come_after_leaves() -> None:
    assert statements("An orchid with sepals of pink.", {"order": "Asparagales"}, "Orchid") == [
        "A plant with sepals of pink."
    ]
    text = "Acorns are 2 cm long. The leaves are green."
    assert statements(text, {"order": "Fagales"}) == ["The leaves are green.", "Acorns are 2 cm long."]


@pytest.mark.parametrize(
    ("family", "group"),
    [("Nymphalidae", "lepidoptera"), ("Ranidae", "amphibia"), ("Felidae", "mammalia"), ("Libellulidae", "odonata")],
)
def test_a_family_alone_gives_the_group(family: str, group: str) -> None:
    assert group_of_taxon({"family": family}) == group


def test_every_group_has_the_words_that_the_distiller_asks_for() -> None:
    for group in set(group_names()) - {"all_animals"}:  # which no taxon has
        assert {"plain-subject", "verb", "dangling", "synonym"} <= groups(group).keys(), group
        assert not is_about_another("The whole species is red.", group), group
