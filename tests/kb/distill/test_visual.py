"""Visual scores of examples and of hand-labelled sentences."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from data.files import sha256_hex
from data.lexicon.word_groups import OTHER_GROUPS, VISUAL_GROUPS, group_of, groups, words_of
from data.records import Source, Taxon
from kb.distill.extractive import MAX_WORDS, ExtractiveDistiller
from kb.distill.species_names import NameHider
from kb.distill.subjects import is_about_another
from kb.distill.visual import WEIGHTS, part_pairs, visual_score
from kb.sources.mediawiki.article_parser import parse_article

ADDED_WORDS = {"it", "they", "its", "their", "this", "these", "species", "bird", "birds", "of", "and", "the"} | {
    *("male", "males", "female", "females", "juvenile", "juveniles", "adult", "adults", "immatures")
}


def test_scores_of_sentences_of_birds_and_of_butterflies_in_a_section_on_looks() -> None:
    """Digests of knowledge bases depend on them."""
    scores = {
        "The forewing is orange with a black margin.": (4.12, 4.62),
        "It is 20 cm long and reaches 2 m.": (0.88, 2.58),
        "In 1872 Smith saw a small red bird in Zorbland, told from others by its call.": (0.05, 0.55),
        "It breeds in northern Asia and winters in India.": (-3.24, -2.74),
        "The eggs are white with brown spots.": (-0.22, 0.28),
        "The egg is 12 mm long.": (-1.0, -0.5),
        "Its call is a harsh, loud note.": (-4.02, -3.52),
        "The genus name is from Latin.": (-4.01, -3.51),
        "": (-1.2, -0.7),
    }
    found = {
        text: (
            round(visual_score(text), 3),
            round(visual_score(text, group="lepidoptera", in_section_on_looks=True), 3),
        )
        for text in scores
    }
    assert found == scores
    assert visual_score("The sexes are alike.", in_section_on_looks=True) > 0


def test_words_and_pairs_of_looks_are_recognised() -> None:
    others = {"The bill of the closely related species is black.": True, "The bill of the species is black.": False,
              "The grey francolin has a buff throat.": True, "The outer tail is black.": False}  # fmt: skip
    assert {sentence: is_about_another(sentence) for sentence in others} == others
    assert part_pairs("a red crown, a curved bill") == {("crown", "red"), ("bill", "curved")}
    for look in ("black", "black and white"):
        assert part_pairs(f"the head has a {look} stripe") == {("head", "stripe")}
    assert part_pairs("the head is black and white") == {("head", "black")}
    assert {group_of(word) for word in ("greyer", "whitish", "redder", "yellower", "blue")} == {"colour"}
    assert group_of("antennae") == group_of("wings") == group_of("flower") == "part"
    assert group_of("number") is None


def test_scored_groups_have_weights_and_do_not_overlap() -> None:
    assert set(WEIGHTS) == {*VISUAL_GROUPS, *OTHER_GROUPS}
    counted = Counter(word for name in WEIGHTS for word in groups()[name])
    assert [word for word, n in counted.items() if n > 1] == []


@pytest.mark.integration
def test_summaries_of_real_articles_are_short_nameless_and_supported(shared: Path) -> None:
    lines = (shared / "birds" / "articles.jsonl").read_text(encoding="utf-8").splitlines()
    words, texts = [], []
    for page in map(json.loads, lines):
        article = parse_article(
            page["html"], source=Source(title=page["title"], url="https://wiki.example", revision=1)
        )
        taxon = bird(page["title"], page["scientific_name"])
        summary = ExtractiveDistiller().distil(article, taxon)
        if summary is None:
            continue
        hider = NameHider(taxon, page["title"])
        words.append(summary.words)
        texts.append(summary.text)
        for statement in summary.statements:
            assert hider.names_in(statement.text) == []
            assert statement.text[0].isupper() and statement.text.endswith((".", "!", "?", "”", '"'))
            evidence_words = set(words_of(" ".join(article.text[span.start : span.end] for span in statement.evidence)))
            # Every word is from the article, except pronouns and their referents.
            assert set(words_of(statement.text)) - evidence_words <= ADDED_WORDS, statement.text
    assert len(words) >= 145  # the other 38 pages have no visual content
    assert 60 <= sum(words) / len(words) <= 95  # the paper: 76
    assert max(words) <= MAX_WORDS
    assert sha256_hex("\n".join(texts))[:16] == "26a289081df18817"  # stored texts change only on purpose


def bird(title: str, scientific_name: str) -> Taxon:
    return Taxon(
        taxon_id="-", scientific_name=scientific_name, rank="species", common_names=(title,), lineage={"class": "Aves"}
    )
