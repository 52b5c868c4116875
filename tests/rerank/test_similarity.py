import asyncio
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

from data.errors import BadImage, ConfigError, UsageError
from data.records import Job, JobImage
from rerank import METHODS, RerankResources, SimilarityReranker, rerank
from rerank.photo_vectors import EncodeWhole
from rerank.similarity import fuse
from tests.toy.encoders import Counting

COLOURS = ("blue", "red", "yellow", "green")


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    for colour in COLOURS:
        Image.new("RGB", (40, 40), colour).save(tmp_path / f"{colour}.png")
    return tmp_path


def job(text: Any, folder: Path = Path(), **options: Any) -> Job:
    candidates = tuple(JobImage(image_id=c, path=str(folder / f"{c}.png"), score=0.5) for c in COLOURS)
    return Job(query_id="q", text=text, candidates=candidates, **options)


def test_a_photo_is_encoded_once_until_it_changes(folder: Any) -> None:
    encoder = Counting()
    method = SimilarityReranker(encoder)

    def ranked(text: str = "a scarlet bird") -> Any:
        return asyncio.run(method.rank(job(text, folder)))

    assert ranked() == ranked() and ranked("azure wings")[0].image_id == "blue" and encoder.n_images == 4
    Image.new("RGB", (41, 40), "red").save(folder / "green.png")
    assert {row.image_id for row in ranked()[:2]} == {"red", "green"} and encoder.n_images == 5
    (folder / "red.png").unlink()
    assert ranked()[-1].error is not None


def test_an_unknown_method_and_a_missing_encoder_are_refused() -> None:
    with pytest.raises(ConfigError, match='"magic"') as caught:
        rerank(job("red"), "magic")
    assert all(name in caught.value.hint for name in METHODS)
    with pytest.raises(UsageError, match="needs a text-image encoder"):
        rerank(job("red"), "similarity")
    with pytest.raises(UsageError, match="expected a tuple of text-image encoders, got Counting"):
        RerankResources(encoders=Counting())  # type: ignore[arg-type]


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
    ranked = asyncio.run(SimilarityReranker(encoder).rank(job("", folder, dialogue=turns)))
    assert encoder.texts == ["a scarlet bird", "big? yes, far? no", "is there a second bird? yes"]
    assert ranked[0].image_id == "red"


def test_refused_photos_are_read_again_by_a_run_that_resumes() -> None:
    """Their size and time stay when they can be read; a damaged photo stays damaged."""
    task, refused = EncodeWhole(encoder=Counting()), BadImage("a.png cannot be read")
    refused.__cause__ = PermissionError(13, "denied")
    assert not task.is_final([[np.zeros(3)], [refused]])
    assert task.is_final([[np.zeros(3)], [BadImage("a.png is damaged")]])


def as_authors(similarities: np.ndarray, damping: float) -> tuple[np.ndarray, list[int]]:
    """Scores and order as the authors' code has them: each ranking is an ascending sort, reversed."""
    scores = np.zeros(similarities.shape[1])
    for row in similarities:
        for rank, image in enumerate(reversed(np.argsort(row).tolist()), 1):
            scores[image] += 1 / (damping + rank)
    return scores, np.argsort(scores)[::-1].tolist()


@pytest.mark.parametrize("damping", [0, 1, 60])
def test_random_score_matrices_rank_as_in_the_authors_code(damping: float) -> None:
    rng = np.random.default_rng(int(damping))
    for _ in range(200):
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 120))
        similarities = rng.normal(size=(m, n))
        expected, order = as_authors(similarities, damping)
        scores = fuse(similarities, damping=damping)
        np.testing.assert_allclose(scores, expected, atol=1e-11)
        ours = np.argsort(-scores, kind="stable").tolist()
        # Fused scores may tie: then theirs puts the later image first, ours the earlier one.
        assert [scores[i] for i in ours] == [scores[i] for i in order]
        if len(set(scores.tolist())) == n:
            assert ours == order
        mean = fuse(similarities, fusion="mean-similarity")
        np.testing.assert_allclose(mean, similarities.mean(axis=0), atol=1e-11)
