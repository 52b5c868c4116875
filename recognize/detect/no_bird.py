"""Pictures without a bird: the detector and the recognizer must agree, since each of them misses some birds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from data.arrays import FloatArray
from data.contracts import ImageEncoder, TrainedOnSpecies
from data.records import Detection

if TYPE_CHECKING:
    from PIL.Image import Image

LOW_COSINE: Final = 0.35
"""A picture where no bird was detected shows none if its cosine to every prototype and anchor is lower. Chosen for the
prototypes of the starter by `benchmarks/no_bird.py`, so that under 1 % of the birds of new species are lost."""
CLEAR_COSINE: Final = 0.7
"""A picture with such a cosine counts as if a bird was detected. None of 102 made and bundled pictures has it, and 4 %
of the parts of bird photos beside the bird (`benchmarks/no_bird.py`)."""
FLAT: Final = 1.0
"""A picture shows nothing if neighbouring parts of it differ less, in grey levels."""
SURE: Final = 0.5
"""Lowest score of something else in the picture that is named."""
_FLAT_PX: Final = 64


def looks_of_birds(encoder: ImageEncoder, anchors: FloatArray) -> tuple[FloatArray, ...]:
    """Return the vectors that pictures are compared with: prototypes, and the anchors of a knowledge base.

    None for an encoder without prototypes, because the scale of its cosines is not known: only flat pictures show no
    bird then.
    """
    return (encoder.prototypes()[1], anchors) if isinstance(encoder, TrainedOnSpecies) else ()


def shows_bird(vector: FloatArray, known: Sequence[FloatArray], least: float = LOW_COSINE) -> bool:
    """Return whether a picture with details, where no bird was detected, may show one.

    `vector` is the vector of the picture, `(dim,)`, or the mean of several; `known` is from `looks_of_birds`, and
    `least` the least cosine of a bird.
    """
    unit = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return not known or any(len(rows) and float((rows @ unit).max()) >= least for rows in known)


def is_flat(picture: Image) -> bool:
    """Return whether a picture is of one colour, or passes from one to another, without any detail."""
    small = picture.convert("L").resize((_FLAT_PX, _FLAT_PX), reducing_gap=2.0)
    grey = np.asarray(small, dtype=np.float32)
    bends = (np.abs(np.diff(grey, n=2, axis=axis)).mean() for axis in (0, 1))
    return bool(max(bends) < FLAT)


def seen_kind(detections: Sequence[Detection], *, but: str = "") -> str | None:
    """Return the kind of the best detection, of a kind other than `but`, if it is sure."""
    best = max((each for each in detections if each.kind != but), key=lambda each: each.score, default=None)
    return best.kind if best is not None and best.score >= SURE else None
