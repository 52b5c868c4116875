from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import kb
from data.codec import dumps, loads
from data.lexicon.words import stem, tokens
from data.records import Context, Source, Taxon, TaxonMatch, Term
from data.starter.knowledge import read_terms
from kb.lookup.context import remember
from kb.lookup.entries import find_entry
from kb.lookup.lookup_index import WordIndex, glossary_of, index_of, learn, query_key
from kb.sources.starter import StarterSource
from kb.store.knowledge_base import KnowledgeBase
from kb.store.ledger import Ledger
from tests.toy.encoders import toy_encoders

ZORBLIN = Term(term_id="term:zorblin", name="zorblin", definition="A gland of frogs.")
OWN_CERE = Term(
    term_id="term:cere", name="cere", definition="The waxy base of the bill.",
    source=Source(title="Cere", url="https://wiki.example/cere", revision=7, licence="CC BY-SA 4.0"),
)  # fmt: skip
QUERIES = ("red shoulder patch", "blue back and orange breast", "kingfisher", "Red-wingd Blackbrd")


def test_scores_match_a_hand_worked_table() -> None:
    index = WordIndex.of(["red crest", "Red, red", "black face", "green back", "blue wings"])
    # 2, 2, 2, 2 and 2 words are the mean, so tf 1 gives 2.2/2.2 = 1 and tf 2 4.4/3.2 = 1.375, of at most 2.2.
    assert index.match(["red"])[0] == pytest.approx([1 / 2.2, 1.375 / 2.2, 0, 0, 0], abs=1e-5)
    # ln(6 / 2.5) = 0.8755 for red, ln(6 / 1.5) = 1.3863 for crest
    scores, shares = index.match(["red", "crest", "red"])
    assert scores == pytest.approx([1 / 2.2, 1.375 * 0.8755 / (2.2 * 2.2618), 0, 0, 0], abs=1e-4)
    assert shares.tolist() == [1, 0.5, 0, 0, 0]
    # A word of most texts counts; of two words where the mean is 1.5, the norm is 1.2 * (0.25 + 0.75 * 2 / 1.5) = 1.5.
    most = WordIndex.of(["red cap", "red"]).match(["red"])[0]
    assert most == pytest.approx([1 / (1 + 1.5), 1 / (1 + 1.2 * 0.75)], abs=1e-4)
    assert WordIndex.of([]).match(["red"])[0].shape == (0,)
    for words in (["blue"], []):
        assert [part.tolist() for part in WordIndex.of(["red", ""]).match(words)] == [[0, 0], [0, 0]]
    assert [word in index for word in ("Crests", "the", "yellow")] == [True, False, False]


def test_tokens_unify_plurals_participles_and_spellings() -> None:
    assert tokens("The birds' grayish wings, barred with black") == ["bird", "grey", "wing", "bar", "black"]
    words = {"barring": "bar", "barred": "bar", "bars": "bar", "bodies": "body", "mated": "mat", "finches": "finch",
             "grass": "grass", "colour": "color", "ring": "ring", "rolled": "roll"}  # fmt: skip
    assert {word: stem(word) for word in words} == words


def test_queries_with_the_same_contents_have_one_key() -> None:
    for query, other, is_same in (
        ("A photo of frogs in amplexus", "frog in amplexus", True),
        ("Picture showing two Northern Cardinals.", "two northern cardinals", True),
        ("a hawk with a dead owl", "an owl with a dead hawk", False),
        ("an albino cardinal", "a cardinal", False),
        ("a Green Warbler", "a Greenish Warbler", False),
        ("what is this", "which are those", False),
        ("frogs not in amplexus", "frogs in amplexus", False),
    ):
        assert (query_key(query) == query_key(other)) == is_same, query


def look_up(path: Path, query: str) -> Context:
    with kb.open(path) as store:
        return kb.context(store, query, toy_encoders().sentence)


def test_the_shipped_glossary_explains_terms_and_is_cited(one_bird: Path) -> None:
    [cere] = [term for term in read_terms() if term.name == "cere"]
    for query in ("cere of a hawk", cere.definition):
        found = look_up(one_bird, query)
        assert [note.name for note in found.terms] == ["cere"]
        assert found.sources == (Source(title="cere, in Fieldmark's glossary", licence="Apache-2.0"),)
    with kb.open(one_bird) as store:
        assert store.terms() == []
        assert len(glossary_of(store)) == len(read_terms()) > 200


def test_own_terms_and_their_aliases_come_before_the_glossary_also_once_removed(one_bird: Path) -> None:
    wax = Term(term_id="term:wax", name="wax", aliases=("speculum",), definition="What bees make.")
    encoder = toy_encoders().sentence
    with kb.open(one_bird) as store:
        remember(store, [OWN_CERE, wax], encoder)
    with kb.open(one_bird) as store:
        assert find_entry(store, "Speculum") == wax
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


def answers(path: Path) -> list[list[TaxonMatch]]:
    sentence = toy_encoders().sentence
    with kb.open(path) as store:
        return [kb.search(store, query, sentence) for query in QUERIES]


def files(path: Path) -> list[Path]:
    return sorted((path / "cache").glob("lookup-*.bin"))


def test_damaged_files_are_made_again_and_those_of_an_earlier_state_removed(six_birds: Path) -> None:
    first = answers(six_birds)
    before = [file.read_bytes() for file in files(six_birds)]
    for damaged in ([content[:-1] + b"?" for content in before], [b"short", b""]):
        for file, content in zip(files(six_birds), damaged, strict=True):
            file.write_bytes(content)
        assert answers(six_birds) == first
    assert [len(file.read_bytes()) for file in files(six_birds)] == [len(content) for content in before]
    names, source = set(files(six_birds)), StarterSource(with_vectors=False)
    kb.build(six_birds, source.drawn_taxa()[6:7], source, toy_encoders())
    assert files(six_birds) == []
    assert len(answers(six_birds)) == len(QUERIES)
    assert names.isdisjoint(files(six_birds))


def test_a_learnt_term_leaves_the_files_and_reads_no_summary(six_birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, before = answers(six_birds), files(six_birds)
    assert all(first) and len(before) == 2
    with kb.open(six_birds) as store:
        generation, index = store.generation, index_of(store)
        remember(store, [ZORBLIN], toy_encoders().sentence)
        learn(store, [ZORBLIN])
        assert [ZORBLIN.term_id in held.terms for held in (index, index_of(store))] == [False, True], "replaced at once"
    with kb.open(six_birds) as store:
        assert store.generation != generation
        assert [term.name for term in store.terms()] == ["zorblin"]
    monkeypatch.setattr(KnowledgeBase, "summary_texts", lambda _: pytest.fail("the summaries were read again"))
    assert answers(six_birds) == first
    assert files(six_birds) == before


def test_names_that_a_killed_build_changed_are_found(six_birds: Path) -> None:
    """A build records the names of species before it publishes entries and a new state."""
    answers(six_birds)
    with closing(Ledger(six_birds / "ledger.sqlite")) as ledger, ledger.transaction():
        for key, record in ledger.subjects("taxon").items():
            taxon = replace(loads(Taxon, record), common_names=(f"Zyzzogeton {key[:4]}",), synonyms=())
            ledger.add_subjects([(key, "taxon", taxon.scientific_name, dumps(taxon))])
    with kb.open(six_birds) as store:
        assert kb.search(store, "Zyzzogetn agel", toy_encoders().sentence)[0].taxon_id == "agelaius-phoeniceus"
