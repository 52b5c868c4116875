"""Whole runs of every method, as text: rows, counts, and the requests to a scripted model.

`python -m tests.rerank.recorded` writes the records anew, in `recorded/`; read their differences before committing.
The model is a rule, so records prove mechanics, not quality.
"""

import io
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageColor

from data.errors import CutOff, FieldmarkError, MalformedAnswer, Refused, SourceUnavailable
from data.files import sha256_hex
from data.records import ChatReply, ChatRequest, Context, Job, JobImage, QueryPart, RankedImage, TokenLogprobs
from kb.endpoints.images import Drawings
from recognize import load_encoders
from rerank import METHODS, PRESETS, FairChat, RerankResources, RerankSettings, make_reranker, plan_run, run_jobs
from rerank.captions import SentenceScorer, VisionCaptioner
from rerank.jobs import located
from rerank.plan import JudgeName
from rerank.scheduling import current_query
from rerank.visret import AnchorGenerator, FolderGenerator, Generator, NamedVectors, PromptGenerator

FOLDER = Path(__file__).with_name("recorded")
COLOURS = {"red": 40, "navy": 90, "yellow": 70, "green": 20, "white": 80, "brown": 30, "orange": 60, "gray": 50}
"""Photo -> its worth to the model."""
PARTS = {"subject": "a frog", "activity": "clasping", "details": "", "environment": "water", "ambiance": ""}
QUESTIONS = ("Does the photo show a frog?", "Is one frog on another?", "Do they sit in water?")
CREST = QueryPart(kind="term", text="crest", name="crest", looks="Feathers that stand up.")


RGB = {colour: ImageColor.getrgb(colour) for colour in (*COLOURS, "blue")}


def colour_of(picture: bytes) -> str:
    """Return the nearest of the colours, or `blue` for the picture of the probe."""
    with Image.open(io.BytesIO(picture)) as opened:
        seen = opened.convert("RGB").getpixel((5, 5))
    return min(RGB, key=lambda each: sum((a - b) ** 2 for a, b in zip(RGB[each], seen, strict=True)))


def token(word: str, probability: float) -> TokenLogprobs:
    other = "No" if word == "Yes" else "Yes"
    top = ((word, math.log(probability)), (other, math.log(1 - probability)))
    return TokenLogprobs(token=word, logprob=top[0][1], top=top)


class Asked(NamedTuple):
    """A request as the rule sees it."""

    kind: str
    photos: tuple[str, ...]
    text: str
    attempt: int


Fault = Callable[[Asked], FieldmarkError | str | None]


class Model:
    """A chat model that replies by a rule; a fault replaces its reply."""

    name = "scripted"

    def __init__(self, fault: Fault = lambda _: None, *, gives_logprobs: bool = True) -> None:
        self.fault, self.gives_logprobs = fault, gives_logprobs
        self.calls: Counter[str] = Counter()

    async def reply(self, request: ChatRequest) -> ChatReply:
        assert current_query.get(), "calls take turns by query"
        images = [image for message in request.messages for image in message.images]
        text = "\n".join(message.text for message in request.messages)
        has_correction = any(message.role == "assistant" for message in request.messages)
        attempt = 1 if has_correction else request.seed or 0
        asked = Asked(kind_of(request, text), tuple(map(colour_of, images)), text, attempt)
        self.calls[describe(request, asked)] += 1
        fault = self.fault(asked)
        if isinstance(fault, FieldmarkError):
            raise fault
        reply = self._honest(asked, request) if fault is None else fault
        tokens: tuple[TokenLogprobs, ...] | None = None
        if not isinstance(reply, str):
            tokens, reply = reply, "".join(each.token for each in reply)
        if request.top_logprobs is None or not self.gives_logprobs:
            tokens = None
        return ChatReply(text=reply, model=self.name, cost_usd=0.01, logprobs=tokens)

    def _honest(self, asked: Asked, request: ChatRequest) -> str | tuple[TokenLogprobs, ...]:
        worths = [COLOURS.get(photo, 0) for photo in asked.photos]
        if asked.kind == "deconstruct":
            return json.dumps(PARTS)
        if asked.kind == "evaluate":
            names = request.json_schema["properties"]  # type: ignore[index]
            judged = {"judgement": "good match" if worths[-1] > 45 else "poor match", "reason": f"worth {worths[-1]}"}
            return json.dumps(dict.fromkeys(names, judged))
        if asked.kind in ("rank", "all"):
            shown = re.findall(r"^\[\d+\].*\(worth (\d+)\)$", asked.text, re.MULTILINE)
            worths = [int(worth) for worth in shown] or worths["Reference photo" in asked.text :]
            wanted = re.search(r"the best (\d+) of the", asked.text)
            pull = [worth - 15 * place for place, worth in enumerate(worths)]  # prefers early photos
            order = sorted(range(1, len(worths) + 1), key=lambda i: -pull[i - 1])[: int(wanted[1]) if wanted else None]
            notes = [{"photo": i, "judgement": "good", "reason": f"worth {w}"} for i, w in enumerate(worths, 1)]
            whole = {"query": PARTS, "evaluations": notes} if asked.kind == "all" else {"comparison": ""}
            return json.dumps({**whole, "ranking": order})
        if asked.kind == "questions":
            entries = [{"question": q, "statement": f"yes {i}", "negation": "no"} for i, q in enumerate(QUESTIONS)]
            return json.dumps({"questions": entries})
        if asked.kind == "visa questions":
            return json.dumps({"phrases": ["red bird"], "questions": ["What colour?", "Where?", "What does it hold?"]})
        if asked.kind == "probe":
            return (token("Yes" if asked.photos == ("red",) else "No", 0.9),)
        number = next((i for i, question in enumerate(QUESTIONS) if question in asked.text), 0)
        if asked.kind == "stated":
            return json.dumps({"probability": worths[-1] + number})
        if asked.kind == "together":
            answers = [[TokenLogprobs(token=f"{i + 1}. ", logprob=0.0), self._yes_or_no(worths[-1], i),
                        TokenLogprobs(token="\n", logprob=0.0)] for i in range(3)]  # fmt: skip
            return tuple(each for answer in answers for each in answer)
        if asked.kind in ("yes or no", "reasoned"):
            if request.seed is not None:
                worths[-1] += 9 * (request.seed - 2)
            answer = self._yes_or_no(worths[-1], number)
            reason = TokenLogprobs(token="A green back.\nAnswer: ", logprob=0.0)
            return (reason, answer) if asked.kind == "reasoned" else (answer,)
        return f"a {asked.photos[-1]} bird in {'snow' if worths[-1] > 45 else 'water'}" if worths else "a yellow bird"

    def _yes_or_no(self, worth: int, number: int) -> TokenLogprobs:
        share = min(0.99, max(0.01, (worth - 25 + 11 * number) / 60))
        return token("Yes", share) if share >= 0.5 else token("No", 1 - share)


# fmt: off
KINDS = (("overall", "evaluate"), ("subject", "deconstruct"), ("probability", "stated"), ("phrases", "visa questions"),
         ("questions", "questions"), ("comparison", "rank"), ("ranking", "all"))
"""Property of the requested JSON -> kind of request."""
WORDS = (("Is this picture red?", "probe"), ("3. Do they", "together"), ("Answer: Yes", "reasoned"))
# fmt: on


def kind_of(request: ChatRequest, text: str) -> str:
    names = set((request.json_schema or {}).get("properties", ()))  # type: ignore[call-overload]
    found = [kind for name, kind in KINDS if name in names] + [kind for words, kind in WORDS if words in text]
    is_answer = request.first_words or request.top_logprobs is not None
    other = "yes or no" if is_answer else "caption" if any(each.images for each in request.messages) else "text"
    return [*found, other][0]


def describe(request: ChatRequest, asked: Asked) -> str:
    """Return a request in one line; of its texts and schema a digest."""
    schema = sha256_hex(json.dumps(request.json_schema))[:6] if request.json_schema else "none"
    where = f"{len(asked.photos)} photos in {len(request.messages)} messages, in one {request.in_one}"
    words = f"text {sha256_hex(asked.text)[:6]}, schema {schema}, first words {'/'.join(request.first_words)}"
    how = f"tokens {request.max_tokens}, temperature {request.temperature}, seed {request.seed}"
    return f"{asked.kind}: {where}; {words}; {how}, logprobs {request.top_logprobs}"


JUDGES: tuple[JudgeName | None, ...] = (None, "vision", "encoder")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run: its query, settings, and how the model fails."""

    settings: RerankSettings
    query: Mapping[str, Any]
    fault: Fault = lambda _: None
    gives_logprobs: bool = True
    judge: str = "vision"
    drawings: tuple[str, ...] = ("orange", "red", "yellow")
    has_text_model: bool = True


DEFAULT, PAPER, AUTHORS = PRESETS["default"], PRESETS["paper"], PRESETS["authors"]
TEXT = {"text": "a red bird with a crest, in water"}
COMPOSED = {"text": "", "reference_image": "red.png", "modification": "but darker"}
CHAT = {"text": "", "dialogue": ("a red bird", "is it wet? yes")}
UNKNOWN_JUDGEMENT = '{"overall": {"judgement": "splendid"}}'


def case(settings: RerankSettings = DEFAULT, query: Mapping[str, Any] = TEXT, **more: Any) -> Case:
    return Case(settings=settings, query=query, **more)


def changed(base: RerankSettings = DEFAULT, **sections: Mapping[str, Any]) -> RerankSettings:
    return replace(base, **{name: replace(getattr(base, name), **of) for name, of in sections.items()})


def of_cotrr(**more: Any) -> RerankSettings:
    return changed(cotrr=more)


def of_decompose(base: RerankSettings = PAPER, *, vision: Mapping[str, Any] = {}, **more: Any) -> RerankSettings:
    return changed(base, decompose=more, vision=vision)


def of_visret(**more: Any) -> RerankSettings:
    return changed(visret=more)


def at(kind: str, fault: FieldmarkError | str, *, photo: str | None = None, attempts: tuple[int, ...] = (0,)) -> Fault:
    """Return a fault of calls of a kind, of one photo, in some attempts."""

    def found(asked: Asked) -> FieldmarkError | str | None:
        is_meant = asked.kind == kind and asked.attempt in attempts and (photo is None or asked.photos[-1:] == (photo,))
        return fault if is_meant else None

    return found


def spoilt(asked: Asked) -> str | None:
    """Rank some photos twice, others not, and one that does not exist; judge one with an unknown word."""
    if asked.kind == "all":
        notes = [{"photo": 1, "judgement": "splendid", "reason": ""}, {"photo": 2, "judgement": "no match"},
                 {"photo": 77, "judgement": "good match"}]  # fmt: skip
        return json.dumps({"query": PARTS, "evaluations": notes, "ranking": [3, 3, 99, 1]})
    return json.dumps({"comparison": "", "ranking": [3, 3, 99, "x", 1]}) if asked.kind == "rank" else None


# fmt: off
CASES: dict[str, dict[str, Case]] = {
    "cotrr": {
        "default": case(),
        "paper": case(PAPER),
        "authors": case(AUTHORS),
        "windows": case(of_cotrr(window=4, step=2, orders=3, fusion="rrf")),
        "one call, two orders, the best three": case(of_cotrr(form="one-call", top=3)),
        "ranking of photos in one message": case(of_cotrr(stages="ranking", photo_messages=False)),
        "evaluation alone": case(of_cotrr(stages="evaluation", orders=1)),
        "deconstruction alone": case(of_cotrr(stages="deconstruction", orders=1)),
        "composed": case(query=COMPOSED),
        "composed, one call": case(AUTHORS, COMPOSED),
        "dialogue": case(PAPER, CHAT),
        "dialogue, one call": case(AUTHORS, CHAT),
        "no text model": case(PAPER, has_text_model=False),
        "first three": case(replace(PAPER, depth=3)),
        "first three, server down": case(
            replace(PAPER, depth=3), fault=at("deconstruct", SourceUnavailable("503"))),
        "unusable ranking, asked again": case(PAPER, fault=at("rank", "I like the first.")),
        "a window without a ranking": case(of_cotrr(window=4, step=2, orders=1), fault=lambda asked: (
            "{}" if asked.kind == "rank" and "worth 30" in asked.text else None)),
        "no usable ranking": case(PAPER, fault=at("rank", "{}", attempts=(0, 1))),
        "spoilt ranking": case(PAPER, fault=spoilt),
        "spoilt ranking, one call": case(of_cotrr(form="one-call", orders=1), fault=spoilt),
        "spoilt ranking, authors": case(AUTHORS, fault=spoilt),
        "no list, authors": case(AUTHORS, fault=at("all", "no", attempts=(0, 1, 2))),
        "refused once, authors": case(AUTHORS, fault=at("all", Refused("No."))),
        "empty list, authors": case(AUTHORS, fault=at("all", '{"ranking": [77]}')),
        "one of three orders refused": case(of_cotrr(orders=3), fault=lambda asked: (
            Refused("No.") if asked.kind == "rank" and re.search(r"^\[1\].*worth 70", asked.text, re.M) else None)),
        "no parts, then the server down": case(
            PAPER, fault=lambda asked: "{}" if asked.kind == "deconstruct" else SourceUnavailable("503")),
        "refused ranking": case(PAPER, fault=at("rank", Refused("No."))),
        "refused evaluation": case(PAPER, fault=at("evaluate", Refused("No."), photo="white")),
        "evaluation cut off": case(PAPER, fault=at("evaluate", CutOff("cut off", cost_usd=0.5), photo="white")),
        "unusable evaluation": case(PAPER, fault=at("evaluate", UNKNOWN_JUDGEMENT, photo="green", attempts=(0, 1))),
        "no parts": case(PAPER, fault=at("deconstruct", json.dumps(dict.fromkeys(PARTS, "")), attempts=(0, 1))),
        "server down": case(PAPER, fault=at("deconstruct", SourceUnavailable("503"))),
    },
    "decompose": {
        "default": case(),
        "paper": case(PAPER),
        "direct": case(of_decompose(direct=True)),
        "without context": case(of_decompose(context=False)),
        "direct, without context": case(of_decompose(direct=True, context=False)),
        "not chained, stops at a no": case(of_decompose(chain=False, stop_below=0.3)),
        "encoders, by rule": case(judge="encoder", has_text_model=False),
        "reasons before": case(of_decompose(DEFAULT, vision={"reasons": "before"})),
        "reasons after": case(of_decompose(DEFAULT, vision={"reasons": "after"})),
        "three samples": case(of_decompose(vision={"samples": 3, "spelling": "merged"})),
        "stated": case(PAPER, gives_logprobs=False),
        "sampled": case(of_decompose(vision={"without_logprobs": "samples"}), gives_logprobs=False),
        "words": case(of_decompose(vision={"without_logprobs": "text"}), gives_logprobs=False),
        "composed": case(query=COMPOSED),
        "dialogue": case(PAPER, CHAT),
        "composed, encoders": case(query=COMPOSED, judge="encoder", has_text_model=False),
        "dialogue, encoders": case(query=CHAT, judge="encoder", has_text_model=False),
        "first three": case(replace(PAPER, depth=3)),
        "no questions": case(PAPER, fault=at("questions", "Sure!", attempts=(0, 1))),
        "questions asked for again": case(PAPER, fault=at("questions", "Sure!")),
        "questions cut off": case(PAPER, fault=at("questions", CutOff("cut off", cost_usd=0.5))),
        "server down": case(PAPER, fault=at("questions", SourceUnavailable("503"))),
        "a missing answer counts as no": case(PAPER, fault=at("yes or no", Refused("No."), photo="white")),
        "a missing answer counts as the mean": case(
            of_decompose(unscored="mean"), fault=at("yes or no", Refused("No."), photo="white")),
        "a refused photo": case(fault=at("together", Refused("No."), photo="white")),
        "one answer of three": case(fault=at("together", "2. Yes", photo="white")),
        "unavailable for a photo": case(PAPER, fault=at("yes or no", SourceUnavailable("503"), photo="green")),
        "cut off for a photo": case(PAPER, fault=at("yes or no", CutOff("cut off", cost_usd=0.5), photo="green")),
        "unclear": case(PAPER, gives_logprobs=False, fault=at("stated", "between 20 and 40", photo="navy")),
    },
    "similarity": {
        "text": case(),
        "reference": case(query={"text": "", "reference_image": "yellow.png"}),
        "composed": case(query=COMPOSED),
        "dialogue": case(replace(DEFAULT, depth=4), CHAT),
        "few visible words": case(query={"text": "a caterpillar eating nettle"}),
        "unknown words": case(query={"text": "qqq"}),
    },
    "captions": {
        "default": case(),
        "captions alone": case(changed(captions={"first_stage": False}), CHAT),
        "a refused caption": case(fault=at("caption", Refused("No."), photo="white")),
    },
    "visa": {
        "default": case(),
        "no questions": case(fault=at("visa questions", "Sure!")),
        "refused questions": case(fault=at("visa questions", MalformedAnswer("no"))),
        "server down": case(fault=at("visa questions", SourceUnavailable("503"))),
        "refused answer": case(fault=lambda asked: Refused("No.") if asked.photos and "Where?" in asked.text else None),
        "a text model answers nothing": case(fault=at("visa questions", '{"phrases": [3, " "], "questions": ["A?"]}')),
        "uncertain": case(fault=lambda asked: "Uncertain." if "Where?" in asked.text and asked.photos else None),
    },
    "visret": {
        "default": case(),
        "paper": case(PAPER, CHAT, fault=at("text", "A wren.\n\nShall I go on?")),
        "question": case(query={"text": "Which bill has a wren?"}),
        "entity": case(query={"text": "Which bill?", "entity": "Wrena rubra"}),
        "mean": case(of_visret(fusion="mean-similarity", images=2)),
        "with text": case(of_visret(fusion="with-text")),
        "the second drawing alone": case(of_visret(sample=2)),
        "no text model": case(has_text_model=False),
        "a long instruction": case(fault=at("text", "red bird " * 20)),
        "refused instruction": case(fault=at("text", Refused("No."))),
        "empty instruction": case(fault=at("text", " ")),
        "an unreadable drawing": case(drawings=("broken", "red")),
        "not drawn": case(drawings=("broken",)),
        "not drawn and unknown words": case(query={"text": "qqq"}, drawings=("broken",)),
        "folder": case(drawings=("q-1", "q-3")),
        "empty folder": case(drawings=("other-1",)),
        "anchors": case(drawings=("anchors",)),
        "one anchor": case(of_visret(sample=2), CHAT, drawings=("anchors",)),
        "no anchors": case(query={"text": "a wren"}, drawings=("anchors",)),
    },
    "rewrite": {
        "default": case(),
        "refused": case(PAPER, CHAT, fault=at("text", Refused("No."))),
        "server down": case(fault=at("text", SourceUnavailable("503"))),
    },
}
# fmt: on


@contextmanager
def photos() -> Iterator[Path]:
    """Give a folder of photos of one colour each, and a broken one."""
    with tempfile.TemporaryDirectory() as name:
        for colour in COLOURS:
            Image.new("RGB", (48, 40), colour).save(Path(name) / f"{colour}.png")
        (Path(name) / "broken.png").write_bytes(b"\x89PNG no picture")
        yield Path(name)


def recorded(method: str, root: Path) -> str:
    """Return the record of all cases of a method."""
    return "\n".join(f"== {name}\n{_run(method, case, root)}" for name, case in CASES[method].items())


def _run(method: str, case: Case, root: Path) -> str:
    names = [f"{colour}.png" for colour in COLOURS] + ["broken.png"]
    candidates = tuple(
        JobImage(image_id=name, path=name, score=round((7 * i % 5) / 5, 3)) for i, name in enumerate(names)
    )
    job = located(Job(query_id="q", candidates=candidates, **case.query), root)
    model = Model(case.fault, gives_logprobs=case.gives_logprobs)
    chat = FairChat(model, n_in_flight=4)
    encoders = load_encoders("starter")

    async def draw(_prompt: str, n: int) -> Drawings:
        return Drawings(paths=tuple(root / f"{name}.png" for name in case.drawings[:n]), cost_usd=0.12)

    resources = RerankResources(
        encoders=encoders.text_image,
        text=chat if case.has_text_model else None,
        vision=chat if case.judge == "vision" else None,
        context=lambda query: Context(query=query, passage=f"A crest is a tuft: {query}\n</background>", found=True),
        parts=lambda _: [CREST],
        generator=_generator(root, case.drawings, encoders.text_image[0], draw),
        captioner=VisionCaptioner(chat),
        scorer=SentenceScorer(encoders.sentence),
        settings=case.settings,
    )
    result = run_jobs([job], make_reranker(method, resources))
    tally = result.tally
    failures = sorted(f"{type(error).__name__}: {error}" for error in tally.failures)
    lines = [
        *map(_row, result.rows["q"]),
        f"complete: {result.is_complete}, void: {tally.is_void}",
        *(f"count: {line}" for line in tally.lines()),
        *(f"warning: {line}" for line in tally.warnings()),
        *(f"failure: {line}" for line in failures),
        *(f"{n} x {call}" for call, n in sorted(model.calls.items())),
    ]
    return "".join(f"{line}\n" for line in lines).replace(str(root), "PHOTOS")


def _generator(root: Path, names: tuple[str, ...], encoder: Any, draw: Any) -> Generator:
    if names == ("anchors",):
        vectors = encoder.encode_texts(["a red bird", "a white bird with a red head"])
        found = NamedVectors(space=encoder.space, species=("Blue Jay",), ids=("a", "b"), vectors=vectors)
        return AnchorGenerator(lambda text, n: found if "red" in text and n == 3 else None)
    if "-" not in names[0]:
        return PromptGenerator(draw)
    folder = root / f"drawings {names[0]}"
    folder.mkdir(exist_ok=True)
    for name, colour in zip(names, COLOURS, strict=False):
        Image.new("RGB", (48, 40), colour).save(folder / f"{name}.png")
    return FolderGenerator(folder)


def _row(row: RankedImage) -> str:
    answers = "; ".join(
        f"{each.question} {each.answer} {each.probability and round(each.probability, 4)} ({each.obtained_by})"
        for each in row.questions
    )
    cost = None if row.cost_usd is None else round(row.cost_usd, 5)
    parts = [f"{row.rank}. {row.image_id}, was {row.first_stage_rank}, score {row.score:.4f}, ${cost}", row.status]
    parts += [f"error: {row.error}"] * (row.error is not None) + [answers] * bool(answers)
    return " | ".join([*parts, *([repr(row.evaluation)] if row.evaluation is not None else [])])


PLANNED: dict[str, tuple[RerankSettings, ...]] = {
    "cotrr": (DEFAULT, of_cotrr(window=4, orders=3), of_cotrr(stages="ranking"), AUTHORS),
    "decompose": (DEFAULT, PAPER, of_decompose(DEFAULT, direct=True), of_decompose(context=False, questions_by="rule"),
                  of_decompose(vision={"reasons": "before", "samples": 3})),
    "visret": (DEFAULT, of_visret(generator="anchors"), of_visret(generator="diffusers", images=2)),
    "captions": (DEFAULT, changed(captions={"captioner": "BLIP"})),
}  # fmt: skip


def plans() -> str:
    """Return the plan of each method for each choice of judge, models and web, and its forecast."""
    images = tuple(JobImage(image_id=str(i), path="", score=0.0) for i in range(6))
    jobs = [Job(query_id="q", candidates=images, **query) for query in (TEXT, COMPOSED)]
    lines = []
    for method, endpoints, judge in product(METHODS, ("vision", "text", "image text search vision"), JUDGES):
        for settings in PLANNED.get(method, (DEFAULT,)):
            for web in (None, True, False) if method == "decompose" and settings == DEFAULT else (None,):
                try:
                    plan = plan_run(method, settings, endpoints=endpoints.split(), judge=judge, web=web)
                    expected = plan.calls(jobs)
                    chosen = {each.name: getattr(plan, each.name) for each in fields(plan)[2:]}
                    parts = [f"{name}={value}" for name, value in chosen.items() if value]
                    parts += [f"{plan.models} {plan.context_models} {sum(each.n for each in expected)} calls"]
                    parts += [str(call) for call in expected]
                except FieldmarkError as error:
                    parts = [f"{type(error).__name__}: {error} {error.hint or ''}"]
                number = PLANNED.get(method, (DEFAULT,)).index(settings)
                head = f"{method} {number}, judge {judge}, models {endpoints}, web {web}"
                lines.append("\n  ".join([f"== {head}", *parts]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with photos() as root:
        for method in CASES:
            (FOLDER / f"{method}.txt").write_text(recorded(method, root), encoding="utf-8")
    (FOLDER / "plans.txt").write_text(plans(), encoding="utf-8")
