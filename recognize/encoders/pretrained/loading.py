"""Shared parts of encoders on torch: loading once, device, padded batches, revision.

Nothing here is imported before a model is used, so that `import recognize` stays free of torch.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, Generic, TypeVar

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.errors import ConfigError, MissingDependency, MissingRequirement

ItemT = TypeVar("ItemT")
LoadedT = TypeVar("LoadedT")

DEVICES: Final = ("cuda", "mps", "cpu")
PRECISIONS: Final = ("float32", "float16", "bfloat16")
# On a CPU the products of one picture already keep the cores busy, and padding would cost whole pictures.
BATCH_SIZES: Final = {"cuda": 64, "mps": 16, "cpu": 1}
N_PREPARING: Final = 4  # threads that scale pictures while the model works on those before


class OnFirstUse(Generic[LoadedT]):
    """A model that is loaded when it is first asked for, once, whichever thread asks.

    Example:
        >>> model = OnFirstUse(lambda: [])
        >>> model() is model()
        True
    """

    def __init__(self, load: Callable[[], LoadedT]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: LoadedT | None = None

    def __call__(self) -> LoadedT:
        """Return the model."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Turn whatever a library raises for weights that are not there into one error that says what to do.

    Raises:
        MissingRequirement: if the block raises anything.
    """
    try:
        yield
    except Exception as error:  # the libraries, the hub's client and torch share no class of errors
        raise MissingRequirement(
            f"{what} cannot be loaded: {type(error).__name__}: {error}",
            hint="its weights must be in the hub's cache (kb doctor encoders lists them) or be downloaded: check the "
            "name, the network, HF_HUB_OFFLINE",
        ) from error


def require(module: str, package: str) -> Any:  # noqa: ANN401  # torch and its relatives have no useful types
    """Return a module of the extra `models`.

    Raises:
        MissingDependency: if it is not installed; the hint is the pip line.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency(package, extra="models") from error


def pick_device(wanted: str | None = None) -> str:
    """Return the device that a model runs on: `wanted`, or the best one that there is.

    Raises:
        ConfigError: if `wanted` is none of `DEVICES`, or is not there.
    """
    torch = require("torch", "torch")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted is None:
        return next(device for device in DEVICES if there[device])
    if wanted not in DEVICES:
        raise ConfigError(f"expected a device out of {', '.join(DEVICES)}, got {wanted!r}")
    if not there[wanted]:
        raise ConfigError(f"this machine has no device {wanted}", hint="leave the device out, or choose cpu")
    return wanted


def precision_of(device: str, wanted: str | None = None) -> Any:  # noqa: ANN401
    """Return the torch dtype that a model runs in: `wanted`, or half precision on a GPU, where it is twice as fast.

    Raises:
        ConfigError: if `wanted` is none of `PRECISIONS`.
    """
    torch = require("torch", "torch")
    if wanted is not None and wanted not in PRECISIONS:
        raise ConfigError(f"expected a precision out of {', '.join(PRECISIONS)}, got {wanted!r}")
    return getattr(torch, wanted or ("float32" if device == "cpu" else "float16"))


def short_hash(text: str) -> str:
    """Return 8 hex digits that tell one preprocessing from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def revision_of(model: Any) -> str:  # noqa: ANN401
    """Return 12 hex digits of the SHA-256 over names and values of all weights: the same weights, the same revision."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(require("torch", "torch").uint8).numpy())
    return digest.hexdigest()[:12]


def unit_rows_in_batches(
    items: Sequence[ItemT],
    prepare: Callable[[ItemT], Any],
    run: Callable[[Any], Any],
    *,
    dim: int,
    batch_size: int,
) -> FloatArray:
    """Return `(n, dim)` float32 unit rows of all items.

    The next batch is prepared while the model runs on the one before. All batches have the same size, the last one
    filled up with its last item: a row must not depend on how many others come with it.

    Args:
        items: pictures or texts.
        prepare: item -> tensor.
        run: stacked tensors -> `(batch_size, dim)` tensor.
        dim: the length of a row, for when there are no items.
        batch_size: how many go through the model at once.
    """
    torch = require("torch", "torch")
    out = np.zeros((len(items), dim), dtype=np.float32)
    batches = [items[at : at + batch_size] for at in range(0, len(items), batch_size)]
    with ThreadPoolExecutor(N_PREPARING) as pool:
        coming = [pool.map(prepare, batch) for batch in batches[:1]]
        for number, batch in enumerate(batches):
            tensors = list(coming.pop())
            if number + 1 < len(batches):
                coming.append(pool.map(prepare, batches[number + 1]))
            tensors += tensors[-1:] * (batch_size - len(tensors))
            with torch.inference_mode():
                rows = run(torch.stack(tensors)).float().cpu().numpy()
            first = number * batch_size
            out[first : first + len(batch)] = rows[: len(batch)]
    return as_unit_rows(out)
