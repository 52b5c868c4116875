"""Matrix products of photos with all rows of a knowledge base, by NumPy or ONNX Runtime, whichever is faster.

Rankings do not depend on the choice, because close scores are computed again in float64 (`exact`).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from data.arrays import FloatArray

_log = logging.getLogger(__name__)

Multiply = Callable[[FloatArray, FloatArray, FloatArray], None]
"""`(n_photos, dim)`, `(n_rows, dim)` and where to write their product, `(n_photos, n_rows)`."""

_BLOCK: Final = 512  # photos in one product: 50 MB of scores
_TERM: Final = 2_000_000  # scores of one encoder in a buffer
_LARGE: Final = 2**34  # multiplications, a sixth of a second on two cores; below, a trial does not pay
_TRIAL: Final = (128, 1024, 768)  # photos, rows, dim
_TRIAL_S: Final = 0.05
_SPIN_S: Final = 0.1  # idle threads of OpenBLAS may keep a core busy for so long


class Product(NamedTuple):
    """Queries and the matrices to multiply them with."""

    queries: tuple[FloatArray, ...]
    """`(n_photos, dim)` for each encoder."""
    matrices: tuple[FloatArray, ...]
    """`(n_rows, dim)` for each encoder, or one matrix with the columns of all encoders."""


def score_blocks(n_photos: int, products: Sequence[Product]) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield blocks of photos and their float32 scores `(n, n_rows)` for each product; the next block overwrites them.

    A score is the mean product over encoders.
    """
    work = n_photos * sum(matrix.size for product in products for matrix in product.matrices)
    multiply = multiply_by_onnx if work >= _LARGE and onnx_is_faster() else multiply_by_numpy
    sums = [_MeanProduct(product, multiply) for product in products]
    for first in range(0, n_photos, _BLOCK):
        photos = slice(first, min(first + _BLOCK, n_photos))
        yield photos, [one.of(photos) for one in sums]


class _MeanProduct:
    """Mean product over encoders, in memory that is reused for each block of photos."""

    def __init__(self, product: Product, multiply: Multiply) -> None:
        self._queries, self._matrices = product
        self._multiply = multiply
        n_rows = len(self._matrices[0]) if self._matrices else 0
        n_photos = min(_BLOCK, len(self._queries[0])) if self._queries else _BLOCK
        self._scores = np.zeros((n_photos, n_rows), dtype=np.float32)
        self._term = np.empty(min(_TERM, self._scores.size) if len(self._matrices) > 1 else 0, dtype=np.float32)

    def of(self, photos: slice) -> FloatArray:
        """Return the scores of a block, `(n, n_rows)`."""
        n = photos.stop - photos.start
        scores = self._scores[:n]
        share = np.float32(1 / max(1, len(self._queries)))
        blocks = [queries[photos] * share for queries in self._queries]
        if len(self._matrices) == 1:
            blocks = [np.concatenate(blocks, axis=1)]
        for number, (block, matrix) in enumerate(zip(blocks, self._matrices, strict=True)):
            if not number:
                self._multiply(block, matrix, scores)
                continue
            width = max(1, len(self._term) // n)
            for start in range(0, len(matrix), width):
                part = scores[:, start : start + width]
                term = self._term[: part.size].reshape(part.shape)
                self._multiply(block, matrix[start : start + width], term)
                part += term
        return scores


def multiply_by_numpy(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Write the product to `out` by NumPy."""
    np.matmul(queries, matrix.T, out=out)


def multiply_by_onnx(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Write the product to `out` by ONNX Runtime, which needs float32 in C order."""
    session = _session()
    binding = session.io_binding()
    given = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in (("q", queries), ("m", matrix))}
    for name, array in given.items():
        binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    if not out.flags.c_contiguous or out.dtype != np.float32:
        raise ValueError(f"expected out as float32 in C order, got {out.dtype} with strides {out.strides}")
    binding.bind_output("s", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    session.run_with_iobinding(binding)


def onnx_is_faster() -> bool:
    """Return whether ONNX Runtime is faster, by a trial of about 0.3 s on the first call.

    False if ONNX Runtime cannot be loaded.
    """
    with _ONE_TRIAL:  # trials on several threads would disturb each other
        return _trial()


_ONE_TRIAL: Final = threading.Lock()


@cache
def _trial() -> bool:
    rng = np.random.default_rng(0)
    n_photos, n_rows, dim = _TRIAL
    queries, matrix = (rng.standard_normal((n, dim), dtype=np.float32) for n in (n_photos, n_rows))
    out = np.empty((n_photos, n_rows), dtype=np.float32)
    try:
        with_onnx = _seconds(partial(multiply_by_onnx, queries, matrix, out), _SPIN_S + _TRIAL_S)
    except Exception as error:  # onnxruntime has no base class of its errors
        _log.info("NumPy multiplies: ONNX Runtime cannot: %s", error)
        return False
    return with_onnx < _seconds(partial(multiply_by_numpy, queries, matrix, out), _TRIAL_S)


def _seconds(run: Callable[[], object], for_s: float) -> float:
    """Return the shortest run within a time, after one to warm up."""
    run()
    best, end = float("inf"), time.perf_counter() + for_s
    while (start := time.perf_counter()) < end:
        run()
        best = min(best, time.perf_counter() - start)
    return best


@cache
def _session() -> Any:  # noqa: ANN401  # onnxruntime has no types
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads()
    options.enable_cpu_mem_arena = False  # memory is bound by the caller
    options.log_severity_level = 3
    # Spinning threads would take time from photo decoding.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = Path(__file__).with_name("product.onnx")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def n_threads() -> int:
    """Return the number of cores, or the smaller limit of OpenBLAS in the environment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(cores, int(first))
    return cores
