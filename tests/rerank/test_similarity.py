from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage, ConfigError, UsageError
from data.records import Job, JobImage
from rerank import METHODS, SimilarityReranker, rerank
from rerank.photo_vectors import EncodeWhole
from tests.toy.encoders import Counting

COLOURS = ("blue", "red", "yellow", "green")


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    for colour in COLOURS:
        Image.new("RGB", (40, 40), colour).save(tmp_path / f"{colour}.png")
    return tmp_path


def job(text: Any, **options: Any) -> Job:
    candidates = tuple(JobImage(image_id=c, path=f"{c}.png", score=0.5) for c in COLOURS)
    return Job(query_id="q", text=text, candidates=candidates, **options)


def test_a_photo_is_encoded_once_until_it_changes(folder: Any) -> None:
    encoder = Counting()
    method = SimilarityReranker(encoder, root=folder)
    alone = method.rerank(job("a scarlet bird"))
    assert method.rerank(job("a scarlet bird")) == alone and encoder.n_images == 4
    assert method.rerank(job("azure wings"))[0].image_id == "blue" and encoder.n_images == 4
    Image.new("RGB", (41, 40), "red").save(folder / "green.png")
    assert {row.image_id for row in method.rerank(job("a scarlet bird"))[:2]} == {
        "red",
        "green",
    } and encoder.n_images == 5
    (folder / "red.png").unlink()
    assert method.rerank(job("a scarlet bird"))[-1].error is not None


def test_an_unknown_method_and_a_missing_encoder_are_refused() -> None:
    with pytest.raises(ConfigError, match='"magic"') as caught:
        rerank(job("red"), "magic")
    assert all(name in caught.value.hint for name in METHODS)
    with pytest.raises(UsageError, match="needs a text-image encoder"):
        rerank(job("red"), "similarity")


def test_a_dialogue_too_long_for_the_encoder_is_the_mean_of_its_parts(folder: Any) -> None:
    class Short(Counting):
        """The toy encoder with room for four words."""

        max_tokens = 4
        texts: ClassVar[list[str]] = []

        def count_tokens(self, text: str) -> int:
            return len(text.split())

        def encode_texts(self, texts: Any) -> Any:
            self.texts.extend(texts)
            return self._encoder.encode_texts(texts)

    encoder: Any = Short()
    turns = ("a scarlet bird", "big? yes", "far? no", "is there a second bird? yes")
    ranked = SimilarityReranker(encoder, root=folder).rerank(job("", dialogue=turns))
    assert encoder.texts == ["a scarlet bird", "big? yes, far? no", "is there a second bird? yes"]
    assert ranked[0].image_id == "red"


def test_refused_photos_are_read_again_by_a_run_that_resumes() -> None:
    """Their size and time stay when they can be read; a damaged photo stays damaged."""
    task, refused = EncodeWhole(encoder=Counting()), BadImage("a.png cannot be read")
    refused.__cause__ = PermissionError(13, "denied")
    assert not task.is_final([[np.zeros(3)], [refused]])
    assert task.is_final([[np.zeros(3)], [BadImage("a.png is damaged")]])
