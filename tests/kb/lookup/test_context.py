import json
import logging
import socket
import time
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kb
from data.errors import CostStop, NotCached, Refused, SourceUnavailable
from data.files import writer_lock
from data.records import ChatReply, ChatRequest, Context, Source, Term, WebPassage
from kb.lookup.context import N_PARALLEL, contexts, remember
from kb.lookup.context_settings import CONTEXT_PRESETS, ContextSettings, ContextSources
from kb.lookup.findings import look_up
from kb.lookup.passages import is_supported, parse_reply, supported, texts_of
from kb.sources.starter import StarterSource
from tests.kb.lookup.shelf import BUTTERFLIES, entry
from tests.memory_store import BagOfWords, ShelfStore
from tests.toy.encoders import toy_encoders

ENCODER = BagOfWords()


def term(name: str, definition: str, look_for: str = "") -> Term:
    url = f"https://wiki.example/{name}"
    source = Source(title=name.title(), url=url, revision=9, licence="CC BY-SA 4.0")
    return Term(term_id=f"term:{name}", name=name, definition=definition, look_for=look_for, source=source)


EMBRACE = "The mating embrace of frogs: the male clasps the female from behind."
AMPLEXUS = term("amplexus", EMBRACE, "A small frog on the back of a larger one.")
ZORBLIN = term("zorblin", "A gland of frogs that swells in spring.")
ALBINISM = Term(term_id="term:albinism", name="albinism", definition="A lack of all pigment.", aliases=("albino",))
CERE = term("cere", "Bare skin at the base of the bill.")
CERE_TEXT = f"Cere: {CERE.definition}"
BILLS = Source(title="Bills", url="https://web.example/bills")
ANSWER = "Rhynchokinesis is the bending of the bill tip [1]. It is seen in waders."


class Glossary:
    """A wiki that explains fixed terms and records its queries."""

    def __init__(self, *terms: Term) -> None:
        self.terms = terms
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
        self.asked.append((query, tuple(known)))
        return [term for term in self.terms if term.name in query and term.name not in known]


class Model:
    """A model with one fixed reply or error, and citations, that records its requests."""

    name = "model"

    def __init__(self, reply: str | Exception = ANSWER, *citations: Source) -> None:
        self.fixed_reply, self.citations = reply, citations or (BILLS,)
        self.asked: list[str] = []

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request.messages[0].text)
        if isinstance(self.fixed_reply, Exception):
            raise self.fixed_reply
        cited = tuple(WebPassage(text="", source=source) for source in self.citations)
        return ChatReply(text=self.fixed_reply, model="sonar", citations=cited)


def sentences(*pairs: tuple[str, Sequence[int]]) -> str:
    return json.dumps({"sentences": [{"text": text, "sources": list(cited)} for text, cited in pairs]})


def store(*terms: Term) -> ShelfStore:
    return ShelfStore([], terms or (CERE,), ENCODER)


def ask(store: ShelfStore, query: str, **sources: Any) -> Context:
    return kb.context(store, query, ENCODER, ContextSources(**sources))


def test_the_wiki_explains_unknown_words_once_and_its_terms_are_learnt() -> None:
    wiki, held = Glossary(AMPLEXUS), store()
    first = ask(held, "a yellow cere and amplexus", wiki=wiki)
    assert wiki.asked == [("amplexus", ())]
    assert [note.name for note in first.terms] == ["cere", "amplexus"]
    assert first.sources == (CERE.source, AMPLEXUS.source)
    assert kb.context(held, "a yellow cere and amplexus", ENCODER) == first
    forgetful = store()
    assert ask(forgetful, "a yellow cere and amplexus", wiki=wiki, learn=False) == first
    assert kb.context(forgetful, "amplexus", ENCODER) == Context(query="amplexus", unexplained=("amplexus",))
    for settings, asked in (
        (ContextSettings(wiki="always"), [("a yellow cere, zorblin", ("cere",))]), (ContextSettings(wiki="never"), []),
    ):  # fmt: skip
        wiki = Glossary()
        ask(store(), "a yellow cere, zorblin", wiki=wiki, settings=settings)
        assert wiki.asked == asked
    other = replace(AMPLEXUS, term_id="term:cere", name="wax")
    assert not ask(store(), "wax of bees", wiki=Glossary(other)).found, "never in place of a term"


def test_the_web_is_asked_only_about_what_the_other_sources_leave_unexplained() -> None:
    web = Model()
    for query in ("a yellow cere", "frogs in amplexus", "a yellow cere on a road, 26 metres away", "  "):
        ask(store(), query, wiki=Glossary(AMPLEXUS), search=web)
    assert web.asked == []
    for query in ("two zebras on a road, 26 metres away", "fire pink", "a yellow cere of a zebra"):
        ask(store(), query, search=web)
    assert len(web.asked) == 3, "names, and a query without any result"
    found = ask(store(), "a cere and distal rhynchokinesis", search=web)
    assert found.passage == f"{ANSWER}\n{CERE_TEXT}"
    assert (found.sources, found.written_by) == ((BILLS, CERE.source), "sonar")
    assert (found.asked_on is None, found.unexplained) == (False, ("distal",))
    assert "a cere and distal rhynchokinesis" in web.asked[-1]
    nothing = kb.context(
        store(), "sunglasses", ENCODER, ContextSources(wiki=Glossary(), search=Model(""), chat=Model("unused"))
    )
    assert nothing == Context(query="sunglasses", unexplained=("sunglasses",))


def test_settings_choose_the_sources_and_their_order() -> None:
    web_first = ContextSettings(order=("web", "kb", "wiki"))
    for settings, asked, passage in (
        (ContextSettings(web="always"), 1, f"{ANSWER}\n{CERE_TEXT}"),
        (ContextSettings(kb="never"), 1, ANSWER),
        (ContextSettings(kb="never", web="never"), 0, ""),
        (ContextSettings(web="never"), 0, CERE_TEXT),
        (web_first, 1, f"{ANSWER}\n{CERE_TEXT}"),
        (ContextSettings(kb="always", order=("web", "wiki", "kb"), web="never"), 0, CERE_TEXT),
    ):
        web = Model()
        found = ask(store(), "a yellow cere", search=web, settings=settings)
        assert (len(web.asked), found.passage) == (asked, passage), settings
    web = Model("A cere is bare skin at the base of a bill [1].")
    found = ask(store(), "a yellow cere", search=web, settings=web_first)
    assert (found.passage, found.terms) == (web.fixed_reply, ()), "no other source is needed"
    with pytest.raises(ValueError, match="expected kb, wiki and web, each once, got kb, web"):
        ContextSettings(order=("kb", "web"))


def test_a_stored_answer_replaces_another_search_for_the_same_and_near_queries() -> None:
    answer = "An albino American robin is white all over [2].\n\nA leucistic robin keeps dark eyes [1][3]."
    pages = tuple(Source(title=f"Page {i}", url=f"https://web.example/{i}") for i in (1, 2, 3))
    robin = entry("Turdus migratorius", "American Robin", "A thrush.")
    held, web = ShelfStore([robin], [CERE, ALBINISM], ENCODER), Model(answer, *pages)
    settings, chat = CONTEXT_PRESETS["paper"], Model("unused")
    for near in ("albino American robin", "A photo of albino American robins", "Albino American robin, seen."):
        found = ask(held, near, search=web, settings=settings, chat=chat)
        assert (found.passage, found.sources) == (answer, pages), near
    assert (len(web.asked), chat.asked) == (1, []), "whole, with its citations in order"
    for other in ("American robin", "two albino American robins", "albino American robin not in snow"):
        ask(held, other, search=web, settings=settings)
        assert other in web.asked[-1]


def test_a_model_writes_the_passage_with_the_sources_that_it_cites() -> None:
    """Sentences without support in their sources are dropped, and sources that nothing cites."""
    good = ("A small frog sits on the back of a larger one [2].", [2])
    for unsupported in (
        ("The male clasps the female from behind.", []),
        ("The male clasps the female from behind.", [3]),
        ("The green male clasps the female from behind.", [2]),
        ("The male clasps the female from behind for 3 days.", [2]),
        ("Two males clasp the female from behind.", [2]),
        ("Toxic warts secrete poison at dusk.", [2]),
        ("See https://evil.example for the mating embrace of frogs.", [2]),
    ):
        writer = Model(sentences(unsupported, good))
        found = ask(store(CERE, AMPLEXUS), "a cere, frogs in amplexus", chat=writer)
        assert found.passage == "A small frog sits on the back of a larger one. [1]", unsupported
        assert (found.sources, found.written_by) == ((AMPLEXUS.source,), "model")
        assert [note.name for note in found.terms] == ["cere", "amplexus"]
    [text] = texts_of(look_up(store(AMPLEXUS), "amplexus", ENCODER), store(AMPLEXUS), "amplexus")
    pair = ("The mating embrace of frogs where the male clasps the female from behind.", (1,))
    assert supported([pair] * 30, [text], "amplexus") == [pair] * 9, "of 13 words each, up to 120"
    for sentence, evidence, query, is_kept in (
        ("The male holds the female.", "The male clasps and holds a female.", "amplexus", True),
        ("The male is green.", "The male clasps and holds a female.", "amplexus", False),
        ("A godwit bends the tip of its bill.", "The bending of the tip of the bill.", "a godwit", True),
        ("The red bill bends.", "The bill bends.", "a red bill", False),
        ("A reddish bill bends.", "The bill is red and bends.", "", True),
    ):
        assert is_supported(sentence, evidence, query) == is_kept, sentence
    reply = 'Here: {"sentences": [{"text": " A  bill [1][2] bends. ", "sources": [1, "2", 2]}]}'
    assert parse_reply(reply) == [("A bill bends.", (1, 2))]


def test_without_a_usable_reply_the_passage_is_composed_unless_the_model_is_required(
    caplog: pytest.LogCaptureFixture,
) -> None:
    composed = kb.context(store(AMPLEXUS), "frogs in amplexus", ENCODER)
    for reply in ("no JSON", "{}", sentences(), '{"sentences": [1]}', Refused("I cannot help")):
        assert ask(store(AMPLEXUS), "frogs in amplexus", chat=Model(reply)) == composed, reply
    for failure in (SourceUnavailable("unreachable"), NotCached("offline")):
        caplog.clear()
        assert ask(store(AMPLEXUS), "frogs in amplexus", chat=Model(failure)) == composed
        [warning] = caplog.messages
        assert str(failure) in warning
        with pytest.raises(type(failure), match=str(failure)):
            kb.context(
                store(AMPLEXUS), "frogs in amplexus", ENCODER, ContextSources(chat=Model(failure), require_chat=True)
            )
    with pytest.raises(CostStop):
        ask(store(AMPLEXUS), "amplexus", chat=Model(CostStop("enough")))


def test_a_failed_model_is_not_used_for_later_queries(caplog: pytest.LogCaptureFixture) -> None:
    writer = Model(SourceUnavailable("unreachable"))
    queries = [f"cere of bird {i}" for i in range(3 * N_PARALLEL)]
    with caplog.at_level(logging.WARNING):
        found = list(contexts(store(), queries, ENCODER, ContextSources(chat=writer)))
    assert [answer.query for answer in found] == queries
    assert all(answer.found for answer in found)
    assert 1 <= len(writer.asked) <= N_PARALLEL and len(caplog.messages) == 1


def test_answers_before_a_stop_for_cost_come_out() -> None:
    class Stopped(Model):
        async def reply(self, request: ChatRequest) -> ChatReply:
            if "zeta" in request.messages[0].text:
                raise CostStop("enough")
            return await super().reply(request)

    answers = contexts(store(), ["a cere", "cere of alpha", "cere of zeta"], ENCODER, ContextSources(chat=Stopped()))
    assert [next(answers).query, next(answers).query] == ["a cere", "cere of alpha"]
    with pytest.raises(CostStop):
        next(answers)


def test_queries_side_by_side_ask_the_wiki_once_and_all_have_its_term() -> None:
    class Slow(Glossary):
        def explain(self, query: str, *, known: Collection[str]) -> list[Term]:
            time.sleep(0.02)
            return super().explain(query, known=known)

    wiki = Slow(ZORBLIN)
    found = list(contexts(store(), [f"a zorblin, {i}" for i in range(N_PARALLEL)], ENCODER, ContextSources(wiki=wiki)))
    assert [note.name for answer in found for note in answer.terms] == ["zorblin"] * N_PARALLEL
    assert len(wiki.asked) == 1


def test_larva_and_pupa_are_described_where_the_query_asks_for_them() -> None:
    for query, begins in (
        ("two peacocks on buddleia", "The wings are rusty red. Each wing tip carries"),
        ("caterpillar of a peacock butterfly", "The caterpillar is black with white dots."),
        ("peacock grub", "The caterpillar is black with white dots."),
        ("peacock chrysalis", "The pupa is green or grey-brown with two horns."),
    ):
        passage = kb.context(ShelfStore(BUTTERFLIES, (), ENCODER), query, ENCODER).passage
        assert passage.startswith(f"Peacock (Aglais io): {begins}")
        assert "usual colours" not in passage and ("wings" in passage) == (query == "two peacocks on buddleia")


def test_a_learnt_term_equals_a_built_one_and_the_next_build_keeps_it(one_bird: Path) -> None:
    """It is written beside the species, and readers go on with theirs."""
    encoders, source = toy_encoders(), StarterSource(with_vectors=False)
    encoder = encoders.sentence
    [vector] = encoder.encode_texts([f"{ZORBLIN.name}: {ZORBLIN.definition}"])

    def matrices() -> set[tuple[str, int, int]]:
        found = [(file.name.partition("-")[0], file.stat()) for file in (one_bird / "cache").glob("*.npy")]
        return {(name, state.st_ino, state.st_mtime_ns) for name, state in found}

    before = matrices()
    with kb.open(one_bird) as reader:
        first = kb.context(reader, "a frog's zorblin", encoder, ContextSources(wiki=Glossary(ZORBLIN)))
        assert kb.context(reader, "a frog's zorblin", encoder) == first
        assert (reader.query_terms(vector, 9), len(reader.query_species(vector, 9))) == ([], 1)
    assert matrices() == before, "those of the species"
    with kb.open(one_bird) as opened:
        assert [term.name for term in opened.terms()] == ["zorblin"]
        assert kb.context(opened, "a frog's zorblin", encoder) == first
        [(term_id, similarity)] = opened.query_terms(vector, 9)
        assert (term_id, round(similarity, 5)) == (ZORBLIN.term_id, 1.0)
    learnt, other = kb.verify(one_bird), one_bird.with_name("b.kb")
    assert (learnt.ok, learnt.problems) == (True, ())
    kb.build(other, source.drawn_taxa()[:1], source, encoders, terms=[ZORBLIN])
    assert kb.verify(other).digest == learnt.digest
    kb.build(one_bird, source.drawn_taxa()[:2], source, encoders)
    with kb.open(one_bird) as opened:
        assert ([term.name for term in opened.terms()], len(opened.taxon_ids)) == (["zorblin"], 2)


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_locked_knowledge_base_or_one_without_its_server_answers_without_learning(
    one_bird: Path, caplog: pytest.LogCaptureFixture, is_locked: bool
) -> None:
    encoder, beside, settings = toy_encoders().sentence, set(one_bird.parent.iterdir()), one_bird / "kb.toml"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    if not is_locked:
        settings.write_text(settings.read_text().replace('chroma = ""', f'chroma = "{address}"'))
    with kb.open(one_bird) as opened, writer_lock(opened.layout.lock) if is_locked else nullcontext():
        sources = ContextSources(search=Model(), settings=CONTEXT_PRESETS["paper"])
        assert kb.context(opened, "a frog's zorblin", encoder, sources).passage == ANSWER
        remember(opened, [], encoder)
    [warning] = [text for text in caplog.messages if "Not stored" in text]
    assert warning.startswith('Not stored, and looked up again next time: "a frog\'s zorblin". ')
    with kb.open(one_bird) as opened:
        assert (opened.terms(), set(one_bird.parent.iterdir())) == ([], beside)
