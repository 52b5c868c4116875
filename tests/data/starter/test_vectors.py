"""Anchors shipped as vectors without pictures, in an optional file."""

from __future__ import annotations

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


def test_an_anchor_has_vectors_but_no_picture(tmp_path: Path) -> None:
    anchors = read_vectors(write(tmp_path / "v.npz"))
    assert [len(anchors.of(key)) for key in ("pica-pica", "bubo-scandiacus", "tyto-alba")] == [2, 1, 0]
    owl = anchors.of("bubo-scandiacus")[0]
    assert owl.vectors["a/1"] == pytest.approx((0.6, 0.8), abs=1e-3)
    assert owl.vectors["b/1"] == (0.0, 0.0, 1.0)
    assert owl.content is None
    assert (owl.anchor.anchor_id, owl.anchor.sha256, owl.anchor.credit) == ("b1", None, None)


def test_half_precision_vectors_are_normalised(tmp_path: Path) -> None:
    owl = read_vectors(write(tmp_path / "v.npz")).of("bubo-scandiacus")[0]
    assert np.linalg.norm(owl.vectors["a/1"]) == pytest.approx(1, abs=1e-6)


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


def test_a_row_of_zeros_means_no_vector(tmp_path: Path) -> None:
    second = read_vectors(write(tmp_path / "v.npz")).of("pica-pica")[1]
    assert second.vectors == {"a/1": (0.0, 1.0)}


def test_a_missing_named_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"v\.npz"):
        read_vectors(tmp_path / "v.npz")


def test_arrays_of_different_lengths_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "v.npz", anchor_ids=np.array(["p1"]))
    with pytest.raises(StoreError, match="as many rows"):
        read_vectors(path)


def test_a_file_with_pickled_objects_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "v.npz", taxon_ids=np.array([{}, {}, {}], dtype=object))
    with pytest.raises(StoreError, match="not a file of vectors"):
        read_vectors(path)
