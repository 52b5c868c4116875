"""Photos unlike anything in a knowledge base, told without a calibration: by its own reference photos.

A photo is strange if no reference photo is as like it as nearly all of them are to their nearest other one. So no scale
is fixed: photos are less alike than drawings, and one reference photo a species lies lonelier than three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from data.arrays import FloatArray, IntArray
from data.records import Detection
from recognize.confidence.ranks import Lineage
from recognize.detect.nanodet import CLASSES
from recognize.detect.no_bird import SURE
from recognize.scoring.knowledge import Knowledge

LONELY: Final = 0.02
"""Share of the reference photos that are lonelier than the loneliest ordinary ones. A strange photo is lonelier still,
by half of their distance to the median, in cosines. Of birds as an unknown group, under 1 % of the photos of known
species are strange, 1 to 2 % of those of other birds, and all pictures of other groups (`benchmarks.other_groups`)."""
LEAST_PHOTOS: Final = 8
"""Reference photos that say how alike they are."""
_COMPARED: Final = 1_024  # reference photos compared with the others, evenly spaced
_BLOCK: Final = 128


class Familiarity:
    """Tells whether a photo is like the reference photos of a knowledge base, by vectors that no species shaped."""

    def __init__(self, knowledge: Knowledge, lineages: Callable[[IntArray], Sequence[Lineage]]) -> None:
        """Keep the knowledge base and the reader of the lineages of its species."""
        self._knowledge, self._lineages = knowledge, lineages

    def is_strange(self, vector: FloatArray, detections: Sequence[Detection]) -> bool:
        """Return whether a photo is unlike all reference photos, or shows an animal that is none of the species.

        The detector's word counts where no reference photo is as like the photo as half of them are to others; without
        enough reference photos it decides alone. `vector` is the vector of the photo, `(dim,)`.
        """
        is_other = self._is_other(detections)
        likeness, anchors = self._likeness, self._knowledge.anchors.vectors
        if len(likeness) < LEAST_PHOTOS:
            return is_other
        unit = vector / max(float(np.linalg.norm(vector)), 1e-9)
        lonely, median = np.quantile(likeness, (LONELY, 0.5)).tolist()
        least = median if is_other else lonely - (median - lonely) / 2
        return bool((anchors @ unit).max() < least)

    def _is_other(self, detections: Sequence[Detection]) -> bool:
        """Return whether the detector is sure of an animal, and no species is of its class."""
        seen = {CLASSES[each.kind] for each in detections if each.kind in CLASSES and each.score >= SURE}
        return bool(seen) and None not in self._classes and not seen & self._classes

    @cached_property
    def _classes(self) -> set[str | None]:
        """Classes of the species; None for a species whose class is not known."""
        return {lineage.get("class") for lineage in self._lineages(np.arange(self._knowledge.n_species))}

    @cached_property
    def _likeness(self) -> FloatArray:
        """Cosine of reference photos to the nearest other one."""
        anchors = np.asarray(self._knowledge.anchors.vectors)
        chosen = np.unique(np.linspace(0, max(0, len(anchors) - 1), _COMPARED).astype(np.intp))[: len(anchors)]
        found = []
        for start in range(0, len(chosen), _BLOCK):
            rows = chosen[start : start + _BLOCK]
            cosines = anchors[rows] @ anchors.T
            cosines[np.arange(len(rows)), rows] = -1.0
            found.append(cosines.max(axis=1))
        return np.concatenate(found) if found else np.empty(0, dtype=np.float32)
