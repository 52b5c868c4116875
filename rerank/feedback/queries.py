"""Queries of a feedback search: grown by captions of marked photos, denoised by a model, or moved by vectors."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows, rank_descending
from data.contracts import ChatModel, TextEncoder, TextImageEncoder
from data.errors import MalformedAnswer, Refused
from data.files import sha256_hex
from data.images.decode import ENCODER_SIDE, read_image
from data.lexicon.marks import find_marks
from data.prompts import quoted
from data.records import ChatMessage, ChatRequest
from rerank.captions import Captioner, PhotoText, VisionCaptioner
from rerank.feedback.session import Session
from rerank.prompting import Prompts, ask
from rerank.queries import is_visible
from rerank.settings import Denoising

MAX_CAPTION: Final = 99  # "fewer than 100", section 3.3
_TOKEN: Final = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\S")
"""A word, a punctuation mark, or a character of a script without spaces; real tokens differ by model."""


def shortened(text: str) -> str:
    """Return the beginning of a text with at most `MAX_CAPTION` words and punctuation marks."""
    ends = [found.end() for found in _TOKEN.finditer(text)]
    return text if len(ends) <= MAX_CAPTION else text[: ends[MAX_CAPTION - 1]]


def short_captions(chat: ChatModel, *, prompts: Prompts | None = None) -> Captioner:
    """Return the captioner of a vision model with the short prompt.

    Source:
        Zhu et al. (ICMR 2024), section 3.3: InstructBLIP with the prompt "A short image caption:", fewer than 100
        tokens. Differs: any model; a longer caption, such as of a model that reasons, is cut off after 99 words and
        punctuation marks; a refusal is no caption.
    """
    return VisionCaptioner(chat, prompts=prompts, prompt="feedback_caption", max_tokens=MAX_CAPTION)


class PhraseCaptioner:
    """Captions images without a model: the phrases nearest to the image, one for each part; a `Captioner`. Ours."""

    def __init__(self, encoder: TextImageEncoder, phrases: Sequence[str], *, n: int = 4) -> None:
        self._encoder, self._n = encoder, n
        self._phrases = tuple(dict.fromkeys(phrases))
        self._vectors: FloatArray | None = None

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption, computed in a thread."""
        return PhotoText(text=await asyncio.to_thread(self._of_file, path))

    def _of_file(self, path: Path) -> str:
        return self.describe(self._encoder.encode_images([read_image(path, min_side=ENCODER_SIDE)])[0])

    def describe(self, image: FloatArray) -> str:
        """Return the caption of an image vector; phrases that the encoder does not know are never in it."""
        if self._vectors is None:
            self._vectors = self._encoder.encode_texts(self._phrases)
        chosen: list[str] = []
        parts: set[str] = set()
        for row in rank_descending(self._vectors @ image).tolist():
            part = self._phrases[row].rpartition(" ")[2]
            if len(chosen) == self._n or not self._vectors[row].any():
                break
            if part not in parts:
                parts.add(part)
                chosen.append(self._phrases[row])
        return ", ".join(chosen)


def phrases_of(descriptions: Sequence[str]) -> list[str]:
    """Return the field marks in descriptions, each once, sorted: the vocabulary of `PhraseCaptioner`."""
    return sorted(
        {
            replace(mark, sex_age="").shown
            for text in descriptions
            for mark in find_marks(text)
            if mark.look and mark.part
        }
    )


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


FindNames = Callable[[str], tuple[NamedSpecies | None, tuple[str, ...]]]
"""Query -> the species that it names, and warnings in words."""


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
    request = ChatRequest(messages=(message,), max_tokens=MAX_TOKENS)
    try:
        text, cost = await ask(chat, request, partial(query_in, form=form))
    except (Refused, MalformedAnswer) as error:
        return "", str(error), error.cost_usd
    return f"{prefix} {text}".strip() if form == "keywords" else text, "", cost


def query_in(reply: str, form: Denoising) -> str:
    r"""Return the query in a model's reply.

    Raises:
        MalformedAnswer: if there is none: a chain of thought needs its description.
    """
    label = rf"^{_NUMBER}\W*(?:new )?(?:{_LABELS[form]})\s*\W*:\W*"
    found = re.split(label, reply, flags=re.IGNORECASE | re.MULTILINE)
    paragraph = _PREAMBLE.sub("", found[-1].strip()).strip().split("\n\n")[0]
    items = [re.sub(f"^{_NUMBER}", "", line).strip(" -*\t") for line in paragraph.splitlines()]
    separator = ", " if form == "keywords" else " "
    query = separator.join(item.rstrip(",") for item in items if item).strip(" \"'*")
    if not query or (form == "cot" and len(found) == 1):
        raise MalformedAnswer(f"the reply has no {_LABELS[form].partition('|')[0]}")
    return query
