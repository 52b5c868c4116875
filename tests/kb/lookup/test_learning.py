"""A learnt term is written beside a large knowledge base, not the whole of it again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kb
from data.contracts import Encoders
from data.records import Term
from kb.lookup.learning import remember
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

N = 12
TERM = Term(term_id="term:zorblin", name="zorblin", definition="A knob on the bill.")


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, encoders: Encoders) -> Path:
    path = tmp_path_factory.mktemp("learning") / "a.kb"
    kb.build(path, made_up_taxa(N), PageSource(), encoders, terms=[("Amplexus", None)])
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "a.kb")
    return tmp_path / "a.kb"


def learn(path: Path, encoders: Encoders) -> None:
    with kb.open(path) as store:
        remember(store, [TERM], encoders.sentence)


def written(path: Path, change: Callable[[], object]) -> set[str]:
    """Return the beginnings of the names of the matrices that `change` writes."""

    def state() -> set[tuple[str, int, int]]:
        matrices = [(file.name, file.stat()) for file in (path / "cache").glob("*.npy")]
        return {(name, found.st_ino, found.st_mtime_ns) for name, found in matrices}

    before = state()
    change()
    return {name.partition("-")[0] for name, _, _ in state() - before}


def test_a_learnt_term_writes_the_matrix_of_terms_alone(path: Path, encoders: Encoders) -> None:
    with kb.open(path) as store:
        chunks = np.array(store.chunk_vectors(encoders.text_image[0].space).vectors)
    assert written(path, lambda: learn(path, encoders)) == {"terms"}
    [vector] = encoders.sentence.encode_texts([f"{TERM.name}: {TERM.definition}"])
    with kb.open(path) as store:
        assert store.query_terms(vector, 1)[0][0] == TERM.term_id
        assert len(store.query_terms(vector, 9)) == 2
        assert np.array_equal(store.chunk_vectors(encoders.text_image[0].space).vectors, chunks)
    assert kb.verify(path).ok


def test_a_reader_goes_on_with_its_own_terms(path: Path, encoders: Encoders) -> None:
    """It opened the state before the term, whose matrix the next writer removes."""
    [vector] = encoders.sentence.encode_texts([TERM.name])
    with kb.open(path) as store:
        learn(path, encoders)
        assert [term_id for term_id, _ in store.query_terms(vector, 9)] == ["term:amplexus"]
        assert len(store.query_species(vector, 99)) == N
