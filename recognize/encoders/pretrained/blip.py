"""Captions by BLIP (transformers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recognize.encoders.pretrained.loading import Loaded, TorchEncoder, require
from recognize.encoders.pretrained.transformers_models import load_processed

if TYPE_CHECKING:
    from PIL.Image import Image

MIN_TOKENS: Final = 10  # VisRet, appendix B
MAX_TOKENS: Final = 60


@dataclass
class BlipCaptioner(TorchEncoder):
    """Writes captions of photos by BLIP, loaded on first use.

    Source:
        VisRet (Wu et al., 2025), appendix B: blip-image-captioning-large with at least 10 tokens. At most 60 tokens,
        greedily, ours.
    """

    @property
    def name(self) -> str:
        """The model with a hash of its weights, and the limits of a caption."""
        return f"{Path(self.model).name}/{self.loaded.revision} {MIN_TOKENS}-{MAX_TOKENS} tokens"

    def caption_images(self, images: Sequence[Image]) -> list[str]:
        """Return a caption of each image; they run through the model one by one."""
        loaded, torch = self.loaded, require("torch", "torch")
        captions = []
        for image in images:
            inputs = loaded.preprocess(images=image.convert("RGB"), return_tensors="pt").to(
                loaded.device, loaded.precision
            )
            with torch.inference_mode():
                tokens = loaded.model.generate(**inputs, min_new_tokens=MIN_TOKENS, max_new_tokens=MAX_TOKENS)
            captions.append(" ".join(loaded.preprocess.decode(tokens[0], skip_special_tokens=True).split()))
        return captions

    def _load(self) -> Loaded:
        return load_processed(
            "captioner", self.model, "BlipProcessor", "BlipForConditionalGeneration", device=self.device
        )
