"""Every method that asks a model, with every kind of server: each gives what it gives with a plain one."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from data.benchmarks.retrieval.benchmark import VisualQuestion
from data.contracts import SeenImage
from data.errors import BadRequest, CutOff
from data.event_loop import wait_for
from data.records import (
    Article,
    Candidate,
    ChatMessage,
    ChatRequest,
    Context,
    Job,
    JobImage,
    Question,
    Section,
    Source,
    Taxon,
    Term,
)  # fmt: skip
from kb.distill.model import ModelDistiller
from kb.endpoints.connection import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.reply_cache import ReplyCache
from kb.endpoints.retry import RetryPolicy
from kb.lookup.findings import Findings
from kb.lookup.writing import write_passage
from recognize.reader.namer import Namer
from recognize.reader.reader import Reader
from rerank.answers.evidence import Picture
from rerank.answers.judge import AnswerJudge
from rerank.answers.reader import AnswerReader
from rerank.answers.replies import read_answer, read_verdict
from rerank.captions.texts import VisionCaptioner
from rerank.captions.visa import Visa
from rerank.cotrr.reranker import CotrrReranker
from rerank.cotrr.settings import CotrrSettings
from rerank.decompose.questions import QuestionWriter
from rerank.judges.probe import plain_image
from rerank.judges.settings import VisionSettings
from rerank.judges.vision import VisionJudge
from rerank.visret.instruction import InstructionWriter
from tests.memory_store import BagOfWords, ShelfStore
from tests.rerank.scripted import QUESTIONS, questions_reply
from tests.servers.kinds import KINDS, Kind, as_kind
from tests.servers.openai_server import Answer, Call, OpenAIServer, Reaction, Script, Status

Method = Callable[[Connection, Path], object]

CANDIDATES = [
    Candidate(taxon_id=name.lower(), scientific_name=name, common_name=name, score=1.0, summary="Grey.")
    for name in ("Aa", "Bb", "Cc")
]
CREST = Question(question="Does the bird have a crest?", statement="a crested bird", negation="a bird without a crest")
PARTS = {"subject": "a frog", "activity": "", "details": "", "environment": "", "ambiance": ""}
LOOKS = "The red wren has a black crown and a thin bill."


def jpeg(level: int = 90) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 40), (level,) * 3).save(out, "JPEG")
    return out.getvalue()


def level_of(picture: bytes) -> int:
    with Image.open(io.BytesIO(picture)) as opened:
        return int(opened.convert("L").getpixel((20, 20)))  # type: ignore[arg-type]


# --- the model -----------------------------------------------------------------------------------------------------


def word(yes: float, no: float) -> Answer:
    said = "Yes" if yes > no else "No"
    top = (("Yes", math.log(yes)), ("No", math.log(no)))
    return Answer(text=said, logprobs=((said, dict(top)[said], top),))


def model(call: Call) -> Answer | str:
    """Answer all methods, told apart by their prompts."""
    text = call.text
    if "key phrases" in text:
        return json.dumps({"phrases": ["frogs", "wet"], "questions": ["What is wet?", "Where is it?", "How many?"]})
    for known, said in (("Description:", "a wet frog on a leaf"), ("caption of this photo", "A grey frog sits there."),
                        ("one complete sentence", "A frog is wet.")):  # fmt: skip
        if known in text and not _properties(call):
            return said
    if "Is this picture red?" in text:
        return word(0.9, 0.1) if call.images[0] == plain_image("red") else word(0.1, 0.9)
    for known, reply in (
        ('"statements"', {"statements": [{"text": "It has a black crown.", "sentences": [1]}]}),
        ("=== TEXTS ===", {"sentences": [{"text": "Amplexus is a mating embrace.", "sources": [1]}]}),
        ('"species"', {"reason": "its crest", "species": "Bb"}),
        ("B. Bb", {"reason": "its crest", "answer": "B"}),
        ('"questions"', None),
        ("probability", {"probability": 80}),
    ):
        if known in text or known.strip('"') in _properties(call):
            return questions_reply() if reply is None else json.dumps(reply)
    if _properties(call) or "ranking" in text or "judgement" in text:
        return json.dumps(_cotrr(call))
    if "1. Does the photo" in text:
        answers = (("1", "Yes", 0.8), ("2", "No", 0.3), ("3", "Yes", 0.7))
        tokens = []
        for number, said, yes in answers:
            tokens += [(f"{number}.", 0.0, ()), (f" {said}", -0.1, (("Yes", math.log(yes)), ("No", math.log(1 - yes))))]
            tokens += [("\n", 0.0, ())]
        return Answer(text="".join(token for token, _, _ in tokens), logprobs=tuple(tokens))
    if "Begin with the single word" in text:  # with reasons after the answer
        said = word(0.75, 0.25)
        reason = " It has a tuft, but No other bird has two."
        return Answer(text=f"{said.text}.{reason}", logprobs=(*said.logprobs, (f".{reason}", 0.0, ())))
    if "Grade a student's answer" in text:
        return "Score: 0.5 | Redundant"
    if "Answer:" in text:  # with reasons
        said = word(0.75, 0.25)
        return Answer(
            text="It has a tuft.\nAnswer: Yes", logprobs=(("It has a tuft.\nAnswer: ", 0.0, ()), *said.logprobs)
        )
    return word(0.75, 0.25)


def _properties(call: Call) -> set[str]:
    form = call.payload.get("response_format", {}).get("json_schema", {})
    return set(form.get("schema", {}).get("properties", ()))


def _cotrr(call: Call) -> dict[str, object]:
    levels = [level_of(picture) for picture in call.images]
    if not levels:
        lines = re.findall(r"^\[(\d+)\].*\(level (\d+)\)", call.text, re.MULTILINE)
        if not lines:
            return PARTS
        levels = [int(level) for _, level in lines]
    if len(levels) == 1:
        judged = {"judgement": "good match", "reason": f"level {levels[0]}"}
        return {name: judged for name in (*PARTS, "overall")}
    return {"comparison": "by level", "ranking": sorted(range(1, len(levels) + 1), key=lambda i: -levels[i - 1])}


# --- the methods ---------------------------------------------------------------------------------------------------


def read(chat: Connection, _: Path) -> object:
    reading = wait_for(Reader(chat).read(jpeg(), CANDIDATES))
    return reading.choice, reading.failures


def name(chat: Connection, _: Path) -> object:
    return wait_for(Namer(chat, lambda text: text.lower() if text == "Bb" else None).read(jpeg())).choice


def questions(chat: Connection, _: Path) -> object:
    return [question.question for question in wait_for(QuestionWriter(chat).write("frogs", context="wet"))[0]]


def judge(settings: VisionSettings) -> Method:
    def method(chat: Connection, _: Path) -> object:
        found = asyncio.run(
            VisionJudge(chat, settings=settings).judge(
                SeenImage(jpeg=jpeg()), CREST, query="a crested bird on a post", context="", earlier=()
            )
        )
        return found.answer

    return method


def judge_together(chat: Connection, _: Path) -> object:
    asked = [Question(question=question, statement="", negation="") for question in QUESTIONS]

    async def all_of_them() -> list[str | None]:
        one = VisionJudge(chat)
        image = SeenImage(jpeg=jpeg())
        found = await one.judge_together(image, asked, query="frogs in amplexus", context="")
        # Without log-probabilities each question is asked by itself.
        return ["yes", "no", "yes"] if found is None else [judgement.answer for judgement in found]

    return asyncio.run(all_of_them())


def cotrr(settings: CotrrSettings) -> Method:
    def method(chat: Connection, folder: Path) -> object:
        levels = (40, 200, 120)
        for level in levels:
            (folder / f"{level}.jpg").write_bytes(jpeg(level))
        images = tuple(JobImage(image_id=str(level), path=f"{level}.jpg", score=0.0) for level in levels)
        job = Job(query_id="q", text="frogs", candidates=images)
        with closing(CotrrReranker(chat, settings=settings, root=folder)) as reranker:
            rows = asyncio.run(reranker.rank(job))
        return [row.image_id for row in rows], [row.error for row in rows], reranker.tally.is_complete

    return method


def distil(mode: str) -> Method:
    def method(chat: Connection, _: Path) -> object:
        section = Section(title="Description", level=2, start=0, end=len(LOOKS))
        article = Article(source=Source(title="Red wren"), text=LOOKS, sections=(section,))
        wren = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))
        made = wait_for(ModelDistiller(chat, mode=mode).distil_async(article, wren))  # type: ignore[arg-type]
        return made.summary.text if made.summary else None

    return method


def passage(chat: Connection, _: Path) -> object:
    term = Term(
        term_id="term:amplexus", name="amplexus", definition="A mating embrace of frogs.", source=Source(title="A")
    )
    store = ShelfStore([], [term], BagOfWords())
    answer = Context(query="frogs in amplexus", passage="A mating embrace of frogs.", found=True)
    return write_passage(answer, Findings(terms=(term,)), store, chat).passage  # type: ignore[arg-type]


def instruction(chat: Connection, _: Path) -> object:
    made = wait_for(InstructionWriter(chat).write(Job(query_id="q", text="wet frogs", candidates=())))
    return made.text, made.problem


def caption(chat: Connection, folder: Path) -> object:
    (folder / "frog.jpg").write_bytes(jpeg())
    return wait_for(VisionCaptioner(chat).caption(folder / "frog.jpg")).text


def visa(chat: Connection, _: Path) -> object:
    made = Visa(chat, chat)
    asked = wait_for(made.questions("wet frogs"))
    return asked.questions, wait_for(made.answer(jpeg(), asked.questions[0], asked.phrases)).text


def answers(chat: Connection, folder: Path) -> object:
    (folder / "a.jpg").write_bytes(jpeg())
    picture = Picture(entity="Aa", image_id="a.jpg", path=folder / "a.jpg")
    question = VisualQuestion(question_id="0", text="A crest?", answers=("yes",), queries=("0",), entities=("Aa",))

    async def asked() -> object:
        reader = AnswerReader(chat)
        shown, _ = await reader.look([picture])
        answer = read_answer((await reader.answer(question, shown)).text)
        return answer, read_verdict((await AnswerJudge(chat).judge(question, answer.answer)).text)

    return asyncio.run(asked())


def plain(chat: Connection, _: Path) -> object:
    request = ChatRequest(messages=(ChatMessage(role="user", text="Hello"),), max_tokens=20)
    return wait_for(chat.reply(request)).text.strip()


METHODS: dict[str, Method] = {
    "reader": read,
    "namer": name,
    "questions": questions,
    "judge": judge(VisionSettings()),
    "judge with reasons": judge(VisionSettings(reasons="before")),
    "judge that explains": judge(VisionSettings(reasons="after")),
    "judge by samples": judge(VisionSettings(samples=3)),
    "judge, three questions": judge_together,
    "cotrr": cotrr(CotrrSettings()),
    "cotrr of photos": cotrr(CotrrSettings(stages="ranking")),
    "cotrr in one call": cotrr(CotrrSettings(form="one-call", orders=1)),
    "distiller": distil("model"),
    "distiller, two passes": distil("model-two-pass"),
    "passage": passage,
    "instruction of visret": instruction,
    "caption": caption,
    "visa": visa,
    "answers": answers,
    "plain": plain,
}


def run(method: Method, kind: Kind, folder: Path) -> tuple[object, OpenAIServer]:
    with OpenAIServer(as_kind(model, kind)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url)
        with Connection(endpoint, retry=RetryPolicy(tries=2, first_wait_s=0.01)) as chat:
            return method(chat, folder), server


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS[1:], ids=lambda kind: kind.name)
def test_a_method_gives_the_same_with_every_kind_of_server(method: str, kind: Kind, tmp_path: Path) -> None:
    expected, _ = run(METHODS[method], KINDS[0], tmp_path)
    found, server = run(METHODS[method], kind, tmp_path)
    assert found == expected
    if kind.thinking:
        assert any(
            call.payload["max_tokens"] > kind.n_thoughts for call in server.calls if "max_tokens" in call.payload
        )


def test_an_answer_that_stays_cut_off_is_an_error() -> None:
    endless = Kind(name="endless", thinking="tags", n_thoughts=80_000)
    with (
        OpenAIServer(as_kind(model, endless)) as server,
        Connection(Endpoint(model="m", base_url=server.base_url)) as chat,
    ):
        with pytest.raises(CutOff, match=r"m@127.0.0.1: the reply was cut off at 32,788 tokens, in its reasoning"):
            plain(chat, Path())
        assert [call.payload["max_tokens"] for call in server.calls] == [20, 2_068, 8_212, 32_788]
        assert chat.budget.meter.cut_off == 4


@pytest.mark.parametrize(
    ("first", "tokens"),
    [(500, [500, 2_548]), (1_000, [1_000]), (4_096, [4_096]), (None, [20, 2_068])],
)
def test_the_tokens_of_the_settings_are_those_of_the_first_try(first: int | None, tokens: list[int]) -> None:
    thinks = Kind(name="thinks", thinking="field", n_thoughts=600)
    with OpenAIServer(as_kind(model, thinks)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, max_tokens=first)
        with Connection(endpoint) as chat:
            assert plain(chat, Path()) == "Yes"
        assert [call.payload["max_tokens"] for call in server.calls] == tokens


def test_the_tokens_grow_from_those_of_the_settings_up_to_a_bound() -> None:
    endless = Kind(name="endless", thinking="hidden", n_thoughts=90_000)
    with OpenAIServer(as_kind(model, endless)) as server:
        endpoint = Endpoint(model="m", base_url=server.base_url, max_tokens=8_192)
        with Connection(endpoint) as chat, pytest.raises(CutOff, match="at 40,960 tokens, in its reasoning"):
            plain(chat, Path())
        assert [call.payload["max_tokens"] for call in server.calls] == [8_192, 16_384, 40_960]


def test_after_one_reply_with_reasoning_the_others_get_enough_at_once(tmp_path: Path) -> None:
    thinks = Kind(name="thinks", thinking="tags", n_thoughts=3_000)
    with (
        OpenAIServer(as_kind(model, thinks)) as server,
        ReplyCache(tmp_path / "replies") as cache,
        Connection(Endpoint(model="m", base_url=server.base_url), cache=cache) as chat,
    ):
        assert plain(chat, tmp_path) == "Yes"
        assert questions(chat, tmp_path) == list(QUESTIONS)
        assert [call.payload["max_tokens"] for call in server.calls] == [20, 2_068, 8_212, 9_692]
        assert plain(chat, tmp_path) == "Yes"
        assert server.n_calls == 4, "from the cache, though the first request was for 20 tokens"


def with_context(n: int, script: Script) -> Script:
    """Return a script that refuses requests with more tokens than the context has."""

    def served(call: Call) -> Reaction:
        n_prompt = len(call.text.split())
        if call.payload["max_tokens"] + n_prompt > n:
            return Status(status=400, error={"message": f"This model's maximum context length is {n} tokens."})
        return script(call)

    return served


def test_a_server_that_allows_no_more_tokens_is_named() -> None:
    served = with_context(4_096, as_kind(model, Kind(name="thinks", thinking="tags", n_thoughts=7_000)))
    with OpenAIServer(served) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        with pytest.raises(CutOff, match="at 2,068 tokens, in its reasoning, and the server allows no more"):
            plain(chat, Path())
        assert [call.payload["max_tokens"] for call in server.calls] == [20, 2_068, 8_212, 4_106]


def test_a_reply_gets_as_many_tokens_as_the_context_has() -> None:
    served = with_context(6_000, as_kind(model, Kind(name="thinks", thinking="tags", n_thoughts=3_000)))
    with OpenAIServer(served) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        assert [plain(chat, Path()), plain(chat, Path())] == ["Yes", "Yes"]
        assert [call.payload["max_tokens"] for call in server.calls] == [20, 2_068, 8_212, 4_106, 4_106]


def test_learnt_tokens_are_given_up_where_the_context_is_too_small_for_them() -> None:
    served = with_context(9_000, as_kind(model, Kind(name="thinks", thinking="tags", n_thoughts=3_000)))
    long = ChatRequest(messages=(ChatMessage(role="user", text="word " * 3_000),), max_tokens=1_500)
    with OpenAIServer(served) as server, Connection(Endpoint(model="m", base_url=server.base_url)) as chat:
        assert plain(chat, Path()) == "Yes"
        assert wait_for(chat.reply(long)).text == "Yes"
        assert wait_for(chat.reply(long)).text == "Yes"
        assert [call.payload["max_tokens"] for call in server.calls][2:] == [8_212, 9_692, 4_846, 4_846]


def test_tokens_of_the_settings_that_the_server_refuses_are_halved_for_all_requests() -> None:
    with (
        OpenAIServer(with_context(3_000, as_kind(model, KINDS[0]))) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, max_tokens=8_192)) as chat,
    ):
        assert [plain(chat, Path()), plain(chat, Path())] == ["Yes", "Yes"]
        assert [call.payload["max_tokens"] for call in server.calls] == [8_192, 4_096, 2_048, 2_048]


def test_a_prompt_that_no_tokens_fit_is_an_error_with_the_fewest_tried() -> None:
    with (
        OpenAIServer(with_context(2, as_kind(model, KINDS[0]))) as server,
        Connection(Endpoint(model="m", base_url=server.base_url, max_tokens=64)) as chat,
    ):
        with pytest.raises(BadRequest, match="maximum context length is 2") as caught:
            plain(chat, Path())
        assert [call.payload["max_tokens"] for call in server.calls] == [64, 32, 20]
        assert caught.value.hint == "20 tokens for the reply are refused, too."


def test_tries_that_were_cut_off_in_an_earlier_run_are_not_made_again(tmp_path: Path) -> None:
    endless = Kind(name="endless", thinking="tags", n_thoughts=80_000)
    thinks = replace(endless, n_thoughts=3_000)

    def tokens(kind: Kind, script: Callable[[Script], Script] = lambda script: script) -> list[int]:
        with (
            OpenAIServer(script(as_kind(model, kind))) as server,
            ReplyCache(tmp_path / "replies") as cache,
            Connection(Endpoint(model="m", base_url=server.base_url), cache=cache) as chat,
        ):
            with suppress(CutOff):
                plain(chat, tmp_path)
            return [call.payload["max_tokens"] for call in server.calls]

    assert tokens(endless, partial(with_context, 4_000)) == [20, 2_068, 8_212, 4_106]
    assert tokens(endless, partial(with_context, 4_000)) == [8_212, 4_106], "refused, at no cost"
    assert tokens(endless) == [8_212, 32_788]
    assert tokens(endless) == [32_788], "one try, since the server may have changed"
    assert tokens(thinks) == [32_788]
    assert tokens(thinks) == [], "from the cache"


def test_a_reply_that_was_cut_off_tells_its_tokens_and_cost_once(tmp_path: Path) -> None:
    endless = Kind(name="endless", thinking="hidden", n_thoughts=80_000)
    request = ChatRequest(messages=(ChatMessage(role="user", text="Hello"),), max_tokens=20)

    async def twice(chat: Connection) -> list[object]:
        return await asyncio.gather(chat.reply(request), chat.reply(request), return_exceptions=True)

    with OpenAIServer(as_kind(model, endless)) as server, ReplyCache(tmp_path / "replies") as cache:
        endpoint = Endpoint(model="m", base_url=server.base_url, price_in=0, price_out=1_000_000)
        with Connection(endpoint, cache=cache) as chat:
            errors = asyncio.run(twice(chat))
            paid = [(error.output_tokens, error.cost_usd) for error in errors if isinstance(error, CutOff)]
            assert sorted(paid) == [(0, 0.0), (20 + 2_068 + 8_212 + 32_788, 43_088.0)]
            assert chat.budget.meter.spent_usd == 43_088
