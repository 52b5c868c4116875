import os
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import pytest

import kb
from data.records import Context, Term, WebAnswer
from kb.distill.prompts import DistilPrompts
from kb.endpoints.cache import ReplyCache
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.lookup.context import contexts, remember, search_web
from kb.lookup.context_settings import CONTEXT_PRESETS, ContextSources
from kb.lookup.entries import find_entry
from kb.store.chroma import Chroma
from kb.store.layout import collection_name
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Script
from tests.toy.encoders import toy_encoders

FROGS, TOADS = "https://a.example/frogs", "https://b.example/toads"
ZORBLIN = Term(
    term_id="term:zorblin", name="zorblin", definition="A gland of frogs that swells in spring.", aliases=("zorb",)
)
PAPER = CONTEXT_PRESETS["paper"]


@contextmanager
def search_model(
    script: Script | Reaction, *, cache: ReplyCache | None = None
) -> Iterator[tuple[Connection, OpenAIServer]]:
    with (
        OpenAIServer(script) as server,
        Connection(Endpoint(model="sonar", base_url=server.base_url), cache=cache) as chat,
    ):
        yield chat, server


def test_an_answer_is_kept_whole_with_model_date_and_sources_and_cached(tmp_path: Path) -> None:
    text = "Frogs embrace. The male holds the female [1].\n\n**Toads** do too.[2] It lasts [1][2]. Look for two frogs."
    results = [{"title": "Frogs", "url": FROGS, "snippet": "A snippet."}, {"title": "Toads", "url": TOADS}]
    answer = Answer(text=text, more={"search_results": results})
    with search_model(answer, cache=ReplyCache(tmp_path / "r.sqlite")) as (chat, server):
        found = search_web("amplexus", chat, DistilPrompts())
        assert search_web("amplexus", chat, DistilPrompts()) == found
        assert server.n_calls == 1
        assert "about 100 tokens" in server.calls[0].text and "amplexus" in server.calls[0].text
    assert found is not None
    assert (found.name, found.definition, found.model) == ("amplexus", text, "sonar")
    assert [(source.title, source.url) for source in found.citations] == [("Frogs", FROGS), ("Toads", TOADS)]
    assert len(found.asked_on) == len("2026-11-23")


def test_an_answer_without_a_page_is_credited_to_its_model_and_a_refusal_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    replies = (
        Answer(text="Two [1].", more={"citations": ["file:///etc/passwd", TOADS]}), Answer(text="Two."),
        Answer(text=None, refusal="I cannot help."), Answer(text=" "),
    )  # fmt: skip
    with search_model(lambda call: replies[call.number - 1]) as (chat, _):
        toads, plain, refused, empty = (search_web(f"amplexus {i}", chat, DistilPrompts()) for i in range(4))
    assert toads is not None and plain is not None and (refused, empty) == (None, None)
    assert [source.url for source in (*toads.citations, toads.source) if source] == [None, TOADS, TOADS]
    assert (plain.source and plain.source.title, plain.citations) == ("sonar, without cited pages", ())
    assert caplog.text.count("cites no page") == 1 and "I cannot help" in caplog.text


def test_an_answer_lies_in_chroma_with_query_model_and_date_and_is_found_by_its_query(one_bird: Path) -> None:
    encoder = toy_encoders().sentence
    reply = Answer(text="Frogs embrace. He holds her [1].", more={"citations": [FROGS, TOADS]})
    with search_model(reply) as (chat, _), kb.open(one_bird) as store:
        kb.context(store, "a frog in ammplexus", encoder, ContextSources(search=chat, settings=PAPER))
    with kb.open(one_bird) as store:
        [answer] = store.terms()
        assert isinstance(answer, WebAnswer)
        assert [source.url for source in answer.citations] == [FROGS, TOADS]
        [(nearest, similarity)] = store.query_terms(encoder.encode_texts(["a frog in ammplexus"])[0], 1)
        assert (nearest, round(similarity, 5)) == (answer.term_id, 1.0)
        name = collection_name("terms", store.info.sentence)
        metadata = {"name": "a frog in ammplexus", "model": "sonar", "asked_on": answer.asked_on}
        private = shutil.copytree(max(store.layout.vectors.glob("*/chroma"), key=os.path.getmtime), store.path / "copy")
        with Chroma(store.info, private, store.path) as chroma:
            rows = chroma.texts(name, [answer.term_id])
        assert rows == {answer.term_id: ("a frog in ammplexus", metadata)}
        found = kb.context(store, "Photo of a frog in ammplexus", encoder)
        assert (found.passage, found.asked_on) == ("Frogs embrace. He holds her [1].", answer.asked_on)
        assert kb.context(store, "an albino frog in ammplexus", encoder).asked_on is None
    assert kb.verify(one_bird).ok


def test_answers_beside_the_shipped_knowledge_base_lie_in_a_file_of_their_own(
    one_bird: Path, caplog: pytest.LogCaptureFixture
) -> None:
    digest = kb.verify(one_bird).digest
    path = one_bird.with_name("starter") / "0123456789abcdef.kb"
    path.parent.mkdir()
    one_bird.rename(path)
    encoder, query = toy_encoders().sentence, "a frog in ammplexus"
    with search_model(Answer(text="He holds her.", more={"citations": [FROGS]})) as (chat, server):
        for _ in range(2):
            with kb.open(path) as store:
                found = kb.context(store, query, encoder, ContextSources(search=chat, settings=PAPER))
                assert (found.passage, store.terms()) == ("He holds her.", [])
        assert server.n_calls == 1
    assert kb.verify(path).digest == digest
    path, file = path.rename(path.with_name("fedcba9876543210.kb")), path.with_name("learnt.sqlite")
    described = "a gland of frogs swelling up in the spring rain of ponds"
    with kb.open(path) as store:
        assert kb.context(store, query, encoder).sources == found.sources, "also found by the next version"
        remember(store, [ZORBLIN, Term(term_id="term:wen", name="wen", definition="A wart.")], encoder)
    with kb.open(path) as store:
        assert find_entry(store, "Zorb") == ZORBLIN
        answer = find_entry(store, query)
        assert isinstance(answer, WebAnswer) and answer.definition == found.passage
        assert [term.name for term in kb.context(store, described, encoder).terms] == ["zorblin"], "of similar vectors"
    assert kb.remove(path, ["Zorb", query]).names == ("zorblin", query)
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE entries SET text = replace(text, 'wart', 'wars')")
        db.commit()
    with kb.open(path) as store:
        for gone in ("zorblin", "wen", query):
            assert not kb.context(store, gone, encoder).found
    file.unlink()
    file.mkdir()
    with kb.open(path) as store:
        assert not kb.context(store, query, encoder).found
    assert "Terms and answers learnt earlier are not used" in caplog.text
    assert kb.verify(path).digest == digest


def test_queries_are_searched_together_near_ones_once_and_by_several_threads(one_bird: Path) -> None:
    queries = [f"a frog with {n} zorbs" for n in (2, 3, 4, 5)]
    threaded = ["a zorb", "two zorbs at dusk"]
    all_at_once, both = Barrier(len(queries), timeout=120), Barrier(2, timeout=120)  # no reply before all are asked

    def reply(call: Call) -> Answer:
        query = next(query for query in (*queries, *threaded) if query in call.text)
        (all_at_once if query in queries else both).wait()
        return Answer(text=f"{query} [1].", more={"citations": [FROGS]})

    sentence = toy_encoders().sentence
    with search_model(reply) as (chat, server), kb.open(one_bird) as store, ThreadPoolExecutor(2) as pool:
        sources = ContextSources(search=chat, settings=PAPER)
        asked = [*queries, "photo of a frog with 2 zorbs", queries[1]]
        found = list(contexts(store, asked, sentence, sources))
        assert [each.passage for each in found] == [f"{query} [1]." for query in (*queries, queries[0], queries[1])]
        assert server.n_calls == len(queries)

        def look(query: str) -> Context:
            return kb.context(store, query, sentence, sources)

        assert [each.passage for each in pool.map(look, threaded)] == [f"{query} [1]." for query in threaded]
