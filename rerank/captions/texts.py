"""Texts about photos: captions and answers, from a vision model or a captioner, each asked for once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from PIL.Image import Image

from data.contracts import ChatModel, replies_of
from data.errors import MalformedAnswer
from data.files import file_state
from data.images import MAX_SIDE
from data.images.decode import ENCODER_SIDE, read_image
from data.images.jpeg import jpeg_of
from data.records import ChatMessage, ChatRequest
from rerank.judgement_cache import JudgementCache, cache_key
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

    @property
    def name(self) -> str:
        """Model and prompt; part of the key of stored captions."""

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

    @property
    def name(self) -> str:
        """The model and the prompt."""
        return f"{replies_of(self._chat)} prompt {self._prompts.digest(self._prompt)}"

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        jpeg = await asyncio.to_thread(jpeg_of, path, max_side=MAX_SIDE)
        message = ChatMessage(role="user", text=self._prompts.fill(self._prompt), images=(jpeg,))
        reply = await self._chat.reply(ChatRequest(messages=(message,), max_tokens=self._max_tokens))
        return PhotoText(text=_whole(reply.text, self._chat.name, reply.cost_usd), cost_usd=reply.cost_usd)


class LocalCaptioner:
    """Captions by a model on this machine, one photo at a time."""

    def __init__(self, model: ImageCaptioner) -> None:
        self._model = model
        self._turn = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo."""
        image = await asyncio.to_thread(read_image, path, min_side=ENCODER_SIDE)
        async with self._turn:
            (text,) = await asyncio.to_thread(self._model.caption_images, [image])
        return PhotoText(text=_whole(text, self.name, 0.0))


def _whole(text: str, model: str, cost_usd: float | None) -> str:
    """Return a caption as one line."""
    words = text.split()
    if not words:
        raise MalformedAnswer(f"{model}: an empty caption", cost_usd=cost_usd)
    return " ".join(words)


class StoredCaptioner:
    """A captioner whose captions are kept by file, size and time, so that a killed run resumes."""

    def __init__(self, captioner: Captioner, cache: JudgementCache) -> None:
        self._captioner, self._cache = captioner, cache

    @property
    def name(self) -> str:
        """The name of the captioner."""
        return self._captioner.name

    async def caption(self, path: Path) -> PhotoText:
        """Return the caption of a photo; a stored one costs nothing."""
        parts = {"caption by": self.name, "photo": str(path.resolve()), "state": file_state(path)}
        key = cache_key(parts)
        if (stored := self._cache.get(key)) is not None and (text := json.loads(stored)):
            return PhotoText(text=text)
        made = await self._captioner.caption(path)
        self._cache.put(key, json.dumps(made.text))
        return made
