import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.cache_file import CacheFile
from data.records import Question
from rerank import EncoderJudge

CREST = Question(question="Is there a crest?", statement="a crest", negation="a photo of a bird")


class TableEncoder:
    """Texts from a table, or the zero vector if unknown; every photo is the first axis."""

    name = space = "table"
    dim = 2
    max_tokens = None

    def __init__(self, **texts: Any) -> None:
        self.texts, self.n_images, self.asked = texts, 0, []

    def encode_images(self, images: Any) -> Any:
        self.n_images += len(images)
        return np.array([[1.0, 0.0]] * len(images), dtype=np.float32)

    def encode_texts(self, texts: Any) -> Any:
        self.asked += texts
        return np.array([self.texts.get(text, (0.0, 0.0)) for text in texts], dtype=np.float32)


class TrainedOnLooks(TableEncoder):
    """An encoder that sees crests alone."""

    def visible_words(self, text: str) -> tuple[str, ...]:
        return ("crest",) if "crest" in text else ()


@pytest.fixture
def photo(tmp_path: Path) -> Any:
    Image.new("RGB", (48, 48), "red").save(tmp_path / "a.png")
    return tmp_path / "a.png"


def ask(judge: Any, photo: Any, question: Any = CREST, *, query: str = "a crested bird", context: str = "") -> Any:
    return asyncio.run(judge.judge(judge.look(photo), question, query=query, context=context, earlier=()))


def judged(encoders: Any, photo: Any, *question: Any, **more: Any) -> Any:
    return ask(EncoderJudge(encoders), photo, *question, **more)


def test_the_probability_is_the_mean_softmax_of_two_cosines_over_the_encoders_that_know_the_text(photo: Any) -> None:
    found = judged([TableEncoder(**{"a crest": (0.6, 0.8), "a photo of a bird": (0.5, 0.0)})], photo)
    expected = math.exp(6) / (math.exp(6) + math.exp(5))
    assert found.probability == pytest.approx(expected) and (found.answer, found.cost_usd) == ("yes", 0.0)
    sure, unsure = TableEncoder(**{"a crest": (1.0, 0.0)}), TableEncoder(**{"a crest": (0.0, 1.0)})
    one = judged([sure], photo).probability
    assert judged([sure, unsure], photo).probability == pytest.approx((one + 0.5) / 2)
    assert judged([sure, TableEncoder()], photo).probability == pytest.approx(one)
    with pytest.raises(ValueError, match="expected at least one encoder"):
        EncoderJudge([])


def test_an_encoder_does_not_answer_what_it_does_not_know_or_cannot_see(photo: Any) -> None:
    unknown = judged([TableEncoder(**{"a photo of a bird": (1.0, 0.0)})], photo)
    assert (unknown.probability, unknown.answer, unknown.obtained_by) == (None, None, "no evidence")
    encoder = TrainedOnLooks(**{"a crest": (1.0, 0.0), "standing in water": (1.0, 0.0)})
    water = Question(question="In water?", statement="standing in water", negation="a photo of a bird")
    assert judged([encoder], photo).answer == "yes"
    found = judged([encoder], photo, water)
    assert (found.probability, found.obtained_by) == (None, "no evidence") and "'standing in water'" in found.note
    sees_all = TableEncoder(**{"standing in water": (0.0, 1.0)})
    assert judged([encoder, sees_all], photo, water).probability == pytest.approx(0.5)


class TableScorer:
    """Chances of species out of a table."""

    name = "table"
    is_calibrated = True

    def __init__(self, **chances: float) -> None:
        self.chances, self.seen = chances, []

    def knows(self, taxon_id: str) -> bool:
        return taxon_id in self.chances

    def chance(self, path: Path, taxon_ids: Any) -> float:
        self.seen.append((path, tuple(taxon_ids)))
        return sum(self.chances[taxon_id] for taxon_id in taxon_ids)


def test_a_question_about_species_is_answered_by_the_scorer(photo: Any) -> None:
    scorer = TableScorer(owl=0.25, duck=0.5)
    judge = EncoderJudge([TableEncoder(**{"an owl": (1.0, 0.0)})], species=scorer)

    def about(*taxon_ids: str, relation: Any = "shown") -> Any:
        return ask(judge, photo, Question(question="?", statement="an owl", negation="a photo of a bird",
                                          taxon_ids=taxon_ids, relation=relation))  # fmt: skip

    found = about("owl", "unknown", "duck")
    assert (found.probability, found.answer, found.obtained_by) == (0.75, "yes", "recognizer")
    assert scorer.seen == [(photo, ("owl", "duck"))]
    assert about("unknown").obtained_by == about().obtained_by == "cosines"
    chances = [about("owl", relation=relation).probability for relation in ("shown", "absent", "looks")]
    assert chances == pytest.approx([0.25, 0.75, 0.25 * about().probability])
    scorer.is_calibrated = False
    assert about("owl").obtained_by == "recognizer; uncalibrated"


def test_a_later_run_makes_nothing_of_a_photo_anew_until_it_the_encoder_or_the_knowledge_changes(photo: Any) -> None:
    encoder, scorer = TableEncoder(**{"a crest": (0.6, 0.8), "a photo of a bird": (0.5, 0.0)}), TableScorer(owl=0.1)
    owl = replace(CREST, taxon_ids=("owl",), relation="looks")

    def run() -> tuple[float, int, int]:
        """Return the answer of a new judge, and the photos encoded and scored so far."""
        with CacheFile(photo.with_name("photos.sqlite")) as cache:
            found = ask(EncoderJudge([encoder], species=scorer, cache=cache), photo, owl)
        return found.probability, encoder.n_images, len(scorer.seen)

    first = run()
    assert run() == first and first[1:] == (1, 1)
    scorer.name, encoder.space = "another state", "another"
    assert run() == (first[0], 2, 2)
    Image.new("RGB", (49, 48), "red").save(photo)
    assert run() == (first[0], 3, 3)


def test_only_a_direct_question_includes_the_context(photo: Any) -> None:
    encoder = TableEncoder(**{"a crest. A tuft.": (1.0, 0.0), "a crest": (0.0, 1.0)})
    assert judged([encoder], photo, query=" a crest ", context="A tuft.").answer == "yes"
    assert judged([encoder], photo, context="A tuft.").answer == "no"
    assert judged([encoder], photo, query="a crest").answer == "no"
