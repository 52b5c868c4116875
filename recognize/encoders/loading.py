"""Encoders on torch: loading once, device, padded batches, revision.

`import recognize` stays free of torch: it is imported when a model is first used.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from data.errors import ConfigError, MissingDependency, MissingRequirement

if TYPE_CHECKING:
    from PIL.Image import Image

ItemT = TypeVar("ItemT")

DEVICES: Final = ("cuda", "mps", "cpu")
PRECISIONS: Final = ("float32", "float16", "bfloat16")
# On a CPU the products of one picture already keep the cores busy, and padding would cost whole pictures.
BATCH_SIZES: Final = {"cuda": 64, "mps": 16, "cpu": 1}
N_PREPARING: Final = 4  # threads that scale pictures while the model works on the previous batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model with its preprocessing and tokenizer, on its device."""

    model: Any
    revision: str
    dim: int
    max_tokens: int | None = None
    device: str = "cpu"
    precision: Any = None
    preprocess: Any = None
    preparation: str = ""
    tokenizer: Any = None


@dataclass
class TorchEncoder(ABC):
    """A model that is loaded when it is first used, once, whichever thread asks."""

    model: str
    device: str | None = None
    library: ClassVar[str] = ""
    """First part of `space`."""
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False, compare=False)
    _loaded: Loaded | None = field(default=None, init=False, repr=False, compare=False)

    @abstractmethod
    def _load(self) -> Loaded: ...

    @property
    def loaded(self) -> Loaded:
        """The model, loaded now if it was not."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @property
    def name(self) -> str:
        """Name of the model, or the last part of its folder."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @property
    def space(self) -> str:
        """Library, name, hash of the weights, and for images size and hash of the preprocessing."""
        parts = (self.library, self.name, self.loaded.revision, self.loaded.preparation)
        return "/".join(part for part in parts if part)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.loaded.dim


class TorchTextEncoder(TorchEncoder):
    """An encoder of texts, one by one: padding would change the last digits of their vectors."""

    @abstractmethod
    def text_vector(self, text: str) -> FloatArray:
        """Return the `(dim,)` vector of a text, of any length."""

    @property
    def max_tokens(self) -> int | None:
        """Longest text in tokens, with start, end and prompt; None if the model states none."""
        return self.loaded.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, with start, end and prompt."""
        return len(self.loaded.tokenizer(self.prompted(text))["input_ids"])

    def prompted(self, text: str) -> str:
        """Return what the model reads for a text."""
        return text

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for a text without a letter or digit; truncated to `max_tokens`."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        with require("torch", "torch").inference_mode():
            for row, text in enumerate(texts):
                if any(letter.isalnum() for letter in text):
                    rows[row] = self.text_vector(text)
        return as_unit_rows(rows)


@dataclass
class TorchImageEncoder(TorchEncoder):
    """An image encoder with the model's own preprocessing."""

    precision: str | None = None
    """Default: half precision on a GPU, else float32; vectors of both differ by some thousandths."""
    batch_size: int | None = None
    """Pictures or texts per run of the model. Default: suits the device."""

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        loaded = self.loaded
        encode = getattr(loaded.model, "encode_image", loaded.model)
        pictures = [image.convert("RGB") for image in images]
        return self.unit_rows(
            pictures, loaded.preprocess, lambda pixels: encode(pixels.to(loaded.device, loaded.precision))
        )

    def unit_rows(
        self, items: Sequence[ItemT], prepare: Callable[[ItemT], Any], run: Callable[[Any], Any]
    ) -> FloatArray:
        """Return `(n, dim)` float32 unit rows of pictures or texts.

        The next batch is prepared while the model runs. All batches have the same size, the last one padded with its
        last item, so that a row does not depend on the number of items.

        `prepare` makes a tensor of an item, `run` a `(batch_size, dim)` tensor of stacked ones.
        """
        torch = require("torch", "torch")
        batch_size = self.batch_size or BATCH_SIZES[self.loaded.device]
        out = np.zeros((len(items), self.dim), dtype=np.float32)
        batches = [items[at : at + batch_size] for at in range(0, len(items), batch_size)]
        with ThreadPoolExecutor(N_PREPARING) as pool:
            prepared = [pool.map(prepare, batch) for batch in batches[:1]]
            for number, batch in enumerate(batches):
                tensors = list(prepared.pop())
                if number + 1 < len(batches):
                    prepared.append(pool.map(prepare, batches[number + 1]))
                tensors += tensors[-1:] * (batch_size - len(tensors))
                with torch.inference_mode():
                    rows = run(torch.stack(tensors)).float().cpu().numpy()
                first = number * batch_size
                out[first : first + len(batch)] = rows[: len(batch)]
        return as_unit_rows(out)


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Raise `MissingRequirement` for any error of a library that loads weights."""
    try:
        yield
    except Exception as error:  # the libraries, the hub's client and torch share no class of errors
        raise MissingRequirement(
            f"{what} cannot be loaded: {type(error).__name__}: {error}",
            hint="Check the name, the network and HF_HUB_OFFLINE. kb doctor encoders lists weights on this machine.",
        ) from error


def require(module: str, package: str) -> Any:  # noqa: ANN401  # torch and its relatives have no useful types
    """Return a module of the extra `models`, or raise `MissingDependency`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency(package, extra="models") from error


def pick_device(wanted: str | None = None) -> str:
    """Return `wanted`, by default the best device of this machine.

    Raises:
        ConfigError: if this machine has no such device.
    """
    torch = require("torch", "torch")
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    devices = [device for device in DEVICES if found[device]]
    if wanted is not None and wanted not in devices:
        raise ConfigError(f'Unknown device "{wanted}". Devices of this machine: {", ".join(devices)}.')
    return wanted or devices[0]


def precision_of(device: str, wanted: str | None = None) -> Any:  # noqa: ANN401
    """Return the torch dtype `wanted`; by default half precision on a GPU, where it is twice as fast.

    Raises:
        ConfigError: if `wanted` is not one of `PRECISIONS`.
    """
    torch = require("torch", "torch")
    if wanted is not None and wanted not in PRECISIONS:
        raise ConfigError(f'Unknown precision "{wanted}". Expected one of {", ".join(PRECISIONS)}.')
    return getattr(torch, wanted or ("float32" if device == "cpu" else "float16"))


def preparation_of(image_px: int, preprocess: object) -> str:
    """Return the size and 8 hex digits of the SHA-256 of a preprocessing."""
    return f"{image_px}-{hashlib.sha256(str(preprocess).encode()).hexdigest()[:8]}"


def revision_of(model: Any) -> str:  # noqa: ANN401
    """Return 12 hex digits of the SHA-256 over names and values of all weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(require("torch", "torch").uint8).numpy())
    return digest.hexdigest()[:12]
