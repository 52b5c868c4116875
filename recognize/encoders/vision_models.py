"""Encoders of photos: CLIP, SigLIP, BioCLIP and others by open_clip, DINOv2, DINOv3 and others by timm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.arrays import FloatArray
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

_WITH_WEIGHTS = ("hf-hub:", "local-dir:")  # names with weights of their own


@dataclass
class OpenClipEncoder(TorchImageEncoder):
    """A text-image encoder of open_clip, loaded on first use.

    `model` is `ARCHITECTURE/PRETRAINED` as open_clip lists them (`ViT-L-14/openai`, `ViT-L-16-SigLIP-256/webli`), or a
    name with weights of its own (`hf-hub:imageomics/bioclip-2`, `local-dir:FOLDER`). open_clip downloads missing
    weights, unless `HF_HUB_OFFLINE` is set.
    """

    library = "open-clip"

    @property
    def max_tokens(self) -> int | None:
        """Context length of the model with start and end tokens: CLIP 77, SigLIP 64."""
        return self.loaded.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, with start and end tokens."""
        tokenizer = self.loaded.tokenizer
        if hasattr(tokenizer, "encode"):  # open_clip's own: without start and end
            return len(tokenizer.encode(text)) + 2
        return len(tokenizer.tokenizer(tokenizer.clean_fn(text), verbose=False)["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows; texts are truncated to `max_tokens`."""
        loaded = self.loaded
        return self.unit_rows(
            texts,
            lambda text: loaded.tokenizer([text])[0],
            lambda tokens: loaded.model.encode_text(tokens.to(loaded.device)),
        )

    def _load(self) -> Loaded:
        open_clip = require("open_clip", "open_clip_torch")
        device = pick_device(self.device)
        architecture, pretrained = _split(self.model, open_clip)
        with loading(f"the encoder {self.model}"):
            quick_gelu = _has_quick_gelu(architecture, pretrained, open_clip)
            model, _, preprocess = open_clip.create_model_and_transforms(
                architecture, pretrained=pretrained, force_quick_gelu=quick_gelu
            )
            tokenizer = open_clip.get_tokenizer(architecture)
        revision, precision = revision_of(model), precision_of(device, self.precision)
        model = model.eval().to(device, precision)
        size = model.visual.image_size
        with require("torch", "torch").inference_mode():
            dim = int(model.encode_text(tokenizer(["a bird"]).to(device)).shape[-1])
        return Loaded(
            model=model,
            revision=revision,
            dim=dim,
            max_tokens=int(tokenizer.context_length),
            device=device,
            precision=precision,
            preprocess=preprocess,
            preparation=preparation_of(size[0] if isinstance(size, tuple) else size, preprocess),
            tokenizer=tokenizer,
        )


def _split(name: str, open_clip: Any) -> tuple[str, str | None]:  # noqa: ANN401
    """Return architecture and pretrained tag; the tag is None for a name with weights of its own."""
    if name.startswith(_WITH_WEIGHTS):
        return name, None
    architecture, slash, pretrained = name.partition("/")
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not slash or pretrained not in tags:
        listed = ", ".join(f"{architecture}/{tag}" for tag in tags) or "hf-hub:OWNER/NAME, ViT-L-14/openai, ..."
        raise ConfigError(f'Unknown open_clip model "{name}".', hint=f"Expected one of: {listed}")
    return architecture, pretrained


def _has_quick_gelu(architecture: str, pretrained: str | None, open_clip: Any) -> bool:  # noqa: ANN401
    """Return whether the weights need another activation than the architecture has; openai's do."""
    return pretrained is not None and bool(open_clip.get_pretrained_cfg(architecture, pretrained).get("quick_gelu"))


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
