"""Methods that ask a model, with several kinds of servers: each gives what it gives with a plain one."""

import asyncio
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.contracts import SeenImage
from data.event_loop import wait_for

from data.records import Article, Candidate, ChatMessage, ChatRequest, Context, Job, JobImage  # isort: skip
from data.records import Question, Section, Source, Taxon, Term
from kb.distill.model import ModelDistiller
from kb.distill.prompts import DistilPrompts
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.http import RetryPolicy
from kb.lookup.context_settings import ContextSources
from kb.lookup.findings import Findings
from kb.lookup.passages import write_passage
from recognize.reader.reader import Reader
from rerank.cotrr.reranker import CotrrReranker
from rerank.judges.vision import VisionJudge, plain_image
from rerank.settings import VisionSettings
from tests.memory_store import BagOfWords, ShelfStore
from tests.rerank.scripted import QUESTIONS, questions_reply
from tests.servers import faulty_wiki
from tests.servers.kinds import KINDS, Kind, as_kind
from tests.servers.openai_server import Answer, Call, OpenAIServer

Method = Callable[[Connection, Path], object]

CANDIDATES = [
    Candidate(taxon_id=name.lower(), scientific_name=name, common_name=name, score=1.0, summary="Grey.")
    for name in ("Aa", "Bb", "Cc")
]
CREST = Question(question="Does the bird have a crest?", statement="a crested bird", negation="a bird without a crest")
PARTS = {"subject": "a frog", "activity": "", "details": "", "environment": "", "ambiance": ""}
LOOKS = "The red wren has a black crown and a thin bill."
SECTION = Section(title="Description", level=2, start=0, end=len(LOOKS))
ARTICLE = Article(source=Source(title="Red wren"), text=LOOKS, sections=(SECTION,))
WREN = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))


def jpeg(level: int = 90) -> bytes:
    return faulty_wiki.jpeg((level,) * 3, (40, 40))


def level_of(picture: bytes) -> int:
    with Image.open(io.BytesIO(picture)) as opened:
        return int(opened.convert("L").getpixel((20, 20)))  # type: ignore[arg-type]


def word(yes: float) -> Answer:
    said = "Yes" if yes > 0.5 else "No"
    top = (("Yes", math.log(yes)), ("No", math.log(1 - yes)))
    return Answer(text=said, logprobs=((said, dict(top)[said], top),))


def model(call: Call) -> Answer | str:
    """Answer all methods, told apart by their prompts."""
    text, said = call.text, word(0.75)
    if "Is this picture red?" in text:
        return word(0.9 if call.images[0] == plain_image("red") else 0.1)
    for known, reply in (
        ('"statements"', {"statements": [{"text": "It has a black crown.", "sentences": [1]}]}),
        ("=== TEXTS ===", {"sentences": [{"text": "Amplexus is a mating embrace.", "sources": [1]}]}),
        ("B. Bb", {"reason": "its crest", "answer": "B"}),
        ('"questions"', None),
        ("probability", {"probability": 80}),
    ):
        if known in text or known.strip('"') in _properties(call):
            return questions_reply() if reply is None else json.dumps(reply)
    if _properties(call) or "ranking" in text or "judgement" in text:
        return json.dumps(_cotrr(call))
    if "1. Does the photo" in text:
        tokens = []
        for number, answer, yes in (("1", "Yes", 0.8), ("2", "No", 0.3), ("3", "Yes", 0.7)):
            likely = (("Yes", math.log(yes)), ("No", math.log(1 - yes)))
            tokens += [(f"{number}.", 0.0, ()), (f" {answer}", -0.1, likely), ("\n", 0.0, ())]
        return Answer(text="".join(token for token, _, _ in tokens), logprobs=tuple(tokens))
    if "Answer:" in text:  # with reasons
        reason = "It has a tuft.\nAnswer: "
        return Answer(text=f"{reason}Yes", logprobs=((reason, 0.0, ()), *said.logprobs))
    return said


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


def read(chat: Connection, _: Path) -> object:
    reading = wait_for(Reader(chat).read(jpeg(), CANDIDATES))
    return reading.choice, reading.failures


def judge(settings: VisionSettings) -> Method:
    def method(chat: Connection, _: Path) -> object:
        one, query = VisionJudge(chat, settings=settings), "a crested bird on a post"
        return asyncio.run(one.judge(SeenImage(jpeg=jpeg()), CREST, query=query, context="", earlier=())).answer

    return method


def judge_together(chat: Connection, _: Path) -> object:
    asked = [Question(question=question, statement="", negation="") for question in QUESTIONS]
    image, query = SeenImage(jpeg=jpeg()), "frogs in amplexus"
    found = asyncio.run(VisionJudge(chat).judge_together(image, asked, query=query, context=""))
    # Without log-probabilities each question is asked by itself.
    return ["yes", "no", "yes"] if found is None else [judgement.answer for judgement in found]


def job(folder: Path, *levels: int) -> Job:
    for level in levels:
        (folder / f"{level}.jpg").write_bytes(jpeg(level))
    images = tuple(JobImage(image_id=str(level), path=str(folder / f"{level}.jpg"), score=0.0) for level in levels)
    return Job(query_id="q", text="frogs", candidates=images)


def cotrr(chat: Connection, folder: Path) -> object:
    reranker = CotrrReranker(chat)
    rows = asyncio.run(reranker.rank(job(folder, 40, 200, 120)))
    return [row.image_id for row in rows], [row.error for row in rows], reranker.tally.is_complete


def distil(chat: Connection, _: Path) -> object:
    made = wait_for(ModelDistiller(chat).distil_async(ARTICLE, WREN))
    return made.summary.text if made.summary else None


def passage(chat: Connection, _: Path) -> object:
    definition = "A mating embrace of frogs."
    term = Term(term_id="term:amplexus", name="amplexus", definition=definition, source=Source(title="A"))
    store: Any = ShelfStore([], [term], BagOfWords())
    answer = Context(query="frogs in amplexus", passage=definition, found=True)
    return write_passage(answer, Findings(terms=(term,)), store, ContextSources(chat=chat), DistilPrompts()).passage


def plain(chat: Connection, _: Path) -> object:
    request = ChatRequest(messages=(ChatMessage(role="user", text="Hello"),), max_tokens=20)
    return wait_for(chat.reply(request)).text.strip()


METHODS: dict[str, Method] = {
    "plain": plain, "reader": read, "judge": judge(VisionSettings()),
    "judge with reasons": judge(VisionSettings(reasons="before")),
    "judge, three questions": judge_together,
    "cotrr": cotrr, "distiller": distil, "passage": passage,
}  # fmt: skip


@pytest.fixture(scope="module")
def chats() -> Iterator[Callable[[str], tuple[Connection, OpenAIServer]]]:
    """A function that returns the connection to a kind of server, by its name, and the server."""
    made: dict[str, tuple[Connection, OpenAIServer]] = {}
    with ExitStack() as stack:

        def connected(name: str) -> tuple[Connection, OpenAIServer]:
            if name not in made:
                kind = next(kind for kind in KINDS if kind.name == name)
                server = stack.enter_context(OpenAIServer(as_kind(model, kind)))
                endpoint = Endpoint(model="m", base_url=server.base_url)
                retry = RetryPolicy(tries=2, first_wait_s=0.01)
                made[name] = stack.enter_context(Connection(endpoint, retry=retry)), server
            return made[name]

        yield connected


Chats = Callable[[str], tuple[Connection, OpenAIServer]]


@pytest.mark.parametrize("kind", KINDS[1:], ids=lambda kind: kind.name)
def test_every_kind_of_server_gives_the_same_texts_json_and_probabilities(
    kind: Kind, chats: Chats, tmp_path: Path
) -> None:
    (plain_chat, _), (chat, server) = chats("plain"), chats(kind.name)
    for name in ("plain", "reader", "judge"):
        assert METHODS[name](chat, tmp_path) == METHODS[name](plain_chat, tmp_path), name
    if kind.thinking:
        assert max(call.payload.get("max_tokens", 0) for call in server.calls) > kind.n_thoughts


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_with_a_model_that_reasons_and_with_a_server_that_refuses_most(
    method: str, chats: Chats, tmp_path: Path
) -> None:
    expected, *found = (METHODS[method](chats(kind)[0], tmp_path) for kind in ("plain", "thinks: tags", "all at once"))
    assert found == [expected] * 2
