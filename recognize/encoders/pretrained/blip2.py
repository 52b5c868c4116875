"""BLIP-2 as a text-image encoder (transformers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.pretrained.loading import (
    Loaded,
    TorchEncoder,
    loading,
    pick_device,
    precision_of,
    preparation_of,
    require,
    revision_of,
)

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass
class Blip2Encoder(TorchEncoder):
    """The contrastive part of BLIP-2, loaded on first use; texts and images run through it one by one.

    Source:
        BLIP-2 (Li et al., 2023), image-text contrast. Differs: an image is the mean of its 32 unit query vectors, since
        a space has one vector per image; BLIP-2 compares a text with the nearest of the 32.
    """

    model: str = "Salesforce/blip2-itm-vit-g"
    precision: str | None = None
    """Default: half precision on a GPU, else float32."""

    @property
    def name(self) -> str:
        """Name of the model, or the last part of its folder."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @property
    def space(self) -> str:
        """Name, hash of the weights, and hash of the preprocessing."""
        return f"blip-2/{self.name}/{self.loaded.revision}/{self.loaded.preparation}"

    @property
    def max_tokens(self) -> int | None:
        """Longest text, with start and end tokens."""
        return self.loaded.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, with start and end tokens."""
        return len(self.loaded.tokenizer(text)["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for a text without a letter or digit; truncated to `max_tokens`."""
        loaded, torch = self.loaded, require("torch", "torch")
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            if not any(letter.isalnum() for letter in text):
                continue
            tokens = loaded.tokenizer(text, truncation=True, max_length=loaded.max_tokens, return_tensors="pt")
            with torch.inference_mode():
                embedded = loaded.model.embeddings(input_ids=tokens["input_ids"].to(loaded.device))
                state = loaded.model.qformer(
                    query_embeds=embedded, query_length=0, attention_mask=tokens["attention_mask"].to(loaded.device)
                )[0]
                rows[row] = loaded.model.text_projection(state[:, 0].to(loaded.precision))[0].float().cpu().numpy()
        return as_unit_rows(rows)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        loaded, torch = self.loaded, require("torch", "torch")
        rows = np.zeros((len(images), self.dim), dtype=np.float32)
        for row, image in enumerate(images):
            pixels = loaded.preprocess(images=image.convert("RGB"), return_tensors="pt")["pixel_values"]
            with torch.inference_mode():
                seen = loaded.model.vision_model(pixel_values=pixels.to(loaded.device, loaded.precision))[0]
                state = loaded.model.qformer(
                    query_embeds=loaded.model.query_tokens,
                    encoder_hidden_states=seen,
                    encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long, device=loaded.device),
                )[0]
                vectors = loaded.model.vision_projection(state.to(loaded.precision))[0].float().cpu().numpy()
            rows[row] = as_unit_rows(vectors).mean(axis=0)
        return as_unit_rows(rows)

    def _load(self) -> Loaded:
        transformers = require("transformers", "transformers")
        device = pick_device(self.device)
        precision = precision_of(device, self.precision)
        with loading(f"the encoder {self.model}"):
            processor = transformers.AutoProcessor.from_pretrained(self.model)
            model = transformers.Blip2ForImageTextRetrieval.from_pretrained(self.model)
        revision = revision_of(model)
        return Loaded(
            model=model.eval().to(device, precision),
            revision=revision,
            dim=int(model.config.image_text_hidden_size),
            max_tokens=int(model.config.qformer_config.max_position_embeddings),
            device=device,
            precision=precision,
            preprocess=processor.image_processor,
            preparation=preparation_of(model.config.vision_config.image_size, processor.image_processor),
            tokenizer=processor.tokenizer,
        )
