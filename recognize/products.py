"""All scores of a block of photos: the products of their vectors with every row of a knowledge base.

By NumPy, or by ONNX Runtime where it is the quicker one: which vector instructions of a processor a BLAS knows differs.
The ranking does not depend on it, because what float32 leaves in doubt is summed exactly (`recognize.exact`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from data.arrays import FloatArray

Product = tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]
"""Queries `(n_photos, dim)` and matrices `(n_rows, dim)`, one of each for every encoder."""

_BLOCK: Final = 512  # photos in one product: in fewer, BLAS reads the matrices too often; 50 MB of scores
_TERM: Final = 2_000_000  # scores of one encoder that wait to be added to those of the others
_LARGE: Final = 2**30  # multiplications: some 10 ms; less is not worth a trial
_TRIAL: Final = (128, 1024, 768)  # photos, rows, dim
_TRIAL_S: Final = 0.05  # longer than threads of a BLAS that have nothing to do keep a core busy


def score_blocks(n_photos: int, products: list[Product]) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield photos and, for each product, their scores `(n, n_rows)`, float32, which the next block overwrites.

    A score is the mean over encoders of the products with the photo's vectors. Photos go through in blocks, so that
    memory does not grow with their number.
    """
    sums = [_MeanProduct(product) for product in products]
    for first in range(0, n_photos, _BLOCK):
        photos = slice(first, min(first + _BLOCK, n_photos))
        yield photos, [one.of(photos) for one in sums]


class _MeanProduct:
    """The mean over encoders of the products of some photos; its memory is used again for the next block."""

    def __init__(self, product: Product) -> None:
        self._queries, self._matrices = product
        n_rows = len(self._matrices[0]) if self._matrices else 0
        n_photos = min(_BLOCK, len(self._queries[0])) if self._queries else _BLOCK
        self._scores = np.zeros((n_photos, n_rows), dtype=np.float32)
        self._term = np.empty(min(_TERM, self._scores.size) if len(self._matrices) > 1 else 0, dtype=np.float32)

    def of(self, photos: slice) -> FloatArray:
        """Return their scores `(n, n_rows)`."""
        n = photos.stop - photos.start
        scores = self._scores[:n]
        share = np.float32(1 / max(1, len(self._matrices)))
        for number, (queries, matrix) in enumerate(zip(self._queries, self._matrices, strict=True)):
            block = queries[photos] * share
            if not number:
                multiply(block, matrix, scores)
                continue
            width = max(1, len(self._term) // n)
            for start in range(0, len(matrix), width):
                part = scores[:, start : start + width]
                term = self._term[: part.size].reshape(part.shape)
                multiply(block, matrix[start : start + width], term)
                part += term
        return scores


def multiply(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Write `queries @ matrix.T` to `out`: `(n_photos, dim)`, `(n_rows, dim)` and `(n_photos, n_rows)`."""
    if len(queries) * matrix.size >= _LARGE and all(map(_suits, (queries, matrix, out))) and onnx_is_quicker():
        multiply_by_onnx(queries, matrix, out)
    else:
        np.matmul(queries, matrix.T, out=out)


def multiply_by_onnx(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Do the same by ONNX Runtime: with float32 in C order, as it takes addresses."""
    binding = _session().io_binding()
    for name, array in (("q", queries), ("m", matrix), ("s", out)):
        if not _suits(array):
            raise ValueError(f"expected {name} as float32 in C order, got {array.dtype} with strides {array.strides}")
        bind = binding.bind_output if array is out else binding.bind_input
        bind(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    _session().run_with_iobinding(binding)


def _suits(array: FloatArray) -> bool:
    return array.flags.c_contiguous and array.dtype == np.float32


@cache
def onnx_is_quicker() -> bool:
    """Return which of the two is, by a trial of a tenth of a second on the first call."""
    rng = np.random.default_rng(0)
    n_photos, n_rows, dim = _TRIAL
    queries, matrix = (rng.standard_normal((n, dim), dtype=np.float32) for n in (n_photos, n_rows))
    out = np.empty((n_photos, n_rows), dtype=np.float32)
    with_onnx = _seconds(partial(multiply_by_onnx, queries, matrix, out))
    return with_onnx < _seconds(partial(np.matmul, queries, matrix.T, out=out))


def _seconds(run: Callable[[], object]) -> float:
    """Return the best of the runs of a short while, after one to warm up."""
    run()
    best, end = float("inf"), time.perf_counter() + _TRIAL_S
    while (start := time.perf_counter()) < end:
        run()
        best = min(best, time.perf_counter() - start)
    return best


@cache
def _session() -> Any:  # noqa: ANN401  # onnxruntime has no types
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _n_threads()
    options.enable_cpu_mem_arena = False  # all memory is ours
    options.log_severity_level = 3
    # Threads that wait for work without sleeping would take the time of those that decode photos.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = Path(__file__).with_name("product.onnx")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _n_threads() -> int:
    """Return how many threads BLAS would take."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdecimal() and int(os.environ[name]) > 0:
            return int(os.environ[name])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
