"""Captions of relevant images: by a vision model, or from the phrases of a vocabulary that fit best."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from data.arrays import FloatArray, rank_descending
from data.contracts import ChatModel, TextImageEncoder
from data.errors import BadImage, CutOff, MalformedAnswer, Refused
from data.images.decode import ENCODER_SIDE, read_image
from data.lexicon.marks import find_marks
from rerank.captions import texts
from rerank.feedback.session import Caption
from rerank.prompting import Prompts

MAX_TOKENS: Final = 99  # "fewer than 100", section 3.3
_TOKEN: Final = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\S")
"""A word, a punctuation mark, or a character of a script without spaces; real tokens differ by model."""
REASONS: Final = (BadImage, Refused, CutOff, MalformedAnswer)
"""Errors of one image; all others stop the turn, which can be resumed."""

Captioner = Callable[[str, Path], Awaitable[Caption]]
"""Image id and file -> caption; an image without one has an error in it."""


class ModelCaptioner:
    """Captions images by a model; a `Captioner`.

    Source:
        Zhu et al. (ICMR 2024), section 3.3: InstructBLIP with the prompt "A short image caption:", fewer than 100
        tokens. Differs: any model; a longer caption, such as of a model that reasons, is cut off after 99 words and
        punctuation marks; a refusal is no caption.
    """

    def __init__(self, model: texts.Captioner) -> None:
        self._model = model

    async def __call__(self, image_id: str, path: Path) -> Caption:
        """Return the caption."""
        try:
            made = await self._model.caption(path)
        except REASONS as error:
            return Caption(image_id=image_id, error=str(error), cost_usd=getattr(error, "cost_usd", 0.0))
        text = shortened(made.text.strip("\"' "))
        problem = None if text else "the model returned an empty caption"
        return Caption(image_id=image_id, text=text, error=problem, cost_usd=made.cost_usd)


def shortened(text: str) -> str:
    """Return the beginning of a text with at most `MAX_TOKENS` words and punctuation marks."""
    ends = [found.end() for found in _TOKEN.finditer(text)]
    return text if len(ends) <= MAX_TOKENS else text[: ends[MAX_TOKENS - 1]]


def short_captions(chat: ChatModel, *, prompts: Prompts | None = None) -> ModelCaptioner:
    """Return the captioner of a vision model with the short prompt."""
    model = texts.VisionCaptioner(chat, prompts=prompts, prompt="feedback_caption", max_tokens=MAX_TOKENS)
    return ModelCaptioner(model)


class PhraseCaptioner:
    """Captions images without a model: the phrases nearest to the image, one for each part; a `Captioner`. Ours."""

    def __init__(self, encoder: TextImageEncoder, phrases: Sequence[str], *, n: int = 4) -> None:
        self._encoder, self._n = encoder, n
        self._phrases = tuple(dict.fromkeys(phrases))
        self._vectors: FloatArray | None = None

    async def __call__(self, image_id: str, path: Path) -> Caption:
        """Return the caption, computed in a thread."""
        return await asyncio.to_thread(self._caption, image_id, path)

    def _caption(self, image_id: str, path: Path) -> Caption:
        try:
            picture = read_image(path, min_side=ENCODER_SIDE)
        except BadImage as error:
            return Caption(image_id=image_id, error=str(error))
        return Caption(image_id=image_id, text=self.describe(self._encoder.encode_images([picture])[0]))

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
