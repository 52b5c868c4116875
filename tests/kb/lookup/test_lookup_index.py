"""The look-up index of a store, including the shipped glossary."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import kb
from data.records import Context, Source, Term
from data.starter.knowledge import read_terms
from kb.lookup.lookup_index import Lookup, glossary_of, index_of, shipped_terms
from kb.sources.starter import StarterSource
from tests.kb.lookup.shelf import ENCODER, SPECIES, TERMS
from tests.memory_store import BagOfWords, ShelfStore
from tests.toy.encoders import toy_encoders

ZORBLIN = Term(term_id="term:zorblin", name="zorblin", definition="A gland of frogs.")


def test_learnt_terms_are_indexed_only_in_their_store() -> None:
    one, other = ShelfStore(SPECIES, TERMS, ENCODER), ShelfStore(SPECIES, TERMS, ENCODER)
    before = index_of(one)
    one.derived(Lookup).learn([ZORBLIN])
    assert [mention.ids for mention in index_of(one).names.find("a zorblin")] == [("term:zorblin",)]
    assert index_of(other).names.find("a zorblin") == []
    assert "term:zorblin" not in before.terms  # concurrent look-ups keep a complete index
    assert index_of(one).summaries is before.summaries  # summaries are not indexed again


def test_an_index_is_built_once_and_freed_with_its_store(one_bird: Path) -> None:
    with kb.open(one_bird) as store:
        index = index_of(store)
        assert index_of(store) is index
        lookup = weakref.ref(store.derived(Lookup))
    del store, index
    gc.collect()
    assert lookup() is None


# --- the shipped glossary ---

OWN_CERE = Term(
    term_id="term:cere",
    name="cere",
    definition="The waxy base of the bill.",
    source=Source(title="Cere", url="https://wiki.example/cere", revision=7, licence="CC BY-SA 4.0"),
)


def look_up(path: Path, query: str) -> Context:
    with kb.open(path) as store:
        return kb.context(store, query, toy_encoders().sentence)


def test_the_shipped_glossary_explains_terms_and_is_cited(one_bird: Path) -> None:
    found = look_up(one_bird, "cere of a hawk")
    assert [note.name for note in found.terms] == ["cere"]
    assert [(source.title, source.licence, source.url) for source in found.sources] == [
        ("cere, in Fieldmark's glossary", "Apache-2.0", None)
    ]
    with kb.open(one_bird) as store:
        assert store.terms() == []
        assert len(glossary_of(store)) == len(read_terms()) > 200


def test_glossary_terms_are_found_by_description(one_bird: Path) -> None:
    [term] = [term for term in shipped_terms() if term.name == "cere"]
    assert [note.name for note in look_up(one_bird, term.definition).terms] == ["cere"]


def test_an_in_memory_store_has_no_glossary() -> None:
    store = ShelfStore([], [OWN_CERE], BagOfWords())
    assert glossary_of(store) == []
    assert not kb.context(store, "the speculum", BagOfWords()).found


def test_own_terms_and_their_aliases_come_before_the_glossary_also_once_removed(one_bird: Path) -> None:
    source = StarterSource(with_vectors=False)
    wax = Term(term_id="term:wax", name="wax", aliases=("speculum",), definition="What bees make.")
    kb.build(one_bird, source.drawn_taxa()[:1], source, toy_encoders(), terms=[OWN_CERE, wax])
    found = look_up(one_bird, "the cere")
    assert [note.definition for note in found.terms] == ["The waxy base of the bill."]
    assert found.sources == (OWN_CERE.source,)
    assert [note.name for note in look_up(one_bird, "the speculum").terms] == ["wax"]
    kb.remove(one_bird, ["cere", "wax"])
    assert not look_up(one_bird, "the cere").found
    assert look_up(one_bird, "the speculum").found
    assert kb.remove(one_bird, ["Speculum"]).names == ("speculum",), "of the glossary"
    assert not look_up(one_bird, "the speculum").found
    with kb.open(one_bird) as store:
        assert store.status().left_out == {"term: removed by the user": 3}
    assert kb.verify(one_bird).ok
