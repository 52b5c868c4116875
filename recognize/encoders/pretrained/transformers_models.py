"""Models of transformers with their processors, and encoders of texts and images on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.pretrained.loading import (
    Loaded,
    TorchTextEncoder,
    loading,
    pick_device,
    precision_of,
    require,
    revision_of,
)

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass
class TransformersEncoder(TorchTextEncoder):
    """A text-image encoder on a model of transformers; texts and images run through it one by one."""

    precision: str | None = None
    """Default: half precision on a GPU, else float32."""

    @abstractmethod
    def image_vector(self, image: Image) -> FloatArray:
        """Return the `(dim,)` vector of an RGB image, of any length."""

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        rows = np.zeros((len(images), self.dim), dtype=np.float32)
        with require("torch", "torch").inference_mode():
            for row, image in enumerate(images):
                rows[row] = self.image_vector(image.convert("RGB"))
        return as_unit_rows(rows)


def load_processed(
    what: str, name: str, processor: str, model: str, *, device: str | None, precision: str | None = None, **more: str
) -> Loaded:
    """Load a model and its processor by the names of their classes; the processor becomes `preprocess`.

    Args:
        what: `encoder`, for errors.
        name: name on the hub, or folder.
        processor: class of transformers.
        model: class of transformers.
        device: default: the best of this machine.
        precision: default: half precision on a GPU.
        more: arguments of the model's `from_pretrained`.

    Raises:
        MissingRequirement: if it cannot be loaded.
    """
    transformers = require("transformers", "transformers")
    device = pick_device(device)
    with loading(f"the {what} {name}"):
        preprocess = getattr(transformers, processor).from_pretrained(name)
        network = getattr(transformers, model).from_pretrained(name, **more)
    revision, kind = revision_of(network), precision_of(device, precision)
    return Loaded(
        model=network.eval().to(device, kind),
        revision=revision,
        dim=0,
        device=device,
        precision=kind,
        preprocess=preprocess,
    )
