"""Extractive summaries: visible features in the words of the article, with evidence."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from data.lexicon.word_groups import groups
from data.records import Article, Section, Source, Summary, Taxon
from kb.distill.extractive import MAX_WORDS, ExtractiveDistiller
from kb.distill.sections import SectionKind, section_kinds
from kb.distill.species_names import NameHider
from kb.distill.subjects import stated_subject
from kb.distill.trimming import drop_brackets, trim_clauses

ROOT = Path(__file__).resolve().parents[3]
WREN = Taxon(
    taxon_id="wrena-rubra",
    scientific_name="Wrena rubra",
    rank="species",
    common_names=("Red-capped Wren", "Grey's Wren"),
    lineage={"class": "Aves"},
)


def article(*parts: tuple[str, int, str], url: str | None = "https://wiki.example/Wren") -> Article:
    """Return an article of (title, level, text) sections; as in parsed articles, headings are not in the text."""
    text, sections = "", []
    for title, level, body in parts:
        text += "\n\n" if text else ""
        sections.append(Section(title=title, level=level, start=len(text), end=len(text) + len(body)))
        text += body
    source = Source(title="Red-capped wren", url=url, revision=None if url is None else 7)
    return Article(source=source, text=text, sections=tuple(sections))


def distil(*parts: tuple[str, int, str], url: str | None = "https://wiki.example/Wren") -> Summary:
    summary = ExtractiveDistiller().distil(article(*parts, url=url), WREN)
    assert summary is not None
    return summary


def texts(summary: Summary) -> list[str]:
    return [statement.text for statement in summary.statements]


LEAD = ("", 1, "The red-capped wren (Wrena rubra) is a species of bird found in Brazil. It was named by Grey in 1840.")


def test_only_visual_sentences_stay() -> None:
    summary = distil(
        LEAD,
        (
            "Description",
            2,
            "The red-capped wren has a scarlet crown and a black bill. It weighs 20 g. The song is a loud trill. "
            "It is found in wet forests of Peru and Brazil. Its nest is a cup of moss. It feeds on insects and seeds.",
        ),
    )
    assert texts(summary) == ["It has a scarlet crown and a black bill."]
    assert summary.scope == "description"
    assert summary.stage == "refined"
    assert summary.distiller == ExtractiveDistiller.name


def test_every_statement_cites_its_source_sentence() -> None:
    page = article(
        LEAD, ("Description", 2, "Adult wrens [3] have a blue-grey cap (7 in). The red-capped wren's bill is black.")
    )
    summary = ExtractiveDistiller().distil(page, WREN)
    assert summary is not None
    evidence = {s.text: [page.text[span.start : span.end] for span in s.evidence] for s in summary.statements}
    assert evidence == {
        "Adult wrens have a blue-grey cap.": ["Adult wrens [3] have a blue-grey cap (7 in)."],
        "Its bill is black.": ["The red-capped wren's bill is black."],
    }


def test_subsections_on_sound_are_excluded() -> None:
    summary = distil(
        LEAD,
        ("Description", 2, "It has a red crown."),
        ("Juvenile", 3, "The juvenile has a brown crown and a yellow gape."),
        ("Voice", 3, "The call of birds with a red crown and black bill is a harsh note."),
        ("Distribution", 2, "Birds with a white crown and a black tail live in Peru."),
    )
    assert texts(summary) == ["It has a red crown.", "The juvenile has a brown crown and a yellow gape."]


def test_a_visual_lead_sentence_is_added() -> None:
    summary = distil(
        ("", 1, "The red-capped wren is a small brown bird with a cocked tail, native to Peru."),
        ("Appearance", 2, "The crown is red and the bill is black."),
    )
    assert texts(summary) == ["It is a small brown bird with a cocked tail.", "The crown is red and the bill is black."]


def test_without_a_description_section_the_whole_article_is_used() -> None:
    summary = distil(LEAD, ("Ecology", 2, "It nests in trees. It has a red crown, a black bill and long yellow legs."))
    assert texts(summary) == ["It has a red crown, a black bill and long yellow legs."]
    assert summary.scope == "article"


def test_an_empty_description_section_falls_back_to_the_article() -> None:
    summary = distil(
        LEAD,
        ("Description", 2, "Little is known."),
        ("Habitat", 2, "Birds with red crowns and black bills live there."),
    )
    assert summary.scope == "article"


def test_an_article_without_visual_content_gives_no_summary() -> None:
    assert ExtractiveDistiller().distil(article(LEAD), WREN) is None
    assert ExtractiveDistiller().distil(article(("", 1, "")), WREN) is None
    assert ExtractiveDistiller().distil(Article(source=Source(title="x", url="u"), text=""), WREN) is None


def test_an_excluded_section_does_not_hide_later_ones() -> None:
    summary = distil(("Voice", 2, "Its song has a grey, barred note."), ("Description", 2, "It has a scarlet crown."))
    assert texts(summary) == ["It has a scarlet crown."]


def test_bare_facts_come_from_the_description_section() -> None:
    """Without a description section, all sections except references, voice and similar ones are used."""
    lead, voice = ("", 1, "A wren with a blue tail."), ("Voice", 2, "A red note.")
    looks = distil(lead, voice, ("Description", 2, "It has a scarlet crown."), url=None)
    assert texts(looks) == ["It has a scarlet crown."]
    assert texts(distil(lead, voice, url=None)) == ["A wren with a blue tail."]


def test_facts_are_not_rewritten() -> None:
    facts = "The male is red with a black bib; he may raise his crest. The legs are grey. Length 17 to 20 cm."
    summary = distil(("Description", 2, facts), url=None)
    assert summary.text == facts
    assert summary.scope == "facts"


def test_features_of_the_female_stay_with_her() -> None:
    summary = distil(
        LEAD,
        (
            "Description",
            2,
            "Males have a red crown, a black bib and white wing bars. Females are found in the south. "
            "They have a brown crown with dark streaks and a buff throat.",
        ),
    )
    assert texts(summary)[1] == "Females have a brown crown with dark streaks and a buff throat."
    assert len(summary.statements[1].evidence) == 2


def test_a_female_feature_is_dropped_without_its_subject() -> None:
    page = article(
        LEAD,
        (
            "Description",
            2,
            "Males have a red crown and a black bib. The female lives in the north. The crown is plain brown.",
        ),
    )
    summary = ExtractiveDistiller().distil(page, WREN)
    assert summary is not None
    assert "The crown is plain brown." not in texts(summary)


def test_statements_are_ordered_species_sexes_juveniles() -> None:
    summary = distil(
        LEAD,
        (
            "Description",
            2,
            "The juvenile has a buff, spotted breast.\nThe female has a brown crown and bill.\n"
            "The male has a scarlet crown and throat.\nIt is 12 cm long and has a white belly.",
        ),
    )
    assert [stated_subject(text) for text in texts(summary)] == [None, "male", "female", "juvenile"]


def test_a_long_description_is_shortened_to_field_marks() -> None:
    colours = ["red", "blue", "green", "white", "black", "buff", "olive", "rufous"]
    parts = ["crown", "throat", "breast", "belly", "mantle", "rump", "tail", "bill"]
    body = " ".join(
        f"The {part} of this bird, seen in good light, is {c} with {d} streaks."
        for part in parts
        for c in colours
        for d in colours[:2]
    )
    summary = distil(LEAD, ("Description", 2, body))
    assert 60 <= summary.words <= MAX_WORDS
    assert sum(any(part in text for text in texts(summary)) for part in parts) >= 6


def test_repeated_sentences_are_dropped() -> None:
    sentence = "It has a red crown and a black bill."
    assert texts(distil(("", 1, sentence), ("Description", 2, f"{sentence} {sentence}"))) == [sentence]


def test_summaries_are_deterministic() -> None:
    page = article(
        LEAD, ("Description", 2, "It has a red crown. The bill is black. The legs are pink. The tail is long.")
    )
    assert ExtractiveDistiller().distil(page, WREN) == ExtractiveDistiller().distil(page, WREN)


@pytest.mark.parametrize(
    "sentence",
    [
        "The adult frog has smooth green skin with dark bars on the hind legs and webbed toes.",
        "The forewings are orange with black veins and a row of white spots along the margin.",
        "The coat is reddish-brown, with a white underside and black stripes on the hindquarters and tail.",
        "The beetle has metallic green elytra and long, slender antennae.",
        "The body is silver with two dark bands and a deeply forked caudal fin.",
        "The leaves are oval with a toothed margin, and the flowers have five white petals.",
    ],
)
def test_features_of_other_organisms_are_recognised(sentence: str) -> None:
    taxon = Taxon(taxon_id="a-b", scientific_name="Aa bb", rank="species")
    page = article(
        ("", 1, "It is found in China."), ("Description", 2, sentence + " It lives in ponds and eats worms.")
    )
    summary = ExtractiveDistiller().distil(page, taxon)
    assert summary is not None
    assert texts(summary) == [sentence]


# --- trimming ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It has a red head with a call like a rusty hinge.", "It has a red head."),
        ("It has a red head, a black tail, and a harsh call.", "It has a red head and a black tail."),
        ("It is a small grey bird that breeds in northern Asia.", "It is a small grey bird."),
        ("The song is a trill; the bill is black.", "The bill is black."),
        ("However, the bill is black.", "The bill is black."),
        ("The bill is black, but the legs are red.", "The bill is black, but the legs are red."),
        (
            "It has a red crown, and it feeds on insects in the forest, and a long tail.",
            "It has a red crown, and a long tail.",
        ),
        ("The race with a yellow bill is found in Chile.", "The race with a yellow bill is found in Chile."),
        (
            "The bird with red wings is widely distributed in Asia.",
            "The bird with red wings is widely distributed in Asia.",
        ),
        ("", ""),
    ],
)
def test_non_visual_clauses_are_trimmed_if_grammar_allows(sentence: str, expected: str) -> None:
    assert trim_clauses(sentence) == expected


def test_brackets_are_dropped_unless_visual() -> None:
    assert drop_brackets("It is 20 cm (7.9 in) long [1] , with a red (in the male) bill.") == (
        "It is 20 cm long, with a red (in the male) bill."
    )


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The red-capped wren has a red crown.", "It has a red crown."),
        ("Red-capped wrens have red crowns.", "They have red crowns."),
        ("The Red capped Wren's crown is red.", "Its crown is red."),
        ("The red-capped wren, or Gray's wren, is a small bird.", "It is a small bird."),
        ("The male red-capped wren has a red crown.", "The male has a red crown."),
        ("Male red-capped wrens are red.", "Males are red."),
        ("Young red-capped wrens are brown.", "Young birds are brown."),
        ("It is larger than the red-capped wren of Peru.", "It is larger than this species of Peru."),
        ("Wrena rubra is red.", "It is red."),
        ("The red-capped wren bird is red.", "It is red."),
        ("The red-capped wren crown is red.", "Its crown is red."),
        ("The tail of W. rubra is long.", "The tail of this species is long."),
        ("The wren has a red crown.", "It has a red crown."),
        ("The white-capped wren is paler.", "The white-capped wren is paler."),
        ("The red-capped wren (Wrena rubra) is red.", "This species is red."),
        ("Another name of the Wrena rubra (red-capped wren) is red.", "Another name of this species is red."),
        ("Its race (or red-capped wren) is red.", "Its race is red."),
    ],
)
def test_the_species_name_is_replaced_by_a_pronoun(sentence: str, expected: str) -> None:
    assert NameHider(WREN, "Red-capped wren").hide(sentence) == expected


def test_headings_determine_section_kinds() -> None:
    page = article(
        ("", 1, "a"),
        ("Description", 2, "b"),
        ("Vocalisations", 3, "c"),
        ("Plumage", 3, "d"),
        ("Colour morphs", 4, "e"),
        ("Behaviour", 2, "f"),
        ("Songs of the male", 3, "g"),
        ("Subspecies", 2, "h"),
        ("References", 2, "i"),
    )
    assert section_kinds(page) == [
        SectionKind.LEAD,
        SectionKind.LOOKS,
        SectionKind.NEVER,
        SectionKind.LOOKS,
        SectionKind.LOOKS,
        SectionKind.OTHER,
        SectionKind.NEVER,
        SectionKind.NEUTRAL,
        SectionKind.NEVER,
    ]


@pytest.mark.parametrize("piece", ["(", "( ", "a, and ", "red wren ", "It is. ", "the red-capped wren or ", " ", "; "])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    page = article(("Description", 2, "It has a red crown. " + piece * (100_000 // len(piece))))
    begin = time.process_time()
    ExtractiveDistiller().distil(page, WREN)
    assert time.process_time() - begin < 40  # under 1 s; anything quadratic takes minutes


def _many_marks(n: int, seed: int) -> str:
    """Return a description of `n` different sentences."""
    choose = random.Random(seed).choice
    parts, colours = sorted(groups()["part"]), sorted(groups()["colour"])
    return " ".join(
        f"{choose(('The', 'The male has a small head and its', 'Juveniles are duller and the'))} {choose(parts)} is "
        f"{choose(colours)} with a {choose(colours)} {choose(parts)} and {choose(colours)} {choose(parts)}."
        for _ in range(n)
    )


def test_summaries_do_not_depend_on_the_hash_seed() -> None:
    """Set order differs between processes; summaries must not depend on it, or digests would differ."""
    code = (
        "import sys; from data.codec import dumps; from tests.kb.distill import test_extractive as here\n"
        "for seed in range(40): print(dumps(here.distil(('Description', 2, here._many_marks(40, seed)))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in "12"
    }  # fmt: skip
    assert len(outputs) == 1


def test_distilling_time_is_linear_in_article_length() -> None:
    """Ten times the sentences take about ten times as long; quadratic work would take a hundred times as long."""

    def seconds(n: int) -> float:
        page = article(("Description", 2, _many_marks(n, 1)))
        began = time.process_time()
        ExtractiveDistiller().distil(page, WREN)
        return time.process_time() - began

    seconds(100)  # word forms are looked up once
    small, large = min(seconds(300) for _ in range(3)), seconds(3_000)
    assert large < 30 * small
