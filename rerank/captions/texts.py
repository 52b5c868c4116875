"""Texts about photos: captions by a vision model or a captioner, each asked for once; and their scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL.Image import Image

from data.cache_file import CacheFile
from data.contracts import ChatModel, TextEncoder
from data.errors import MalformedAnswer
from data.files import file_state, sha256_hex
from data.images import MAX_SIDE
from data.images.decode import ENCODER_SIDE, read_image
from data.images.views import jpeg_of
from data.records import ChatMessage, ChatRequest
from rerank.prompting import Prompts

CAPTION_TOKENS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoText:
    """A text about a photo, and its cost in US dollars; None if unknown."""

    text: str
    cost_usd: float | None = 0.0


class ImageCaptioner(Protocol):
    """A captioner on this machine."""

    @property
    def name(self) -> str:
        """Model and settings; part of the key of stored captions."""

    def caption_images(self, images: Sequence[Image]) -> list[str]:
        """Return a caption of each image."""


class Captioner(Protocol):
    """Writes captions of photos."""

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo.

        Raises:
            BadImage: if it cannot be read.
            MalformedAnswer: if the caption is empty.
            SourceError, CostStop, NotCached: if the model declines or cannot be reached.
        """


class VisionCaptioner:
    """Captions by a vision model.

    Source:
        VisRet (Wu et al., 2025), appendix B, captioning re-ranking: one prompt, without the query. Differs: our own
        words, which ask for at least ten words as the paper does of BLIP (ten tokens).
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        prompts: Prompts | None = None,
        prompt: str = "caption",
        max_tokens: int = CAPTION_TOKENS,
    ) -> None:
        self._chat, self._prompts = chat, prompts or Prompts()
        self._prompt, self._max_tokens = prompt, max_tokens

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        jpeg = await asyncio.to_thread(jpeg_of, path, max_side=MAX_SIDE)
        message = ChatMessage(role="user", text=self._prompts.fill(self._prompt), images=(jpeg,))
        reply = await self._chat.reply(ChatRequest(messages=(message,), max_tokens=self._max_tokens))
        return PhotoText(text=_whole(reply.text, self._chat.name, reply.cost_usd), cost_usd=reply.cost_usd)


class LocalCaptioner:
    """Captions by a model on this machine, one photo at a time; a cache stores them by file, size and time."""

    def __init__(self, model: ImageCaptioner, cache: CacheFile | None = None) -> None:
        self._model, self._cache = model, cache
        self._turn = asyncio.Lock()

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        key = sha256_hex(f"{self._model.name}\n{path.resolve()}\n{file_state(path)}")
        if self._cache is not None and (stored := self._cache.get(key)):
            return PhotoText(text=stored)
        image = await asyncio.to_thread(read_image, path, min_side=ENCODER_SIDE)
        async with self._turn:
            (text,) = await asyncio.to_thread(self._model.caption_images, [image])
        made = PhotoText(text=_whole(text, self._model.name, 0.0))
        if self._cache is not None:
            self._cache.put(key, made.text)
        return made


def _whole(text: str, model: str, cost_usd: float | None) -> str:
    """Return a caption as one line."""
    words = text.split()
    if not words:
        raise MalformedAnswer(f"{model}: an empty caption", cost_usd=cost_usd)
    return " ".join(words)


class TextScorer(Protocol):
    """Scores texts for a query; higher is better."""

    @property
    def name(self) -> str:
        """The model."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` scores of `n` texts."""


class SentenceScorer:
    """Cosines of query and texts by a sentence encoder; a text without a known word scores 0."""

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The encoder."""
        return self._encoder.name

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the `(n,)` cosines."""
        if not texts:
            return np.zeros(0)
        rows = self._encoder.encode_texts(list(texts))
        asked = self._encoder.encode_texts([query])[0]
        # One by one: a matrix product may round equal rows differently, and ties must stay ties.
        return np.array([float(np.dot(row, asked)) for row in rows])


def bounded(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores divided by the size of the largest, if that is above 1: logits are then no lower than -1."""
    array = np.asarray(scores, dtype=np.float64)
    scaled: NDArray[np.float64] = array / max(1.0, float(np.abs(array).max(initial=0.0)))
    return scaled


def min_max(scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores scaled to 0 to 1; equal scores become 0."""
    array = np.asarray(scores, dtype=np.float64)
    if not array.size or (low := array.min()) == (high := array.max()):
        return np.zeros(array.shape)
    scaled: NDArray[np.float64] = (array - low) / (high - low)
    return scaled
