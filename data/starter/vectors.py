"""Anchors that ship as numbers: `vectors.npz`, which may be absent. No picture can be had back from it.

The file holds `spaces` (n_spaces,) names of encoder spaces; `taxon_ids` (n,) and `anchor_ids` (n,), strings; and for
the i-th space a matrix `vectors_i` (n, dim) float16 or float32, a row of zeros where an anchor has no vector in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import numpy as np

from data.arrays import FloatArray
from data.errors import StoreError
from data.records import Anchor, AnchorImage

FILE = "vectors.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorAnchors:
    """Anchors that are vectors alone: row i of each matrix is anchor `anchor_ids[i]` of species `taxon_ids[i]`."""

    spaces: tuple[str, ...] = ()
    matrices: tuple[FloatArray, ...] = ()
    anchor_ids: tuple[str, ...] = ()
    rows: dict[str, list[int]] = field(default_factory=dict)
    """taxon_id -> the rows of its anchors, in the file's order."""

    def of(self, taxon_id: str) -> list[AnchorImage]:
        """Return the anchors of a species, without pictures and without credit."""
        return [self._anchor(taxon_id, row) for row in self.rows.get(taxon_id, ())]

    def _anchor(self, taxon_id: str, row: int) -> AnchorImage:
        vectors = {
            space: tuple(matrix[row].tolist())
            for space, matrix in zip(self.spaces, self.matrices, strict=True)
            if matrix[row].any()
        }
        return AnchorImage(anchor=Anchor(anchor_id=self.anchor_ids[row], subject_id=taxon_id), vectors=vectors)


def read_vector_anchors(path: Path | None = None) -> VectorAnchors:
    """Return the anchors that are vectors alone; none if the file is absent.

    Args:
        path: the file; by default the one that ships with Fieldmark.

    Raises:
        StoreError: if the file is not as the module says, or was named and is not there.
    """
    if path is None:
        shipped = resources.files("data") / "starter" / FILE
        with resources.as_file(shipped) as file:
            return _read(file) if file.exists() else VectorAnchors()
    return _read(path)


def _read(path: Path) -> VectorAnchors:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            spaces = tuple(str(space) for space in arrays["spaces"])
            matrices = tuple(np.asarray(arrays[f"vectors_{i}"], dtype=np.float32) for i in range(len(spaces)))
            taxon_ids = [str(name) for name in arrays["taxon_ids"].tolist()]
            anchor_ids = tuple(str(name) for name in arrays["anchor_ids"].tolist())
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path.name} is not a file of anchor vectors: {error}") from error
    shapes = {len(taxon_ids), len(anchor_ids), *(len(matrix) for matrix in matrices)}
    if len(shapes) != 1:
        raise StoreError(f"{path.name}: expected as many rows everywhere, got {sorted(shapes)}")
    rows: dict[str, list[int]] = {}
    for row, taxon_id in enumerate(taxon_ids):
        rows.setdefault(taxon_id, []).append(row)
    return VectorAnchors(spaces=spaces, matrices=matrices, anchor_ids=anchor_ids, rows=rows)
