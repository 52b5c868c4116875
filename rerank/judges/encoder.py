"""Text-image encoders as the judge: is the photo more like the statement than like its negation? Needs no server.

It is weak where a question is about more than looks. Encoders know little of *not*, of who does what to whom, and the
starter models were trained on descriptions of birds: behaviour, scenes and other animals are foreign to them. What it
gives is an order of photos; its numbers are no chances that could be believed by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from data.arrays import FloatArray
from data.contracts import SeenImage, TextImageEncoder
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Judgement, Question, QuestionAnswer
from rerank.photo_cache import RememberedPhotos

# Turns differences of cosines, which lie within some tenths, into probabilities that use most of 0 to 1.
SCALE: Final = 10.0


class EncoderJudge:
    """Weighs a statement against its negation in each text-image space; a `Judge`.

    The probability is the mean over the encoders of the softmax of the two cosines. A direct question takes in the
    context: statement and passage make one text. Other questions hold what they need; earlier answers change nothing.

    Args:
        encoders: text-image spaces, one or several.
        scale: what differences of cosines are multiplied by; CLIP learnt 100 for its own.

    Example:
        >>> import asyncio, tempfile
        >>> from PIL import Image
        >>> from recognize import load_encoders
        >>> judge = EncoderJudge(load_encoders("plain").text_image)
        >>> question = Question(question="Is it red?", statement="a red bird", negation="a blue bird")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (48, 48), "red").save(Path(folder) / "a.png")
        ...     image = judge.look(Path(folder) / "a.png")
        >>> said = asyncio.run(judge.judge(image, question, query="a red bird", context="", earlier=()))
        >>> said.answer, said.obtained_by
        ('yes', 'cosines')
    """

    def __init__(self, encoders: Sequence[TextImageEncoder], *, scale: float = SCALE) -> None:
        if not encoders or not scale > 0:
            raise ValueError(f"expected at least one encoder and a scale above 0, got {len(encoders)} and {scale}")
        self._encoders = tuple(encoders)
        self._scale = scale
        self._seen: RememberedPhotos[SeenImage] = RememberedPhotos()
        self._texts: dict[str, tuple[FloatArray, ...]] = {}

    @property
    def name(self) -> str:
        """The spaces and the scale."""
        return f"encoder {' '.join(encoder.space for encoder in self._encoders)} scale {self._scale:g}"

    def look(self, path: Path) -> SeenImage:
        """Return the vectors of the photo; a photo that several queries found is encoded once."""
        seen = self._seen.get(path)
        if seen is None:
            picture = read_image(path, min_side=ENCODER_SIDE)
            seen = SeenImage(vectors=tuple(encoder.encode_images([picture])[0] for encoder in self._encoders))
            self._seen.put(path, seen)
        return seen

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return how much more the photo is like the statement than like the negation."""
        statement = question.statement
        if context and statement == query.strip():
            statement = f"{statement}. {context}"
        for_it, against = self.vectors_of(statement), self.vectors_of(question.negation)
        probabilities = [
            1 / (1 + float(np.exp(-self._scale * (float(np.dot(seen, yes)) - float(np.dot(seen, no))))))
            for seen, yes, no in zip(image.vectors, for_it, against, strict=True)
            if np.any(yes)
        ]
        if not probabilities:
            why = f"the encoder understands nothing of {statement!r}"
            return Judgement(probability=None, answer=None, obtained_by="unclear", note=why)
        probability = sum(probabilities) / len(probabilities)
        return Judgement(probability=probability, answer="yes" if probability > 0.5 else "no", obtained_by="cosines")

    def vectors_of(self, text: str) -> tuple[FloatArray, ...]:
        """Return the vector of a text in each space; a text is encoded once."""
        if text not in self._texts:
            self._texts[text] = tuple(encoder.encode_texts([text])[0] for encoder in self._encoders)
        return self._texts[text]
