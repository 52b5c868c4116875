"""Anchors shipped as vectors without pictures, in an optional file."""

from pathlib import Path

import numpy as np
import pytest

from data.errors import StoreError
from data.starter.vectors import read_vectors


def write(path: Path, **changes: object) -> Path:
    arrays: dict[str, object] = {
        "spaces": np.array(["a/1", "b/1"]),
        "taxon_ids": np.array(["pica-pica", "pica-pica", "bubo-scandiacus"]),
        "anchor_ids": np.array(["p1", "p2", "b1"]),
        "vectors_0": np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float16),
        "vectors_1": np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1]], dtype=np.float32),
    }
    np.savez(path, **(arrays | changes))  # type: ignore[arg-type]
    return path


def test_an_anchor_has_normalised_vectors_but_no_picture(tmp_path: Path) -> None:
    anchors = read_vectors(write(tmp_path / "v.npz"))
    assert [len(anchors.of(key)) for key in ("pica-pica", "bubo-scandiacus", "tyto-alba")] == [2, 1, 0]
    owl, magpie = anchors.of("bubo-scandiacus")[0], anchors.of("pica-pica")[1]
    assert owl.vectors == {"a/1": pytest.approx((0.6, 0.8), abs=1e-3), "b/1": (0.0, 0.0, 1.0)}
    assert np.linalg.norm(owl.vectors["a/1"]) == pytest.approx(1, abs=1e-6)
    assert magpie.vectors == {"a/1": (0.0, 1.0)}, "a row of zeros means no vector"
    assert (owl.content, owl.anchor.anchor_id, owl.anchor.sha256, owl.anchor.credit) == (None, "b1", None, None)


def test_texts_can_be_shipped_as_vectors(tmp_path: Path) -> None:
    texts = {
        "text_spaces": np.array(["a/1"]),
        "text_taxon_ids": np.array(["pica-pica", "tyto-alba"]),
        "text_vectors_0": np.array([[0, 1], [0, 0]], dtype=np.float16),
    }
    vectors = read_vectors(write(tmp_path / "v.npz", **texts))
    found = vectors.text_vector("pica-pica", "a/1")
    assert found is not None
    assert found.tolist() == [0.0, 1.0]
    assert vectors.text_vector("tyto-alba", "a/1") is None  # a row of zeros
    assert vectors.text_vector("pica-pica", "b/1") is None
    assert vectors.text_vector("bubo-scandiacus", "a/1") is None
    assert read_vectors(write(tmp_path / "w.npz")).text_vector("pica-pica", "a/1") is None


def test_missing_and_damaged_files_are_errors(tmp_path: Path) -> None:
    objects = np.array([{}, {}, {}], dtype=object)
    for path, why in (
        (tmp_path / "v.npz", r"v\.npz"),
        (write(tmp_path / "w.npz", anchor_ids=np.array(["p1"])), "as many rows"),
        (write(tmp_path / "x.npz", taxon_ids=objects), "not a file of vectors"),
    ):
        with pytest.raises(StoreError, match=why):
            read_vectors(path)
