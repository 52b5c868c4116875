from pathlib import Path

import pytest

import kb
from kb.sources.starter import StarterSource
from tests.made_once import made_once
from tests.toy.encoders import toy_encoders


@pytest.fixture
def one_bird(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with one species and no terms."""
    return made_once(tmp_path_factory, "one-bird.kb", lambda path: build(path, 1))


@pytest.fixture
def six_birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with six species, Red-winged Blackbird among them."""
    return made_once(tmp_path_factory, "six-birds.kb", lambda path: build(path, 6))


def build(path: Path, n: int) -> None:
    source = StarterSource(with_vectors=False)
    kb.build(path, source.drawn_taxa()[:n], source, toy_encoders())
