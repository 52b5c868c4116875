"""Heads of texts and photos: training, and equality with the run-time code. Needs torch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch of the extra `models` is not installed (CI installs it)")

from data.arrays import as_unit_rows  # noqa: E402
from recognize.starter.heads import read_heads  # noqa: E402
from tests.training.starter.world import LABELS, two_views  # noqa: E402
from training.collection import Description  # noqa: E402
from training.starter.head_file import write_heads  # noqa: E402
from training.starter.pair import PhotoHead, TextHead, arrays_of, read_corpus, train_pair  # noqa: E402

WORDS = ["bill", "black", "crown", "leg", "red", "tail", "white", "wing"]
DESCRIPTIONS = [
    Description(species="Aus aus", source="x", sentences=("The crown is red.", "Red bill; black tail.")),
    Description(species="Aus aus", source="y", sentences=("A white wing.",)),
    Description(species="Bus bus", source="x", sentences=("Black crown, red leg.", "Long words nobody knows.")),
]
VOCABULARY = ("Aus aus", "Bus bus")
TEXTS = ["\n".join(s for d in DESCRIPTIONS if d.species == name for s in d.sentences) for name in VOCABULARY]


@pytest.fixture(scope="module")
def corpus() -> Any:
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(len(WORDS), 12)))
    return read_corpus(DESCRIPTIONS, VOCABULARY, WORDS, vectors)


@pytest.fixture(scope="module")
def features() -> Any:
    return two_views()


def test_the_numpy_heads_give_the_vectors_of_the_torch_heads(tmp_path: Path, corpus: Any, features: Any) -> None:
    """The file has 16 bits per number, the word table 8: vectors differ by less than 1e-2."""
    torch.manual_seed(0)
    text_head, photo_head = TextHead(12).eval(), PhotoHead(8).eval()
    look_mean, look = as_unit_rows(features[0]).mean(axis=0), np.eye(40, 8, dtype=np.float32)
    rows = as_unit_rows((as_unit_rows(features[0]) - look_mean) @ look)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    arrays = arrays_of(text_head, photo_head, mean, deviation)
    arrays |= {"table": corpus.table, "pair_weights": corpus.pair_weights}
    arrays |= {"look_mean": look_mean, "look": look, "prototypes": as_unit_rows(np.ones((2, 8)))}
    write_heads(tmp_path / "heads.npz", arrays, WORDS, VOCABULARY)
    heads = read_heads(tmp_path / "heads.npz")
    with torch.inference_mode():
        words, pairs = corpus.vectors()
        by_torch = text_head(torch.from_numpy(words), torch.from_numpy(pairs)).numpy()
        photos_by_torch = photo_head(torch.from_numpy((rows - mean) / deviation)).numpy()
    assert heads.encode_words(TEXTS) == pytest.approx(words, abs=1e-2)
    assert heads.encode_pairs(TEXTS) == pytest.approx(pairs, abs=1e-3)
    assert heads.encode_texts(TEXTS) == pytest.approx(by_torch, abs=1e-2)
    assert heads.encode_photos(features[0]) == pytest.approx(photos_by_torch, abs=1e-2)


def test_trained_heads_match_photos_to_their_texts(tmp_path: Path, corpus: Any, features: Any) -> None:
    """Trained on every other photo, they place the remaining photos nearest to the texts of their species."""
    arrays = train_pair(corpus, features, LABELS, np.arange(0, 24, 2), epochs=20)
    arrays |= {"table": corpus.table, "pair_weights": corpus.pair_weights}
    arrays |= {"look_mean": np.zeros(40, np.float32), "look": np.eye(40, dtype=np.float32)}
    write_heads(tmp_path / "heads.npz", arrays | {"prototypes": np.eye(2, 40, dtype=np.float32)}, WORDS, VOCABULARY)
    heads = read_heads(tmp_path / "heads.npz")
    photos, texts = heads.encode_photos(features[0][1::2]), heads.encode_texts(TEXTS)
    assert (photos @ texts.T).argmax(axis=1).tolist() == LABELS[1::2].tolist()
