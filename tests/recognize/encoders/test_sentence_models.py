"""Sentence encoders: a real architecture with random weights in a folder, as sentence-transformers writes it."""

import importlib.util
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.errors import MissingDependency, MissingRequirement
from recognize.encoders.sentence_models import SentenceEncoder

HAS_IT = importlib.util.find_spec("sentence_transformers") is not None
needs_it = pytest.mark.skipif(
    not HAS_IT, reason="sentence_transformers of the extra `models` is not installed (CI installs it)"
)
TEXTS = ["A red cap.", "", "the long bill of a heron is yellow and sharp at its tip", "?!", "wings " * 60]


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """A two-layer BERT with a vocabulary of letters."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    bert = tmp_path / "bert"
    bert.mkdir()
    pieces = [*string.ascii_lowercase, *("##" + letter for letter in string.ascii_lowercase), ".", "?", "!"]
    (bert / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]))
    BertTokenizer(str(bert / "vocab.txt")).save_pretrained(bert)
    torch.manual_seed(5)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(pieces) + 5, max_position_embeddings=64, **sizes)
    BertModel(config).save_pretrained(bert)
    words = Transformer(str(bert), max_seq_length=32)
    SentenceTransformer(modules=[words, Pooling(16)], device="cpu").save(str(tmp_path / "tiny"))
    return tmp_path / "tiny"


@needs_it
@pytest.mark.filterwarnings("ignore")  # warnings inside transformers and sentence-transformers
def test_vectors_match_the_library_and_do_not_depend_on_the_batch(folder: Any) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceEncoder(str(folder), device="cpu")
    vectors = encoder.encode_texts(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 16), np.dtype("float32"))
    alone = np.stack([encoder.encode_texts([text])[0] for text in TEXTS])
    np.testing.assert_array_equal(vectors, alone)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 0, 1], atol=1e-6)
    own = SentenceTransformer(str(folder), device="cpu").encode([TEXTS[0]], normalize_embeddings=True)
    np.testing.assert_allclose(vectors[0], own[0], atol=1e-6)
    assert (encoder.name, encoder.max_tokens, encoder.count_tokens("cap")) == ("tiny", 32, 5)
    assert encoder.space.startswith("sentence-transformers/tiny/") and str(folder.parent) not in encoder.space
    assert encoder.encode_texts([]).shape == (0, encoder.dim)


@needs_it
@pytest.mark.filterwarnings("ignore")
def test_a_missing_sentence_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingRequirement, match="the sentence encoder nobody/nothing cannot be loaded"):
        SentenceEncoder("nobody/nothing", device="cpu").encode_texts(["a"])


@pytest.mark.skipif(HAS_IT, reason="sentence_transformers is installed")
def test_a_missing_extra_is_reported_with_the_pip_command() -> None:
    with pytest.raises(MissingDependency) as caught:
        SentenceEncoder().encode_texts(["a bird"])
    assert caught.value.hint == "In Fieldmark's folder: pip install '.[models]'"
