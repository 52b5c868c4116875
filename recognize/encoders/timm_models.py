"""Visual encoders of timm: DINOv2, DINOv3 and other models with pooled features."""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import ConfigError
from recognize.encoders.loading import (
    Loaded,
    TorchImageEncoder,
    loading,
    pick_device,
    precision_of,
    preparation_of,
    require,
    revision_of,
)


@dataclass
class TimmEncoder(TorchImageEncoder):
    """An image encoder of timm, loaded on first use.

    `model` is a name with its tag (`vit_large_patch14_dinov2.lvd142m`) or `hf-hub:OWNER/NAME`. Vectors are the pooled
    features of the model: for DINOv2 and DINOv3 the class token after the last norm.
    """

    image_px: int | None = None
    """Side of the pictures in pixels. Default: as in training (DINOv2: 518, five times the work of the usual 224)."""

    library = "timm"

    def _load(self) -> Loaded:
        timm = require("timm", "timm")
        device = pick_device(self.device)
        if not self.model.startswith("hf-hub:") and not timm.is_model(self.model):
            near = ", ".join(timm.list_models(f"*{self.model.split('.')[0]}*", pretrained=True)[:5])
            raise ConfigError(f'Unknown timm model "{self.model}".', hint=f"Did you mean {near}?" if near else None)
        sized = {} if self.image_px is None else {"img_size": self.image_px}
        with loading(f"the encoder {self.model}"):
            model = timm.create_model(self.model, pretrained=True, num_classes=0, **sized)
        config = timm.data.resolve_model_data_config(model)
        if self.image_px is not None:
            config["input_size"] = (3, self.image_px, self.image_px)
        preprocess = timm.data.create_transform(**config, is_training=False)
        revision, precision = revision_of(model), precision_of(device, self.precision)
        return Loaded(
            model=model.eval().to(device, precision),
            revision=revision,
            dim=int(model.num_features),
            device=device,
            precision=precision,
            preprocess=preprocess,
            preparation=preparation_of(config["input_size"][-1], preprocess),
        )
