"""Photo tower: features of pictures, by onnxruntime, and the opening of models in ONNX."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from PIL import Image

from data.arrays import FloatArray

IMAGE_PX: Final = 260
_N_CACHED: Final = 2  # batches that are encoded at once


def open_model(path: Path) -> Any:  # noqa: ANN401  # onnxruntime has no types
    """Return a session of one thread: pictures run in parallel instead, each with one order of sums."""
    return _open(path, is_exact=int8_overflows())


@cache
def int8_overflows() -> bool:
    """Return whether sums of products of int8 numbers overflow on this processor, as on those without VNNI.

    Then onnxruntime must be asked for exact sums, which would cost other processors twice the time.
    """
    n, k, m = 4, 64, 16
    numbers = {"a": np.full((n, k), 255, dtype=np.uint8), "b": np.full((k, m), 127, dtype=np.int8)}
    products = _open(Path(__file__).with_name("int8_product.onnx"), is_exact=False).run(None, numbers)[0]
    return bool((products != k * 255 * 127).any())


def _open(path: Path, *, is_exact: bool) -> Any:  # noqa: ANN401
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", str(int(is_exact)))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@dataclass(eq=False)
class OnnxModel:
    """A model file, opened on first use, and threads for its pictures; safe to share between threads."""

    path: Path
    _session: Any = field(default=None, init=False, repr=False)
    _pools: dict[int, ThreadPoolExecutor] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    @cached_property
    def digest(self) -> str:
        """12 hex digits of the SHA-256 of the model."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]

    @property
    def session(self) -> Any:  # noqa: ANN401  # onnxruntime has no types
        """The model, opened now if it was not."""
        with self._lock:
            if self._session is None:
                self._session = open_model(self.path)
            return self._session

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Threads for pictures, of this process: a forked child has the object of its parent's, but not the threads."""
        with self._lock:
            if os.getpid() not in self._pools:
                name = type(self).__name__
                self._pools = {os.getpid(): ThreadPoolExecutor(min(8, os.cpu_count() or 1), thread_name_prefix=name)}
            return self._pools[os.getpid()]


def _are_same(images: tuple[Image.Image, ...], others: tuple[Image.Image, ...]) -> bool:
    return len(images) == len(others) and all(a is b for a, b in zip(images, others, strict=True))


def pixels_of(image: Image.Image) -> FloatArray:
    """Return a picture as `(3, IMAGE_PX, IMAGE_PX)` float32 in [-1, 1], resized without cropping."""
    size = (IMAGE_PX, IMAGE_PX)
    plain = image if image.mode == "RGB" else image.convert("RGB")  # which would copy it
    small = plain.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)
    pixels = np.empty((3, *size), dtype=np.float32)
    for channel, band in zip(pixels, small.split(), strict=True):
        channel[:] = np.asarray(band)
        channel -= 127
        channel *= np.float32(1 / 128)
    return pixels


@dataclass(eq=False)
class Tower(OnnxModel):
    """An ONNX model with the input `(1, 3, IMAGE_PX, IMAGE_PX)`.

    The features of the last batches are cached, because two encoders need them in turn. All callers share one pool of
    threads.
    """

    _recent: deque[tuple[tuple[Image.Image, ...], FloatArray]] = field(
        default_factory=lambda: deque(maxlen=_N_CACHED), init=False, repr=False
    )

    @property
    def n_features(self) -> int:
        """Number of features of a picture."""
        return int(self.session.get_outputs()[0].shape[1])

    def features_of_pixels(self, pixels: FloatArray) -> FloatArray:
        """Return the `(n_features,)` features of a picture from `pixels_of`.

        One picture a run: with more, its features would depend in the last bits on its place in the batch.
        """
        rows: list[FloatArray] = self.session.run(None, {"pixels": pixels[None]})[0]
        return rows[0]

    def features(self, images: Sequence[Image.Image]) -> FloatArray:
        """Return `(n, n_features)` features, each from its picture alone."""
        key = tuple(images)
        with self._lock:
            for images_before, features in self._recent:
                if _are_same(images_before, key):
                    return features.copy()

        def run(image: Image.Image) -> FloatArray:
            return self.features_of_pixels(pixels_of(image))

        out = np.zeros((len(key), self.n_features), dtype=np.float32)
        if len(key) == 1:
            out[0] = run(key[0])
        else:
            for i, row in enumerate(self.pool.map(run, key)):
                out[i] = row
        with self._lock:
            self._recent.append((key, out))
        return out.copy()
