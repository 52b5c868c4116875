"""The photo tower: pictures to features, by onnxruntime."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from PIL import Image

from data.arrays import FloatArray

IMAGE_PX: Final = 260
N_FEATURES: Final = 1280
BATCH: Final = 1
"""Pictures a run: with more, a picture's features would depend in the last bits on its place in the batch."""


def _are_same(images: tuple[Image.Image, ...], others: tuple[Image.Image, ...]) -> bool:
    return len(images) == len(others) and all(a is b for a, b in zip(images, others, strict=True))


def pixels_of(image: Image.Image) -> FloatArray:
    """Return a picture as `(3, IMAGE_PX, IMAGE_PX)` float32 in [-1, 1], squeezed to a square: nothing is cut off."""
    size = (IMAGE_PX, IMAGE_PX)
    plain = image if image.mode == "RGB" else image.convert("RGB")  # which would copy it
    small = np.asarray(plain.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0))
    pixels = np.empty((3, *size), dtype=np.float32)
    for channel in range(3):
        pixels[channel] = small[:, :, channel]
    pixels -= 127
    pixels *= np.float32(1 / 128)
    return pixels


class Tower:
    """An ONNX model of fixed input `(1, 3, IMAGE_PX, IMAGE_PX)`; safe to share between threads.

    The features of the last pictures are kept: a text-image and a visual encoder ask for the same ones in turn.
    """

    def __init__(self, path: Path, *, n_threads: int | None = None) -> None:
        self._path = path
        self._n_threads = n_threads or min(8, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._session: Any = None
        self._last: tuple[tuple[Image.Image, ...], FloatArray] | None = None

    @cached_property
    def digest(self) -> str:
        """The first 12 hex digits of the model's SHA-256: its revision."""
        return hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]

    def _open(self) -> Any:  # noqa: ANN401  # onnxruntime has no types
        with self._lock:
            if self._session is None:
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1  # pictures run side by side instead: one order of sums, less waiting
                options.inter_op_num_threads = 1
                options.log_severity_level = 3
                self._session = onnxruntime.InferenceSession(
                    str(self._path), options, providers=["CPUExecutionProvider"]
                )
            return self._session

    def features_of_pixels(self, pixels: FloatArray) -> FloatArray:
        """Return the `(1280,)` features of what `pixels_of` gave."""
        rows: list[FloatArray] = self._open().run(None, {"pixels": pixels[None]})[0]
        return rows[0]

    def features(self, images: Sequence[Image.Image]) -> FloatArray:
        """Return `(n, 1280)` features; a row depends on its picture alone."""
        key = tuple(images)
        with self._lock:
            if self._last is not None and _are_same(self._last[0], key):
                return self._last[1].copy()

        def run(image: Image.Image) -> FloatArray:
            return self.features_of_pixels(pixels_of(image))

        out = np.zeros((len(key), N_FEATURES), dtype=np.float32)
        if len(key) == 1:
            out[0] = run(key[0])
        elif key:
            with ThreadPoolExecutor(self._n_threads) as pool:
                for i, row in enumerate(pool.map(run, key)):
                    out[i] = row
        with self._lock:
            self._last = (key, out)
        return out.copy()
