"""Photo tower: features of pictures, by onnxruntime."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from data.arrays import FloatArray
from recognize.model_file import open_model

IMAGE_PX: Final = 260
_N_CACHED: Final = 2  # batches that are encoded at once
BATCH: Final = 1
"""Pictures a run: with more, a picture's features would depend in the last bits on its place in the batch."""


def _are_same(images: tuple[Image.Image, ...], others: tuple[Image.Image, ...]) -> bool:
    return len(images) == len(others) and all(a is b for a, b in zip(images, others, strict=True))


def pixels_of(image: Image.Image, out: FloatArray | None = None) -> FloatArray:
    """Return a picture as `(3, IMAGE_PX, IMAGE_PX)` float32 in [-1, 1], resized without cropping.

    Written to `out` if it is given, because new memory for each picture is slow.
    """
    size = (IMAGE_PX, IMAGE_PX)
    plain = image if image.mode == "RGB" else image.convert("RGB")  # which would copy it
    small = plain.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)
    pixels = np.empty((3, *size), dtype=np.float32) if out is None else out
    for channel, band in zip(pixels, small.split(), strict=True):
        channel[:] = np.asarray(band)
        channel -= 127
        channel *= np.float32(1 / 128)
    return pixels


class Tower:
    """An ONNX model with the input `(1, 3, IMAGE_PX, IMAGE_PX)`, safe to share between threads.

    The features of the last batches are cached, because two encoders need them in turn. All callers share one pool of
    threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._session: Any = None
        self._memory = threading.local()
        # Its threads start on first use.
        self._pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1), thread_name_prefix="tower")
        self._recent: deque[tuple[tuple[Image.Image, ...], FloatArray]] = deque(maxlen=_N_CACHED)

    @cached_property
    def digest(self) -> str:
        """12 hex digits of the SHA-256 of the model."""
        return hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]

    def _open(self) -> Any:  # noqa: ANN401  # onnxruntime has no types
        with self._lock:
            if self._session is None:
                self._session = open_model(self._path)
            return self._session

    @property
    def n_features(self) -> int:
        """Number of features of a picture."""
        return int(self._open().get_outputs()[0].shape[1])

    def features_of_pixels(self, pixels: FloatArray) -> FloatArray:
        """Return the `(n_features,)` features of a picture from `pixels_of`."""
        rows: list[FloatArray] = self._open().run(None, {"pixels": pixels[None]})[0]
        return rows[0]

    def features(self, images: Sequence[Image.Image]) -> FloatArray:
        """Return `(n, n_features)` features, each from its picture alone."""
        key = tuple(images)
        with self._lock:
            for images_before, features in self._recent:
                if _are_same(images_before, key):
                    return features.copy()

        def run(image: Image.Image) -> FloatArray:
            if not hasattr(self._memory, "pixels"):
                self._memory.pixels = np.empty((3, IMAGE_PX, IMAGE_PX), dtype=np.float32)
            return self.features_of_pixels(pixels_of(image, self._memory.pixels))

        out = np.zeros((len(key), self.n_features), dtype=np.float32)
        if len(key) == 1:
            out[0] = run(key[0])
        else:
            for i, row in enumerate(self._pool.map(run, key)):
                out[i] = row
        with self._lock:
            self._recent.append((key, out))
        return out.copy()
