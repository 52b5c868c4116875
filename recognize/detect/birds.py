"""Birds in photos: NanoDet, by onnxruntime, and pictures without a bird.

A picture shows no bird only if the detector and the recognizer agree, since each of them misses some birds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from data.arrays import FloatArray
from data.contracts import ImageEncoder, TrainedOnSpecies
from data.records import Box, Detection
from recognize.tower import OnnxModel

INPUT_PX: Final = 416
MIN_SCORE: Final = 0.25
"""Lowest score of a detection."""
TILE_BELOW: Final = 0.3
"""A photo is searched in tiles if no bird in it scores as much: 10 % of the photos of `birds/` not set aside."""
TILE_SIDE: Final = 600
"""Shortest longer side of a photo searched in tiles, in pixels; a smaller photo is seen with all its pixels."""
TILE_SCORE: Final = 0.45
"""Lowest score of a bird in a tile, where leaves and stones are as large as birds."""
TILES: Final = 3
"""Tiles across and down, each half as long as the photo."""
WHOLE: Final = f"squeeze-{INPUT_PX}-bilinear"
PREPROCESSING: Final = f"{WHOLE}-tiles-{TILES}"

_MEAN: Final = np.array([103.53, 116.28, 123.675], dtype=np.float32)  # BGR
_DEVIATION: Final = np.array([57.375, 57.12, 58.395], dtype=np.float32)
_HEADS: Final = ((8, "Identity", "Identity_3"), (16, "Identity_1", "Identity_4"), (32, "Identity_2", "Identity_5"))
"""Stride, output of class scores, output of sides."""
_OUTPUTS: Final = (*_HEADS[0][1:], *_HEADS[1][1:], *_HEADS[2][1:])
_N_BINS: Final = 11
_EDGE: Final = 0.02  # a box this near to an inner edge of a tile, as a share of the tile, is cut off


@dataclass(eq=False)
class NanoDet(OnnxModel):
    """A `Detector` of COCO's 80 kinds.

    Source: RangiLyu, NanoDet (github.com/RangiLyu/nanodet): anchor-free heads at three strides, sides of boxes as
        expectations over distances (generalised focal loss, Li et al. 2020). Differs: with `is_tiled`, small birds are
        sought in tiles of the photo as well.
    """

    path: Path = Path(__file__).parent / "weights" / "nanodet.onnx"
    is_tiled: bool = field(default=True, kw_only=True)

    @property
    def name(self) -> str:
        """Model, 12 hex digits of the SHA-256 of its file, and preprocessing."""
        return f"nanodet/{self.digest}/{PREPROCESSING if self.is_tiled else WHOLE}"

    def detect(self, images: Sequence[Image.Image]) -> list[tuple[Detection, ...]]:
        """Return the detections in each upright RGB photo, highest score first; no two of one kind overlap much."""
        return list(self.pool.map(self._detect, images))

    def _detect(self, image: Image.Image) -> tuple[Detection, ...]:
        whole = (0.0, 0.0, float(image.width), float(image.height))
        found = self._find(image, whole, range(len(KINDS)), MIN_SCORE)
        best = max((each.score for each in found if each.kind == BIRD), default=0.0)
        if self.is_tiled and best < TILE_BELOW and max(image.size) >= TILE_SIDE:
            for tile in tiles_of(image.width, image.height):
                birds = self._find(image, tile, (KINDS.index(BIRD),), TILE_SCORE)
                found += [bird for bird in birds if not _is_cut_off(bird.box, tile, whole)]
        return distinct(found)

    def _find(
        self, image: Image.Image, region: tuple[float, float, float, float], kinds: Sequence[int], least: float
    ) -> list[Detection]:
        """Return all detections of some kinds in a region, with boxes in pixels of the image."""
        scores, boxes = self._run(image, region)
        left, top, right, bottom = region
        scale = np.array([right - left, bottom - top] * 2)
        corner = np.array([left, top] * 2)
        cells, columns = np.nonzero(scores[:, kinds] >= least)
        return [
            Detection(
                box=Box(*(float(side) for side in boxes[cell] * scale + corner)),
                kind=KINDS[kinds[column]],
                score=float(scores[cell, kinds[column]]),
            )
            for cell, column in zip(cells.tolist(), columns.tolist(), strict=True)
        ]

    def _run(self, image: Image.Image, region: tuple[float, float, float, float]) -> tuple[FloatArray, FloatArray]:
        """Return the scores `(n, 80)` of all cells, and their boxes `(n, 4)` as shares of the region."""
        outputs = self.session.run(_OUTPUTS, {"input_1": pixels_of(image, region)})
        by_name = dict(zip(_OUTPUTS, outputs, strict=True))
        scores, boxes = [], []
        for stride, score_name, side_name in _HEADS:
            scores.append(by_name[score_name].reshape(-1, len(KINDS)))
            bins = np.exp(by_name[side_name].reshape(-1, 4, _N_BINS))
            sides = (bins @ np.arange(_N_BINS, dtype=np.float32)) / bins.sum(2) * stride
            n = INPUT_PX // stride
            y, x = (np.indices((n, n)).reshape(2, -1) + 0.5) * stride
            boxes.append(np.stack([x - sides[:, 0], y - sides[:, 1], x + sides[:, 2], y + sides[:, 3]], axis=1))
        return np.concatenate(scores), np.clip(np.concatenate(boxes) / INPUT_PX, 0, 1)


def pixels_of(image: Image.Image, region: tuple[float, float, float, float]) -> FloatArray:
    """Return a region of a picture as `(1, 3, 416, 416)` float32, squeezed, BGR, normalised."""
    size = (INPUT_PX, INPUT_PX)
    small = image.resize(size, Image.Resampling.BILINEAR, box=region, reducing_gap=3.0)
    pixels = np.empty((1, 3, *size), dtype=np.float32)
    for channel, band, mean, deviation in zip(pixels[0], small.split()[::-1], _MEAN, _DEVIATION, strict=True):
        channel[:] = np.asarray(band)
        channel -= mean
        channel /= deviation
    return pixels


def tiles_of(width: int, height: int) -> Iterator[tuple[float, float, float, float]]:
    """Yield `TILES` x `TILES` overlapping tiles, each half as long as the picture."""
    for row in range(TILES):
        for column in range(TILES):
            left, top = column * width / 2 / (TILES - 1), row * height / 2 / (TILES - 1)
            yield left, top, left + width / 2, top + height / 2


def _is_cut_off(box: Box, tile: tuple[float, float, float, float], whole: tuple[float, float, float, float]) -> bool:
    """Return whether a box touches an edge of its tile that is not an edge of the picture."""
    across, down = _EDGE * (tile[2] - tile[0]), _EDGE * (tile[3] - tile[1])
    return any(
        edge != outer and abs(side - edge) < near
        for side, edge, outer, near in zip(box, tile, whole, (across, down, across, down), strict=True)
    )


BIRD: Final = "bird"
ANIMAL: Final = "animal"
"""Kind of MegaDetector's animals, birds among them."""
CLASSES: Final = {
    BIRD: "Aves",
    **dict.fromkeys(
        ("person", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"), "Mammalia"
    ),
}
"""Kind of animal -> its class."""
_NAMES: Final = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign,
parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella,
handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard,
surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange,
broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, laptop,
mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors,
teddy bear, hair drier, toothbrush
"""
KINDS: Final = tuple(" ".join(_NAMES.split()).split(", "))


SAME: Final = 0.4
"""Two boxes of a kind show one animal if their common part is this share of the smaller one."""


def distinct(detections: Iterable[Detection]) -> tuple[Detection, ...]:
    """Return the detections, highest score first, one for each animal."""
    kept: list[Detection] = []
    for each in sorted(detections, key=lambda detection: (-detection.score, detection.box)):
        if all(each.kind != other.kind or common_share(each.box, other.box) < SAME for other in kept):
            kept.append(each)
    return tuple(kept)


def common_share(a: Box, b: Box) -> float:
    """Return the common area of two boxes as a share of the smaller one."""
    across = min(a.right, b.right) - max(a.left, b.left)
    down = min(a.bottom, b.bottom) - max(a.top, b.top)
    smaller = min(_area(a), _area(b))
    return 0.0 if across <= 0 or down <= 0 or smaller <= 0 else across * down / smaller


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


LOW_COSINE: Final = 0.35
"""A picture where no bird was detected shows none if its cosine to every prototype and anchor is lower. Chosen for the
prototypes of the starter by `benchmarks/no_bird.py`, so that under 1 % of the birds of new species are lost."""
CLEAR_COSINE: Final = 0.7
"""A picture with such a cosine counts as if a bird was detected. None of 102 made and bundled pictures has it, and 7 %
of 75 parts of bird photos beside the bird (`benchmarks/no_bird.py`)."""
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


def is_flat(picture: Image.Image) -> bool:
    """Return whether a picture is of one colour, or passes from one to another, without any detail."""
    small = picture.convert("L").resize((_FLAT_PX, _FLAT_PX), reducing_gap=2.0)
    grey = np.asarray(small, dtype=np.float32)
    bends = (np.abs(np.diff(grey, n=2, axis=axis)).mean() for axis in (0, 1))
    return bool(max(bends) < FLAT)


def seen_kind(detections: Sequence[Detection], *, but: Collection[str] = ()) -> str | None:
    """Return the kind of the best detection, of a kind not in `but`, if it is sure."""
    best = max((each for each in detections if each.kind not in but), key=lambda each: each.score, default=None)
    return best.kind if best is not None and best.score >= SURE else None
