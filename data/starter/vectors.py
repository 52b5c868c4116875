"""Anchors that ship as numbers: `vectors.npz`, which may be absent. No picture can be had back from it.

The file holds `spaces` (n_spaces,) names of encoder spaces; `taxon_ids` (n,) and `anchor_ids` (n,), strings; and for
the i-th space a matrix `vectors_i` (n, dim) float16 or float32, a row of zeros where an anchor has no vector in it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

from data.errors import StoreError
from data.records import Anchor, AnchorImage

FILE = "vectors.npz"


def read_vector_anchors(path: Path | None = None) -> dict[str, list[AnchorImage]]:
    """Return taxon_id -> its anchors that are vectors alone, in the file's order; nothing if the file is absent.

    Args:
        path: the file; by default the one that ships with Fieldmark.

    Raises:
        StoreError: if the file is not as the module says.
    """
    if path is None:
        shipped = resources.files("data") / "starter" / FILE
        with resources.as_file(shipped) as file:
            return _read(file) if file.exists() else {}
    return _read(path)


def _read(path: Path) -> dict[str, list[AnchorImage]]:
    anchors: dict[str, list[AnchorImage]] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            spaces = [str(space) for space in arrays["spaces"]]
            matrices = [np.asarray(arrays[f"vectors_{i}"], dtype=np.float32) for i in range(len(spaces))]
            taxon_ids, anchor_ids = arrays["taxon_ids"], arrays["anchor_ids"]
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path.name} is not a file of anchor vectors: {error}") from error
    shapes = {len(taxon_ids), len(anchor_ids), *(len(matrix) for matrix in matrices)}
    if len(shapes) != 1:
        raise StoreError(f"{path.name}: expected as many rows everywhere, got {sorted(shapes)}")
    for row, (taxon_id, anchor_id) in enumerate(zip(taxon_ids.tolist(), anchor_ids.tolist(), strict=True)):
        vectors = {
            space: tuple(matrix[row].tolist())
            for space, matrix in zip(spaces, matrices, strict=True)
            if matrix[row].any()
        }
        anchor = Anchor(anchor_id=str(anchor_id), subject_id=str(taxon_id))
        anchors.setdefault(str(taxon_id), []).append(AnchorImage(anchor=anchor, vectors=vectors))
    return anchors
