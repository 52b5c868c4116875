"""The look-up index belongs to its store: made once, alone with its learnt terms, and gone with the store."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import kb
import recognize
from data.records import Term
from kb.lookup.index import Lookup, index_of
from kb.sources.starter import StarterSource
from tests.kb.lookup.shelf import ENCODER, SPECIES, TERMS
from tests.memory_store import ShelfStore

ZORBLIN = Term(term_id="term:zorblin", name="zorblin", definition="A gland of frogs.")


def test_learnt_terms_are_in_the_index_of_their_store_and_of_no_other() -> None:
    one, other = ShelfStore(SPECIES, TERMS, ENCODER), ShelfStore(SPECIES, TERMS, ENCODER)
    before = index_of(one)
    one.derived(Lookup).learn([ZORBLIN])
    assert [mention.ids for mention in index_of(one).names.find("a zorblin")] == [("term:zorblin",)]
    assert index_of(other).names.find("a zorblin") == []
    assert "term:zorblin" not in before.terms  # whoever looks something up meanwhile has a whole index
    assert index_of(one).summaries is before.summaries  # the words of thousands of species are not read again


def test_an_index_is_made_once_and_ends_with_its_knowledge_base(tmp_path: Path) -> None:
    source = StarterSource(with_vectors=False)
    kb.build(tmp_path / "a.kb", source.drawn_taxa()[:2], source, recognize.load_encoders("starter"))
    with kb.open(tmp_path / "a.kb") as store:
        index = index_of(store)
        assert index_of(store) is index
        lookup = weakref.ref(store.derived(Lookup))
    del store, index
    gc.collect()
    assert lookup() is None
