"""Queries of a feedback search: grown by captions, denoised by a language model, or moved by the marked photos."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.contracts import ChatModel, TextEncoder
from data.errors import CutOff, MalformedAnswer, Refused
from data.files import sha256_hex
from data.prompts import quoted
from data.records import ChatMessage, ChatRequest
from rerank.feedback.methods import Denoising
from rerank.feedback.session import Session
from rerank.prompting import Prompts
from rerank.queries import is_visible


def rocchio(
    query: FloatArray,
    relevant: FloatArray,
    others: FloatArray,
    *,
    alpha: float = 1.0,
    beta: float = 0.75,
    gamma: float = 0.15,
) -> FloatArray:
    """Return the query moved towards the relevant images and away from the others, a `(dim,)` float32 unit vector.

    Args:
        query: `(dim,)`.
        relevant: `(n, dim)`; without rows, the term is left out.
        others: `(m, dim)`, judged as not relevant; likewise.
        alpha: weight of the query.
        beta: weight of the mean of the relevant images.
        gamma: weight of the mean of the others.

    Source:
        Rocchio (1971), with the weights of Zhu et al. (ICMR 2024), section 4.3. Cosines do not depend on the length, so
        the result is a unit vector.
    """
    moved = alpha * np.asarray(query, dtype=np.float64)
    if len(relevant):
        moved = moved + beta * np.mean(relevant, axis=0, dtype=np.float64)
    if len(others):
        moved = moved - gamma * np.mean(others, axis=0, dtype=np.float64)
    unit: FloatArray = as_unit_rows(moved[None, :])[0].astype(np.float32)
    return unit


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSpecies:
    """Species that a query names."""

    names: str
    vector: FloatArray
    """`(dim,)` unit vector of their reference photos and descriptions."""
    is_whole: bool
    """Whether the query has no other words to search by."""


FindNames = Callable[[str], NamedSpecies | None]
"""Query -> the species that it names."""


_ENDS: Final = (".", "!", "?", ",", ";", ":")


def joined(texts: Sequence[str]) -> str:
    """Return the texts one after the other; a text without a final punctuation mark gets a full stop before the next.

    Source: Zhu et al. (ICMR 2024), equation 1, which does not name the separator.
    """
    kept = [" ".join(text.split()) for text in texts if text.strip()]
    return " ".join([*(text if text.endswith(_ENDS) else f"{text}." for text in kept[:-1]), *kept[-1:]])


def blind_note(text: str, encoder: TextEncoder) -> str | None:
    """Return a warning about a text without any word that the encoder can compare with photos, else None.

    It is no error: the photos that are marked improve the search, and a long description may name another animal.
    """
    if is_visible(text, encoder):
        return None
    return f"the encoder {encoder.name} can see little of these words in photos, so the order means little"


def original_and_captions(session: Session) -> tuple[str, list[str]]:
    """Return the query that the user wrote last, and the captions since then: an edited query contains earlier ones."""
    edited = [number for number, turn in enumerate(session.turns) if turn.is_edited]
    first = edited[-1] if edited else 0
    query = session.turns[first].query if edited else session.query
    return query, [caption.text for turn in session.turns[first:] for caption in turn.captions if caption.text]


def sampled(session: Session, number: int) -> tuple[str, ...]:
    """Return the relevant images of a turn that are captioned, in the order shown.

    At most `settings.captioned`, chosen at random. The choice depends on seed, query and turn only, not on the method,
    so all methods that see the same images caption the same ones.
    """
    relevant = session.turns[number].relevant or ()
    n = min(session.settings.captioned, len(relevant))
    entropy = [session.settings.seed, number, int(sha256_hex(session.query)[:8], 16)]
    chosen = np.random.default_rng(entropy).choice(len(relevant), size=n, replace=False) if n else ()
    return tuple(relevant[i] for i in sorted(int(i) for i in chosen))


def cut(text: str, limit: int, encoder: TextEncoder) -> tuple[str, str]:
    """Return the longest beginning of whole words with at most `limit` tokens, and the rest.

    A first word beyond the limit, such as a sentence in Chinese, is split: at least one character is kept.
    """
    words = text.split()
    if encoder.count_tokens(text) <= limit:
        return text, ""
    n = bisect_right(range(1, len(words) + 1), limit, key=lambda n: encoder.count_tokens(" ".join(words[:n])))
    if n:
        return " ".join(words[:n]), " ".join(words[n:])
    word = words[0]
    n = max(1, bisect_right(range(1, len(word) + 1), limit, key=lambda n: encoder.count_tokens(word[:n])))
    return word[:n], " ".join([word[n:], *words[1:]]).strip()


def encode_query(text: str, limit: int | None, encoder: TextEncoder) -> tuple[FloatArray, int]:
    """Return the `(dim,)` unit vector of a query, zero if no word is known, and the number of words left out.

    With a limit (the paper's) the query is cut off there, or where the encoder stops reading. Without one, a query
    longer than the encoder reads is the mean of the vectors of its pieces, so that no word is lost.
    """
    if limit is not None:
        kept, rest = cut(text, min(limit, encoder.max_tokens or limit), encoder)
        vector: FloatArray = encoder.encode_texts([kept])[0]
        return vector, len(rest.split())
    pieces = [text]
    while encoder.max_tokens is not None and pieces[-1]:
        pieces[-1:] = cut(pieces[-1], encoder.max_tokens, encoder)
    vectors = encoder.encode_texts([piece for piece in pieces if piece])
    mean: FloatArray = vectors[0] if len(vectors) == 1 else as_unit_rows([np.sum(vectors, axis=0)])[0]
    return mean, 0


MAX_TOKENS: Final = 400
_LABELS: Final = {"summary": "sentence|summary", "keywords": "keywords", "cot": "description"}

_NUMBER: Final = r"(?:\W*\d+[.)](?=\D))?"
_PREAMBLE: Final = re.compile(
    r"(?:(?:sure|certainly|of course|okay)\b[^\w\n:]*(?:\n|$|(?=here)))?"
    r"(?:here(?:'s|\u2019s| is| are)\b[^:\n]*:|[^\n]*:[ *]*(?:\n|$))?",
    re.IGNORECASE,
)
"""Politeness before an answer, up to a colon or the end of its line."""


async def denoise(
    chat: ChatModel, form: Denoising, query: str, captions: Sequence[str], *, prefix: str, prompts: Prompts
) -> tuple[str, str, float | None]:
    """Return the query that a model writes from the original query and all captions, why there is none, and the cost.

    Source:
        Zhu et al. (ICMR 2024), section 3.4.1 and table 1: instruction, demonstration and input, for the three subtasks
        summary, keywords (put behind a prefix), and a chain of thought whose last part is the query. Differs: our own
        instructions and demonstration.
    """
    listed = "\n".join(f"- {quoted(caption)}" for caption in captions)
    message = ChatMessage(role="user", text=prompts.fill(f"feedback_{form}", query=query, captions=listed))
    try:
        reply = await chat.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS))
    except (Refused, CutOff, MalformedAnswer) as error:
        return "", str(error), getattr(error, "cost_usd", 0.0)
    text = query_in(reply.text, form)
    if not text:
        return "", f"the reply has no {_LABELS[form].partition('|')[0]}", reply.cost_usd
    return f"{prefix} {text}".strip() if form == "keywords" else text, "", reply.cost_usd


def query_in(reply: str, form: Denoising) -> str:
    r"""Return the query in a model's reply, empty if there is none: a chain of thought needs its description."""
    label = rf"^{_NUMBER}\W*(?:new )?(?:{_LABELS[form]})\s*\W*:\W*"
    found = re.split(label, reply, flags=re.IGNORECASE | re.MULTILINE)
    if form == "cot" and len(found) == 1:
        return ""
    paragraph = _PREAMBLE.sub("", found[-1].strip()).strip().split("\n\n")[0]
    items = [re.sub(f"^{_NUMBER}", "", line).strip(" -*\t") for line in paragraph.splitlines()]
    separator = ", " if form == "keywords" else " "
    return separator.join(item.rstrip(",") for item in items if item).strip(" \"'*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextQuery:
    """The query of the next turn, with fallbacks in words and its cost without captions."""

    text: str
    notes: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
