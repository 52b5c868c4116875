"""The look-up index is kept in `cache/`: the same answers without the summaries, made again after damage."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import kb
from data.codec import dumps, loads
from data.records import Taxon, TaxonMatch, Term
from kb.lookup.learning import remember
from kb.sources.starter import StarterSource
from kb.store.knowledge_base import KnowledgeBase
from kb.store.ledger import Ledger
from tests.toy.encoders import toy_encoders

QUERIES = ("red shoulder patch", "blue back and orange breast", "owl", "kingfisher", "Red-wingd Blackbrd")


@pytest.fixture
def path(six_birds: Path) -> Path:
    return six_birds


def answers(path: Path) -> list[list[TaxonMatch]]:
    sentence = toy_encoders().sentence
    with kb.open(path) as store:
        return [kb.search(store, query, sentence) for query in QUERIES]


def files(path: Path) -> list[Path]:
    return sorted((path / "cache").glob("lookup-*.bin"))


def test_damaged_files_are_made_again(path: Path) -> None:
    first = answers(path)
    before = [file.read_bytes() for file in files(path)]
    for place in (0, 0.1, 0.5, 0.98, 0.99):
        for file, content in zip(files(path), before, strict=True):
            at = int(place * len(content))
            file.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
        assert answers(path) == first, place
    assert [len(file.read_bytes()) for file in files(path)] == [len(content) for content in before]
    for file, content in zip(files(path), (b"short", b"", b"PK"), strict=True):
        file.write_bytes(content)
    assert answers(path) == first


def test_names_that_a_killed_build_changed_are_found(path: Path) -> None:
    """A build records the names of species before it publishes entries and a new state."""
    answers(path)
    sentence = toy_encoders().sentence
    with closing(Ledger(path / "ledger.sqlite")) as ledger, ledger.transaction():
        for key, record in ledger.subjects("taxon").items():
            taxon = loads(Taxon, record)
            renamed = replace(taxon, common_names=(f"Zyzzogeton {key[:4]}",), synonyms=())
            ledger.add_subjects([(key, "taxon", taxon.scientific_name, dumps(renamed))])
    with kb.open(path) as store:
        found = kb.search(store, "Zyzzogetn agel", sentence)
    assert found[0].taxon_id == "agelaius-phoeniceus"


def test_files_of_an_earlier_state_are_removed(path: Path) -> None:
    answers(path)
    before = files(path)
    source = StarterSource(with_vectors=False)
    kb.build(path, source.drawn_taxa()[6:8], source, toy_encoders())
    assert files(path) == []
    assert len(answers(path)) == len(QUERIES)
    assert set(files(path)).isdisjoint(before)


def test_a_learnt_term_leaves_the_files_and_reads_no_summary(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, before = answers(path), files(path)
    assert all(first) and len(before) == 3
    encoder = toy_encoders().sentence
    with kb.open(path) as store:
        generation = store.generation
        remember(store, [Term(term_id="term:zorblin", name="zorblin", definition="A knob on the bill.")], encoder)
    with kb.open(path) as store:
        assert store.generation != generation
        assert [term.name for term in store.terms()] == ["zorblin"]
    assert files(path) == before
    monkeypatch.setattr(KnowledgeBase, "summary_texts", lambda _: pytest.fail("the summaries were read again"))
    assert answers(path) == first
    assert files(path) == before


def test_names_that_two_species_exchange_change_the_state(path: Path) -> None:
    """Their rows then have the same checksums in another order, or sums that may be equal."""
    with closing(Ledger(path / "ledger.sqlite")) as ledger, ledger.transaction():
        before = ledger.state_of_species()
        (one, first), (other, second) = list(ledger.subjects("taxon").items())[:2]
        ledger.add_subjects([(one, "taxon", "x", second), (other, "taxon", "x", first)])
        exchanged = ledger.state_of_species()
        ledger.add_subjects([("term:cere", "term", "cere", "{}")])
        assert ledger.state_of_species() == exchanged != before
