"""Web search by a search model over a real HTTP server: answers kept whole, with their citations."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock

import pytest

import kb
from data.records import Context, WebAnswer
from kb.distill.prompts import DistilPrompts
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.lookup.context import contexts
from kb.lookup.context_settings import CONTEXT_PRESETS
from kb.lookup.gathering import search_web
from kb.sources.starter import StarterSource
from kb.store.chroma import Collections
from kb.store.layout import collection_name
from tests.made_once import made_once
from tests.servers.openai_server import Answer, Call, OpenAIServer
from tests.toy.encoders import toy_encoders

FROGS, TOADS = "https://a.example/frogs", "https://b.example/toads"


def answer_to(answer: Answer, *, query: str = "amplexus") -> WebAnswer | None:
    with OpenAIServer(answer) as server, Connection(Endpoint(model="sonar", base_url=server.base_url)) as chat:
        return search_web(query, chat, DistilPrompts())


def test_an_answer_is_kept_whole_with_model_and_date() -> None:
    text = "Frogs embrace. The male holds the female [1].\n\n**Toads** do too.[2] It lasts [1][2]. Look for two frogs."
    results = [{"title": "Frogs", "url": FROGS, "snippet": "A snippet."}, {"title": "Toads", "url": TOADS}]
    found = answer_to(Answer(text=text, more={"search_results": results}))
    assert found is not None
    assert (found.name, found.definition, found.model) == ("amplexus", text, "sonar")
    assert [(source.title, source.url) for source in found.citations] == [("Frogs", FROGS), ("Toads", TOADS)]
    assert len(found.asked_on) == len("2026-11-23")


def test_a_declined_search_finds_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert answer_to(Answer(text=None, refusal="I cannot help.")) is None
    assert "I cannot help" in caplog.text


def test_a_cached_answer_keeps_its_sources(tmp_path: Path) -> None:
    answer = Answer(text="He holds on [1].", more={"citations": [FROGS]})
    with (
        OpenAIServer(answer) as server,
        Connection(Endpoint(model="sonar", base_url=server.base_url), cache=ReplyCache(tmp_path / "r.sqlite")) as chat,
    ):
        first = search_web("amplexus", chat, DistilPrompts())
        assert first is not None and first.citations
        assert search_web("amplexus", chat, DistilPrompts()) == first
        assert server.n_calls == 1
        assert "about 100 tokens" in server.calls[0].text and "amplexus" in server.calls[0].text


# --- answers in a knowledge base -----------------------------------------------------------------------------------


@pytest.fixture
def with_answer(tmp_path_factory: pytest.TempPathFactory, one_bird: Path) -> Path:
    """A knowledge base with one species and the answer to "a frog in ammplexus"."""

    def make(path: Path) -> None:
        shutil.copytree(one_bird, path)
        reply = Answer(text="Frogs embrace. He holds her [1].", more={"citations": [FROGS, TOADS]})
        with (
            OpenAIServer(reply) as server,
            Connection(Endpoint(model="sonar", base_url=server.base_url)) as chat,
            kb.open(path) as store,
        ):
            paper = CONTEXT_PRESETS["paper"]
            kb.context(store, "a frog in ammplexus", toy_encoders().sentence, search=chat, settings=paper)

    return made_once(tmp_path_factory, "answered.kb", make)


def test_an_answer_lies_in_chroma_with_query_model_and_date_and_is_found_by_its_query(with_answer: Path) -> None:
    encoder = toy_encoders().sentence
    with kb.open(with_answer) as store:
        [answer] = store.terms()
        assert isinstance(answer, WebAnswer)
        assert [source.url for source in answer.citations] == [FROGS, TOADS]
        [(nearest, similarity)] = store.query_terms(encoder.encode_texts(["a frog in ammplexus"])[0], 1)
        assert (nearest, round(similarity, 5)) == (answer.term_id, 1.0)
        name = collection_name("terms", store.info.sentence)
        with Collections(store.layout, store.info) as collections:
            document, metadata = collections.texts(name, [answer.term_id])[answer.term_id]
        assert document == "a frog in ammplexus"
        assert metadata == {"name": "a frog in ammplexus", "model": "sonar", "asked_on": answer.asked_on}
        found = kb.context(store, "Photo of a frog in ammplexus", encoder)
        assert (found.passage, found.asked_on) == ("Frogs embrace. He holds her [1].", answer.asked_on)
        assert kb.context(store, "an albino frog in ammplexus", encoder).asked_on is None
    assert kb.verify(with_answer).ok


def test_queries_are_searched_together_and_near_ones_once(one_bird: Path) -> None:
    queries = [f"a frog with {n} zorbs" for n in (2, 3, 4, 5)]
    asked = [*queries, "photo of a frog with 2 zorbs", queries[1]]
    all_at_once = Barrier(len(queries), timeout=120)  # no reply before all are asked

    def reply(call: Call) -> Answer:
        all_at_once.wait()
        return Answer(
            text=f"{next(query for query in queries if query in call.text)} [1].", more={"citations": [FROGS]}
        )

    encoders = toy_encoders()
    with (
        OpenAIServer(reply) as server,
        Connection(Endpoint(model="sonar", base_url=server.base_url)) as chat,
        kb.open(one_bird) as store,
    ):
        found = list(contexts(store, asked, encoders.sentence, search=chat, settings=CONTEXT_PRESETS["paper"]))
    assert [each.passage for each in found] == [f"{query} [1]." for query in (*queries, queries[0], queries[1])]
    assert server.n_calls == len(queries)


def test_several_threads_search_at_the_same_time(one_bird: Path) -> None:
    both = Barrier(2, timeout=120)

    def reply(call: Call) -> Answer:
        both.wait()
        return Answer(text="Zorbs are round [1].", more={"citations": [FROGS]})

    encoders = toy_encoders()
    with (
        OpenAIServer(reply) as server,
        Connection(Endpoint(model="sonar", base_url=server.base_url)) as chat,
        kb.open(one_bird) as store,
        ThreadPoolExecutor(2) as pool,
    ):
        turn = Lock()

        def look(query: str) -> Context:
            paper = CONTEXT_PRESETS["paper"]
            return next(contexts(store, [query], encoders.sentence, search=chat, settings=paper, turn=turn))

        found = list(pool.map(look, ["a zorb", "two zorbs at dusk"]))
    assert [each.passage for each in found] == ["Zorbs are round [1]."] * 2


def test_sources_are_read_in_all_server_formats() -> None:
    for more, urls in (
        ({"citations": [FROGS]}, [FROGS]),
        ({"citations": [{"url": FROGS, "title": "Frogs"}]}, [FROGS]),
        ({"search_results": [{"url": FROGS}]}, [FROGS]),
        ({"citations": ["file:///etc/passwd", TOADS]}, [None, TOADS]),  # an invalid address keeps its place
    ):
        found = answer_to(Answer(text="The male holds on [1].", more=more))
        assert found is not None and found.source is not None
        assert ([source.url for source in found.citations], found.source.url) == (urls, urls[-1])


def test_an_answer_without_a_page_is_credited_to_its_model(caplog: pytest.LogCaptureFixture) -> None:
    for more in ({}, {"citations": []}, {"citations": ["javascript:alert(1)"]}, {"citations": "x"}):
        caplog.clear()
        found = answer_to(Answer(text="Trust me [1].", more=more))
        assert found is not None and found.source is not None
        assert (found.definition, found.source.title) == ("Trust me [1].", "sonar, without cited pages")
        assert "cites no page" in caplog.text


@pytest.mark.integration
def test_an_answer_survives_lost_vectors_the_next_build_and_a_bundle_and_is_removed_by_its_query(
    with_answer: Path,
) -> None:
    source, encoders = StarterSource(with_vectors=False), toy_encoders()
    digest = kb.verify(with_answer).digest
    shutil.rmtree(with_answer / "chroma")
    assert kb.verify(with_answer).digest == digest
    kb.build(with_answer, source.drawn_taxa()[:2], source, encoders)
    with kb.open(with_answer) as store:
        before, taxa = store.terms(), store.taxon_ids
        assert [term.name for term in before] == ["a frog in ammplexus"]
        assert kb.context(store, "a frog in ammplexus", encoders.sentence).found
    # Its licence is not stated.
    for name, with_unfree, terms in (("one", True, before), ("two", False, [])):
        bundle, copy = with_answer.with_name(name), with_answer.with_name(f"{name}.kb")
        exported = kb.export_bundle(with_answer, bundle, load_encoders=toy_encoders, with_unfree_pages=with_unfree)
        assert exported.withheld_pages == (not with_unfree)
        kb.import_bundle(bundle, copy, encoders)
        with kb.open(copy) as store:
            assert (store.terms(), store.taxon_ids) == (terms, taxa)
    kb.remove(with_answer, ["a frog in ammplexus"])
    with kb.open(with_answer) as store:
        assert store.terms() == []
        assert not kb.context(store, "a frog in ammplexus", encoders.sentence).found
