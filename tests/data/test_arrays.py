"""Products of vectors with a query."""

import os
import subprocess
import sys

import numpy as np
import pytest

from data import arrays
from data.arrays import as_unit_rows, products

COST = """
import time
import numpy as np
from data.arrays import products
vectors, query = np.ones((2_500, 384), dtype=np.float32), np.ones(384, dtype=np.float32)
products(vectors, query)
own, began = time.thread_time(), time.process_time()
for _ in range(50):
    products(vectors, query)
print(time.process_time() - began - (time.thread_time() - own))
"""


@pytest.mark.parametrize("one_thread", [0, 1 << 24])
def test_large_and_small_products_are_the_exact_ones(monkeypatch: pytest.MonkeyPatch, one_thread: int) -> None:
    monkeypatch.setattr(arrays, "_ONE_THREAD", one_thread)
    vectors = as_unit_rows(np.random.default_rng(0).normal(size=(300, 70)))
    found = products(vectors, vectors[7])
    assert found.dtype == np.float32
    assert found == pytest.approx(vectors.astype(np.float64) @ vectors[7], abs=1e-6)
    with pytest.raises(ValueError, match=r"mismatch|broadcast"):
        products(vectors, vectors[7, :-1])


def test_small_products_wait_for_no_other_thread() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "4"}
    done = subprocess.run(
        [sys.executable, "-c", COST], capture_output=True, text=True, check=True, timeout=200, env=environment
    )
    assert float(done.stdout) < 0.01  # seconds of other threads, which spin while they wait
