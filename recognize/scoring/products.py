"""All scores of a block of photos: the products of their vectors with every row of a knowledge base.

By NumPy, or by ONNX Runtime where it is the quicker one: which vector instructions of a processor a BLAS knows differs.
The ranking does not depend on it, because what float32 may leave in doubt is summed exactly (`exact`).
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

_BLOCK: Final = 512  # photos in one product: in fewer, BLAS reads the matrices too often; 50 MB of scores
_TERM: Final = 2_000_000  # scores of one encoder that wait to be added to those of the others
_LARGE: Final = 2**34  # multiplications: a sixth of a second on two cores; for less a trial, twice as long, is no gain
_TRIAL: Final = (128, 1024, 768)  # photos, rows, dim
_TRIAL_S: Final = 0.05
_SPIN_S: Final = 0.1  # for so long, threads of OpenBLAS that have nothing to do may keep a core busy


class Product(NamedTuple):
    """What is multiplied with what."""

    queries: tuple[FloatArray, ...]
    """`(n_photos, dim)` for each encoder."""
    matrices: tuple[FloatArray, ...]
    """`(n_rows, dim)` for each encoder, or one in which the encoders' columns lie side by side."""


def score_blocks(n_photos: int, products: Sequence[Product]) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Yield photos and, for each product, their scores `(n, n_rows)`, float32, which the next block overwrites.

    A score is the mean over encoders of the products with the photo's vectors. Photos go through in blocks, so that
    memory does not grow with their number.
    """
    work = n_photos * sum(matrix.size for product in products for matrix in product.matrices)
    multiply = multiply_by_onnx if work >= _LARGE and onnx_is_quicker() else multiply_by_numpy
    sums = [_MeanProduct(product, multiply) for product in products]
    for first in range(0, n_photos, _BLOCK):
        photos = slice(first, min(first + _BLOCK, n_photos))
        yield photos, [one.of(photos) for one in sums]


class _MeanProduct:
    """The mean over encoders of the products of some photos; its memory is used again for the next block."""

    def __init__(self, product: Product, multiply: Multiply) -> None:
        self._queries, self._matrices = product
        self._multiply = multiply
        n_rows = len(self._matrices[0]) if self._matrices else 0
        n_photos = min(_BLOCK, len(self._queries[0])) if self._queries else _BLOCK
        self._scores = np.zeros((n_photos, n_rows), dtype=np.float32)
        self._term = np.empty(min(_TERM, self._scores.size) if len(self._matrices) > 1 else 0, dtype=np.float32)

    def of(self, photos: slice) -> FloatArray:
        """Return their scores `(n, n_rows)`."""
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
    """Write the product to `out`."""
    np.matmul(queries, matrix.T, out=out)


def multiply_by_onnx(queries: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Do the same by ONNX Runtime, which takes addresses: of float32 in C order, other vectors are copied."""
    session = _session()
    binding = session.io_binding()
    given = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in (("q", queries), ("m", matrix))}
    for name, array in given.items():
        binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    if not out.flags.c_contiguous or out.dtype != np.float32:
        raise ValueError(f"expected out as float32 in C order, got {out.dtype} with strides {out.strides}")
    binding.bind_output("s", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    session.run_with_iobinding(binding)


def onnx_is_quicker() -> bool:
    """Return which of the two is, by a trial of a quarter to a third of a second on the first call.

    NumPy can do everything that ONNX Runtime can: where that cannot be loaded, the answer is no.
    """
    with _ONE_TRIAL:  # of several threads' trials each would be in the way of the others
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
    """Return the best of the runs of a short while, after one to warm up."""
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
    options.enable_cpu_mem_arena = False  # all memory is ours
    options.log_severity_level = 3
    # Threads that wait for work without sleeping would take the time of those that decode photos.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = Path(__file__).with_name("product.onnx")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def n_threads() -> int:
    """Return how many threads to use: a core each, or fewer where the environment tells OpenBLAS so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(cores, int(first))
    return cores
