"""Text-image encoders as a judge: a photo is compared with a statement and its negation. Needs no server.

Weak for questions beyond appearance. The scores rank photos; only the chances of species are calibrated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

import fieldmark
from data.arrays import FloatArray
from data.cache_file import CacheFile
from data.codec import dumps, loads
from data.contracts import SeenImage, SpeciesScorer, TextImageEncoder
from data.files import file_state, sha256_hex
from data.images.decode import ENCODER_SIDE, read_image
from data.records import Judgement, Question, QuestionAnswer
from rerank.judges.answers import NO_EVIDENCE
from rerank.photo_vectors import READING
from rerank.queries import is_visible

# Spreads differences of cosines, which are a few tenths, over most of 0 to 1; CLIP learned 100 for its own.
SCALE: Final = 10.0


class EncoderJudge:
    """Compares statement and negation in each text-image space; a `Judge`.

    The probability is the mean over the encoders of the softmax of the two cosines. A direct question includes the
    context: statement and passage form one text. Earlier answers have no effect. Questions about a species of the
    knowledge base are answered by the scorer. Where no encoder can see any word of the statement, there is no answer.

    Args:
        encoders: one or several text-image encoders.
        species: scores photos as showing species; without it their names and descriptions are compared like others.
        cache: keeps vectors of photos and chances of species for later runs, by file, size and time.
    """

    def __init__(
        self,
        encoders: Sequence[TextImageEncoder],
        *,
        species: SpeciesScorer | None = None,
        cache: CacheFile | None = None,
    ) -> None:
        if not encoders:
            raise ValueError("expected at least one encoder")
        self._encoders = tuple(encoders)
        self._species = species
        self._cache = cache
        self._photos: dict[object, tuple[FloatArray, ...]] = {}
        self._texts: dict[str, tuple[FloatArray, ...]] = {}

    costs_money = False
    sees_references = False

    def look(self, path: Path) -> SeenImage:
        """Return the place of the photo, which is encoded for its first statement."""
        return SeenImage(path=path)

    async def judge(
        self, image: SeenImage, question: Question, *, query: str, context: str, earlier: Sequence[QuestionAnswer]
    ) -> Judgement:
        """Return the chance of the species asked for, else the probability of statement against negation.

        For the looks of a species, such as its female, the product of both.
        """
        if image.path is None:
            raise ValueError("expected the file of the photo")
        chance = 1.0
        if self._species is not None:
            known = [taxon_id for taxon_id in question.taxon_ids if self._species.knows(taxon_id)]
            if known:
                chance = await asyncio.to_thread(self._chance, self._species, image.path, known)
                if question.relation != "looks":
                    by = "recognizer" if self._species.is_calibrated else "recognizer; uncalibrated"
                    return _answered(1 - chance if question.relation == "absent" else chance, by)
        statement = question.statement
        if context and statement == query.strip():
            statement = f"{statement}. {context}"
        for_it, against = self.vectors_of(statement), self.vectors_of(question.negation)
        seen_by = await asyncio.to_thread(self.vectors_of_photo, image.path)
        probabilities = [
            1 / (1 + float(np.exp(-SCALE * (float(np.dot(seen, yes)) - float(np.dot(seen, no))))))
            for encoder, seen, yes, no in zip(self._encoders, seen_by, for_it, against, strict=True)
            if np.any(yes) and any(is_visible(text, encoder) for text in (question.statement, statement))
        ]
        if not probabilities:
            why = f"the encoder can see nothing of {question.statement!r} in a photo"
            return Judgement(probability=None, answer=None, obtained_by=NO_EVIDENCE, note=why)
        return _answered(chance * sum(probabilities) / len(probabilities), "cosines")

    async def judge_together(
        self, image: SeenImage, questions: Sequence[Question], *, query: str, context: str
    ) -> list[Judgement] | None:
        """Return None: questions are answered one by one."""
        return None

    def vectors_of_photo(self, path: Path) -> tuple[FloatArray, ...]:
        """Return the vector of a photo in each space; each photo is encoded once."""
        state = path, file_state(path)
        if state not in self._photos:
            spaces = f"{READING} {' '.join(encoder.space for encoder in self._encoders)}"
            found = self._kept(path, spaces, lambda: [vector.tolist() for vector in self._encoded(path)])
            self._photos[state] = tuple(np.array(vector, dtype=np.float32) for vector in found)
        return self._photos[state]

    def _encoded(self, path: Path) -> list[FloatArray]:
        image = read_image(path, min_side=ENCODER_SIDE)
        return [encoder.encode_images([image])[0] for encoder in self._encoders]

    def _chance(self, species: SpeciesScorer, path: Path, taxon_ids: Sequence[str]) -> float:
        by = f"{species.name} {' '.join(sorted(taxon_ids))}"
        return self._kept(path, by, lambda: [[species.chance(path, taxon_ids)]])[0][0]

    def _kept(self, path: Path, by: str, make: Callable[[], list[list[float]]]) -> list[list[float]]:
        """Return the numbers of a photo from the cache, or make and store them."""
        if self._cache is None:
            return make()
        key = sha256_hex(f"{fieldmark.__version__}\n{by}\n{path.resolve()}\n{file_state(path)}")
        if (stored := self._cache.get(key)) is not None:
            return loads(list[list[float]], stored)
        made = make()
        self._cache.put(key, dumps(made))
        return made

    def vectors_of(self, text: str) -> tuple[FloatArray, ...]:
        """Return the vector of a text in each space; each text is encoded once."""
        if text not in self._texts:
            self._texts[text] = tuple(encoder.encode_texts([text])[0] for encoder in self._encoders)
        return self._texts[text]


def _answered(probability: float, obtained_by: str) -> Judgement:
    return Judgement(probability=probability, answer="yes" if probability > 0.5 else "no", obtained_by=obtained_by)
