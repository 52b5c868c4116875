"""The look-up index of a store, and the shipped glossary in it."""

from __future__ import annotations

import gc
import shutil
import weakref
from pathlib import Path

import pytest

import kb
import recognize
from data.records import Context, Source, Term
from data.starter.knowledge import read_terms
from kb.lookup.index import Lookup, glossary_of, index_of, shipped_terms
from kb.sources.starter import StarterSource
from tests.kb.lookup.shelf import ENCODER, SPECIES, TERMS
from tests.memory_store import BagOfWords, ShelfStore

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


# --- the shipped glossary ---

OWN_CERE = Term(
    term_id="term:cere",
    name="cere",
    definition="The waxy base of the bill.",
    source=Source(title="Cere", url="https://wiki.example/cere", revision=7, licence="CC BY-SA 4.0"),
)


@pytest.fixture(scope="module")
def without_terms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = StarterSource(with_vectors=False)
    path = tmp_path_factory.mktemp("glossary") / "a.kb"
    kb.build(path, source.drawn_taxa()[:1], source, recognize.load_encoders("plain"))
    return path


@pytest.fixture
def own(without_terms: Path, tmp_path: Path) -> Path:
    """A copy of a knowledge base with one species and no terms."""
    return Path(shutil.copytree(without_terms, tmp_path / "a.kb"))


def asked(path: Path, query: str) -> Context:
    with kb.open(path) as store:
        return kb.context(store, query, recognize.load_encoders("plain").sentence)


def test_a_knowledge_base_without_terms_explains_the_words_that_ship_and_names_the_glossary(own: Path) -> None:
    found = asked(own, "cere of a hawk")
    assert [note.name for note in found.terms] == ["cere"]
    assert [(source.title, source.licence, source.url) for source in found.sources] == [
        ("cere, in Fieldmark's glossary", "Apache-2.0", None)
    ]
    with kb.open(own) as store:
        assert store.terms() == []
        assert len(glossary_of(store)) == len(read_terms()) > 200


def test_a_description_finds_a_term_of_the_glossary_too(own: Path) -> None:
    [term] = [term for term in shipped_terms() if term.name == "cere"]
    assert [note.name for note in asked(own, term.definition).terms] == ["cere"]


def test_terms_of_the_knowledge_base_come_before_those_that_ship(own: Path) -> None:
    source = StarterSource(with_vectors=False)
    kb.build(own, source.drawn_taxa()[:1], source, recognize.load_encoders("plain"), terms=[OWN_CERE])
    found = asked(own, "the cere")
    assert [note.definition for note in found.terms] == ["The waxy base of the bill."]
    assert found.sources == (OWN_CERE.source,)


def test_another_term_of_that_name_comes_before_the_one_that_ships(own: Path) -> None:
    wax = Term(term_id="term:wax", name="wax", aliases=("cere",), definition="What bees make.")
    source = StarterSource(with_vectors=False)
    kb.build(own, source.drawn_taxa()[:1], source, recognize.load_encoders("plain"), terms=[wax])
    assert [note.name for note in asked(own, "the cere").terms] == ["wax"]


def test_what_the_user_removed_is_not_explained_by_the_glossary_either(own: Path) -> None:
    source = StarterSource(with_vectors=False)
    kb.build(own, source.drawn_taxa()[:1], source, recognize.load_encoders("plain"), terms=[OWN_CERE])
    kb.remove(own, ["cere"])
    assert not asked(own, "the cere").found
    assert asked(own, "the speculum").found


def test_a_term_of_the_glossary_that_the_knowledge_base_lacks_can_be_removed_too(own: Path) -> None:
    assert kb.remove(own, ["Cere"]).names == ("cere",)
    assert not asked(own, "the cere").found
    with kb.open(own) as store:
        assert store.status().left_out == {"term: removed by the user": 1}
    assert kb.verify(own).ok


def test_a_store_in_memory_has_its_own_terms_alone() -> None:
    store = ShelfStore([], [OWN_CERE], BagOfWords())
    assert glossary_of(store) == []
    assert not kb.context(store, "the speculum", BagOfWords()).found
