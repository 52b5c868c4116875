import json
import re
from pathlib import Path

import pytest

from data.records import Taxon
from data.starter.knowledge import StarterSpecies, read_species
from kb.checklist.avilist import load_checklist
from training.knowledge.agreement import ARTICLE, AgreedFact, agree
from training.knowledge.species import (
    WRONG,
    claims_of,
    label_id,
    make_species,
    read_labels,
    read_written,
    texts_of_species,
    word_runs,
)

Texts = list[tuple[Taxon, dict[str, list[str]]]]
Agreed = list[tuple[Taxon, list[AgreedFact], list[AgreedFact]]]


@pytest.fixture(scope="module")
def texts(birds: Path) -> Texts:
    return texts_of_species(birds, load_checklist())


@pytest.fixture(scope="module")
def agreed(texts: Texts) -> Agreed:
    """Each species with its agreed facts, and with those agreed without the article."""
    found: Agreed = []
    for taxon, sources in texts:
        claims = claims_of(taxon, sources)
        whole = agree(claims)
        without = {name: given for name, given in claims.items() if name != ARTICLE}
        found.append((taxon, whole, agree(without) if ARTICLE in sources else whole))
    return found


def shipped() -> list[StarterSpecies]:
    return [species for species in read_species() if not species.by_hand]


def test_each_species_has_the_name_and_lineage_of_the_checklist() -> None:
    checklist = load_checklist()
    for species in read_species():
        listed = checklist.find(species.taxon.scientific_name)
        assert listed is not None
        assert (listed.taxon_id, listed.common_name) == (species.taxon.taxon_id, species.taxon.common_name)
        assert dict(listed.lineage) == dict(species.taxon.lineage)


def test_the_shipped_species_are_those_made_from_the_sources(birds: Path) -> None:
    """Claims, agreement, doubtful and misleading facts, known errors and texts of 2,584 species."""
    by_hand = [species for species in read_species() if species.by_hand]
    assert make_species(birds, load_checklist(), by_hand) == list(read_species())


def test_every_species_has_a_text_and_those_written_say_25_to_60_words_and_what_is_seen() -> None:
    assert all(species.text for species in read_species())
    written = read_written()
    assert len(written) == 1449
    assert {key for key, text in written.items() if not 25 <= len(" ".join(text).split()) <= 60} == set()
    of_written = {species.taxon.taxon_id: species for species in shipped() if species.taxon.taxon_id in written}
    assert of_written.keys() == written.keys()
    assert all(species.facts for species in of_written.values())


def test_no_run_of_eight_words_is_copied_from_a_source(birds: Path) -> None:
    """Compared with whole articles, not only their sections on looks."""
    descriptions = (birds / "descriptions.jsonl").read_text(encoding="utf-8").splitlines()
    sources = [sentence for line in descriptions for sentence in json.loads(line)["sentences"]]
    for line in (birds / "articles.jsonl").read_text(encoding="utf-8").splitlines():
        sources.append(re.sub(r"<[^>]+>", " ", json.loads(line)["html"]))
    ours = word_runs(" ".join(species.text) for species in read_species())
    assert len(ours) > 5000
    assert not ours & word_runs(sources)


def test_precision_of_facts_is_at_least_90_percent(agreed: Agreed) -> None:
    """By the rule of two sources alone, and with an article; on held-out species; and by near colours and names.

    Verdicts of the first two are against the articles, the others by a birder from memory.
    """
    for sample, with_article, least in (
        ("articles", False, 200), ("articles", True, 200), ("second", False, 200), ("near", True, 100),
    ):  # fmt: skip
        right, wrong = count(agreed, sample=sample, with_article=with_article)
        assert right + wrong >= least
        assert right / (right + wrong) >= 0.9, (sample, with_article, right, wrong)


def count(agreed: Agreed, *, sample: str, with_article: bool) -> tuple[int, int]:
    """Return how many of the labelled facts are right and wrong."""
    verdicts = read_labels(sample)
    found = [
        verdicts.get(label_id(taxon, fact))
        for taxon, whole, without in agreed
        for fact in (whole if with_article else without)
    ]
    wrong = sum(verdict in WRONG for verdict in found)
    return sum(verdict is not None for verdict in found) - wrong, wrong
