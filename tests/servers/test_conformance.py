"""Methods that ask a model, with several kinds of servers: each gives what it gives with a plain one."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from PIL import Image

from data.contracts import SeenImage
from data.event_loop import wait_for
from data.prompts import Prompts
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
from kb.endpoints.chat import Connection
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.retry import RetryPolicy
from kb.lookup.findings import Findings
from kb.lookup.writing import write_passage
from papers.species.namer import PLACEHOLDERS, name_photo
from recognize.reader.reader import Reader
from rerank.captions.texts import VisionCaptioner
from rerank.captions.visa import Visa
from rerank.cotrr.reranker import CotrrReranker
from rerank.decompose.questions import QuestionWriter
from rerank.judges.vision import VisionJudge, plain_image
from rerank.settings import CotrrSettings, VisionSettings
from rerank.visret.instruction import InstructionWriter
from tests.memory_store import BagOfWords, ShelfStore
from tests.rerank.scripted import QUESTIONS, questions_reply
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
    prompts = Prompts("papers", PLACEHOLDERS)
    return wait_for(name_photo(chat, jpeg(), lambda text: text.lower() if text == "Bb" else None, prompts)).choice


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
    "plain": plain,
}


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
