"""Abilities of an endpoint, tested with small requests of the forms that the methods send."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

from data.codec import load_json
from data.errors import CutOff, FieldmarkError
from data.event_loop import wait_for
from data.records import ChatMessage, ChatReply, ChatRequest
from kb.endpoints.answer import THINKING_HINT
from kb.endpoints.cache import DrawingCache
from kb.endpoints.chat import Connection
from kb.endpoints.client import RETRY
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import shortened
from kb.endpoints.form import Form
from kb.endpoints.images import ImageConnection

Kind = Literal["text", "vision", "search", "image"]
Seen = tuple[bool, str] | tuple[bool, str, str]
"""Whether a model has an ability, what it replied, and advice."""

WITHOUT: Final = {
    "answers": "features that need this model are not available",
    "answers at once": "replies that are cut off are asked for again with more tokens",
    "JSON schema": "the schema is described in words; replies that do not follow it are requested again",
    "logprobs": "yes/no answers are weighed by the confidence that the model states, or by sampling",
    "vision": "photos cannot be read or judged",
    "several pictures": "methods that show several photos in one request are not available",
    "citations": "its answers cannot be checked; they are used with a warning",
    "price": "--max-cost is not available; cost is not reported",
}
"""Abilities, and the fallback where one is missing."""
_PATIENCE: Final = replace(RETRY, tries=2)
_FEW: Final = 300  # tokens, for questions that a word answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Result of testing one ability of an endpoint, with the fallback if it is missing."""

    endpoint: str
    """`text`, `vision`, `search`, `image`."""
    model: str
    ability: str
    is_there: bool
    seen: str
    without: str = ""


def probe(kind: Kind, endpoint: Endpoint, key: str = "") -> list[Probe]:
    """Return the abilities of a model that Fieldmark uses, each tested with one small request.

    More are needed where a reply is cut off, and by a server that refuses a request. A generator of images makes one
    drawing, which costs as much as any other. Testing stops if the model does not answer at all.
    """
    found = []
    for ability, (is_there, seen, *advice) in (_drawn if kind == "image" else _asked)(kind, endpoint, key):
        without = "" if is_there else "; ".join([WITHOUT[ability], *advice])
        named = {"endpoint": kind, "model": endpoint.address, "ability": ability}
        found.append(Probe(**named, is_there=is_there, seen=seen, without=without))
    return found


def _asked(kind: Kind, endpoint: Endpoint, key: str) -> Iterator[tuple[str, Seen]]:
    with Connection(endpoint, key, retry=_PATIENCE) as chat:
        for ability, (text, colours, more, read) in _QUESTIONS.items():
            if ability in _NOT_OF[kind]:
                continue
            message = ChatMessage(role="user", text=text, images=tuple(_picture(colour) for colour in colours))
            try:
                reply = wait_for(chat.reply(ChatRequest(messages=(message,), **{"max_tokens": _FEW} | more)))
            except FieldmarkError as error:
                if read is not _at_once or not isinstance(error, CutOff):
                    yield ability, (False, _told(error))
                    if ability == "answers":
                        return
                    continue
                reply = ChatReply(text="", model="", finish="length", output_tokens=error.output_tokens or _ROOM)
            yield ability, read(reply, chat.form)
    if endpoint.cost_usd(0, 0) is None:
        yield "price", (False, "price_in and price_out are not set")
    else:
        yield "price", (True, f"${endpoint.price_in:g} in, ${endpoint.price_out:g} out per million tokens")


def _told(error: FieldmarkError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _quoted(reply: ChatReply) -> str:
    return repr(shortened(reply.text, 40))


def _picture(colour: str) -> bytes:
    from PIL import Image

    out = BytesIO()
    Image.new("RGB", (96, 96), colour).save(out, "PNG")
    return out.getvalue()


# the readings of replies; the form is that of the requests that the server takes


def _ready(reply: ChatReply, form: Form) -> Seen:
    only_streams = "; it only streams: stream = true saves refused requests" if form.stream else ""
    return True, f"replied {_quoted(reply)}{only_streams}"


def _at_once(reply: ChatReply, _form: Form) -> Seen:
    """Return whether a model reasons first: what needs more tokens than a number does, even if they are hidden."""
    # Some servers do not count the tokens of the reasoning in.
    tokens = max(reply.output_tokens, reply.reasoning_tokens) or len(f"{reply.reasoning} {reply.text}".split())
    is_done = reply.finish == "stop"
    if is_done and not reply.reasons and tokens <= _FEW:
        return True, "no reasoning before the answer"
    seen = f"reasons first, {tokens:,} tokens for a small question" + ("" if is_done else ", and is not done then")
    most = max(_ROOM, 1 << (_SPARE * tokens - 1).bit_length())  # a power of two
    return False, seen, f"max_tokens = {most} saves this. {THINKING_HINT}"


_WORDS: Final = {"red": r"\b(?:red|crimson|scarlet)", "blue": r"\b(?:blue|navy|azure)"}


def _colours(*shown: str) -> Callable[[ChatReply, Form], Seen]:
    """Return the reading of a reply that names the colours of pictures."""

    def read(reply: ChatReply, _form: Form) -> Seen:
        is_seen = all(re.search(_WORDS[colour], reply.text, re.IGNORECASE) for colour in shown)
        return is_seen, f"called {' and '.join(f'a {colour} picture' for colour in shown)} {_quoted(reply)}"

    return read


def _yes_or_no(reply: ChatReply, form: Form) -> Seen:
    if not reply.logprobs:
        return False, "refused by the server" if form.logprobs == 0 else "none returned"
    top = reply.logprobs[0].top
    if len(top) < 2:
        return False, "no alternatives to the token itself"
    tokens = {token.strip().lower() for token, _ in top}
    if not tokens & {"yes", "no"}:
        return False, f"neither yes nor no is among the top tokens: {', '.join(sorted(tokens))}"
    return True, f"{len(top)} alternatives per token"


def _spider(reply: ChatReply, form: Form) -> Seen:
    if form.json in ("object", "text"):
        return False, "the server refuses JSON schemas" + ("" if form.json == "text" else ", but sends JSON")
    try:
        value = load_json(reply.text)
    except ValueError:
        return False, f"replied {_quoted(reply)}"
    follows = isinstance(value, dict) and value.get("animal") == "spider" and isinstance(value.get("legs"), int)
    without = ", but no limits of numbers and lists" if form.json == "plain schema" else ""
    return follows, f"followed{without}" if follows else f"accepted but not followed: {_quoted(reply)}"


def _sources(reply: ChatReply, _form: Form) -> Seen:
    n = sum(citation.source.url is not None for citation in reply.citations)
    return n > 0, f"{n} sources named"


_ROOM: Final = 4_096  # tokens for reasoning on a small question; also the least `max_tokens` that is suggested
_SPARE: Final = 4  # photos and lists take more than a small question
_SCHEMA: Final[dict[str, object]] = {  # with all that the schemas of the methods have
    "type": "object",
    "properties": {
        "legs": {"type": "integer", "minimum": 0, "maximum": 100},
        "animal": {"type": "string", "enum": ["spider"]},
        "colours": {"type": "array", "items": {"type": "string"}, "minItems": 0, "maxItems": 3},
    },
    "required": ["legs", "animal"],
    "additionalProperties": False,
}
_QUESTIONS: Final[dict[str, tuple[str, tuple[str, ...], dict[str, Any], Callable[[ChatReply, Form], Seen]]]] = {
    "answers": ("Reply with the single word: ready", (), {}, _ready),
    "answers at once": (
        "A flock of 17 gulls meets one of 26 terns, and 9 gulls leave. How many birds remain? Reply with the number.",
        (), {"max_tokens": _ROOM}, _at_once),
    "vision": ("What colour is this picture? Answer with one word.", ("red",), {}, _colours("red")),
    "several pictures": (
        "What colour is each of these two pictures? Answer with two words.", ("red", "blue"), {},
        _colours("red", "blue")),
    "logprobs": (
        "Is this picture red? Answer with the single word Yes or No and write nothing else.",
        ("red",), {"top_logprobs": 20, "max_tokens": 5, "first_words": ("yes", "no")}, _yes_or_no),
    "JSON schema": (  # it contradicts the question, so that following it is no accident
        "Name an animal and its number of legs, as JSON. The animal is a dog.",
        (), {"json_schema": _SCHEMA}, _spider),
    "citations": ("What is a speculum on the wing of a duck? One sentence.", (), {}, _sources),
}  # fmt: skip
"""Question, colours of its pictures, parts of its request, and reading of the reply to each ability."""
_OF_VISION: Final = ("vision", "several pictures", "logprobs")
_NOT_OF: Final = {"text": (*_OF_VISION, "citations"), "vision": ("citations",), "search": (*_OF_VISION, "JSON schema")}


def _drawn(_kind: Kind, endpoint: Endpoint, key: str) -> Iterator[tuple[str, Seen]]:
    from data.images.decode import read_image

    try:
        with (
            TemporaryDirectory() as folder,
            ImageConnection(endpoint, key, cache=DrawingCache(Path(folder)), retry=_PATIENCE) as images,
        ):
            drawn = wait_for(images.draw("Generate a small image of a red circle", 1))
            width, height = read_image(drawn.paths[0].read_bytes()).size
    except FieldmarkError as error:
        yield "answers", (False, _told(error))
        return
    yield "answers", (True, f"drew a picture of {width} x {height} pixels")
    if drawn.cost_usd is None:
        yield "price", (False, "price_per_request is not set")
    else:
        yield "price", (True, f"${drawn.cost_usd:.4g} for this drawing")
