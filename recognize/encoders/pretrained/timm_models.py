"""Visual encoders of timm: DINOv2, DINOv3 and every other model whose features can be pooled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from data.arrays import FloatArray
from data.errors import ConfigError
from recognize.encoders.pretrained.loading import (
    BATCH_SIZES,
    OnFirstUse,
    loading,
    pick_device,
    precision_of,
    require,
    revision_of,
    short_hash,
    unit_rows_in_batches,
)

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model without its classes, and its own preprocessing, on its device."""

    model: Any
    preprocess: Any
    device: str
    precision: Any
    revision: str
    preparation: str


@dataclass
class TimmEncoder:
    """A model of timm as an image encoder; nothing is loaded before it is used.

    `model` is a name with its tag (`vit_large_patch14_dinov2.lvd142m`) or `hf-hub:OWNER/NAME`. A vector is what the
    model pools its features to: for DINOv2 and DINOv3 the class token behind the last norm.
    """

    model: str
    image_px: int | None = None
    """The side of the pictures in pixels; by default what the model was made for (DINOv2: 518, which is five times the
    work of the 224 that it is mostly used with)."""
    device: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    _load: OnFirstUse[_Loaded] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._load = OnFirstUse(lambda: _load(self.model, self.image_px, self.device, self.precision))

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model

    @property
    def space(self) -> str:
        """Name, a hash of the weights, and size and hash of the preprocessing."""
        loaded = self._load()
        return f"timm/{self.model}/{loaded.revision}/{loaded.preparation}"

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self._load().model.num_features)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, with the model's own preprocessing."""
        loaded = self._load()

        def run(pixels: Any) -> Any:  # noqa: ANN401
            return loaded.model(pixels.to(loaded.device, loaded.precision))

        return unit_rows_in_batches(
            [image.convert("RGB") for image in images],
            loaded.preprocess,
            run,
            dim=int(loaded.model.num_features),
            batch_size=self.batch_size or BATCH_SIZES[loaded.device],
        )


def _load(name: str, image_px: int | None, wanted: str | None, wanted_precision: str | None) -> _Loaded:
    timm = require("timm", "timm")
    device = pick_device(wanted)
    if not name.startswith("hf-hub:") and not timm.is_model(name):
        near = ", ".join(timm.list_models(f"*{name.split('.')[0]}*", pretrained=True)[:5])
        raise ConfigError(f"timm has no model {name!r}", hint=f"did you mean {near}?" if near else None)
    sized = {} if image_px is None else {"img_size": image_px}
    with loading(f"the encoder {name}"):
        model = timm.create_model(name, pretrained=True, num_classes=0, **sized)
    config = timm.data.resolve_model_data_config(model)
    if image_px is not None:
        config["input_size"] = (3, image_px, image_px)
    preprocess = timm.data.create_transform(**config, is_training=False)
    revision, precision = revision_of(model), precision_of(device, wanted_precision)
    return _Loaded(
        model=model.eval().to(device, precision),
        preprocess=preprocess,
        device=device,
        precision=precision,
        revision=revision,
        preparation=f"{config['input_size'][-1]}-{short_hash(str(preprocess))}",
    )
