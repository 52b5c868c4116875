"""BLIP-2 as a text-image encoder (transformers)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.pretrained.loading import Loaded, preparation_of, require
from recognize.encoders.pretrained.transformers_models import TransformersEncoder, load_processed

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass
class Blip2Encoder(TransformersEncoder):
    """The contrastive part of BLIP-2, loaded on first use.

    Source:
        BLIP-2 (Li et al., 2023), image-text contrast. Differs: an image is the mean of its 32 unit query vectors, since
        a space has one vector per image; BLIP-2 compares a text with the nearest of the 32.
    """

    model: str = "Salesforce/blip2-itm-vit-g"
    library = "blip-2"

    def text_vector(self, text: str) -> FloatArray:
        """Return the projected state of the first token."""
        loaded = self.loaded
        tokens = loaded.tokenizer(text, truncation=True, max_length=loaded.max_tokens, return_tensors="pt")
        embedded = loaded.model.embeddings(input_ids=tokens["input_ids"].to(loaded.device))
        state = loaded.model.qformer(
            query_embeds=embedded, query_length=0, attention_mask=tokens["attention_mask"].to(loaded.device)
        )[0]
        vector: FloatArray = loaded.model.text_projection(state[:, 0].to(loaded.precision))[0].float().cpu().numpy()
        return vector

    def image_vector(self, image: Image) -> FloatArray:
        """Return the mean of the unit query vectors."""
        loaded, torch = self.loaded, require("torch", "torch")
        pixels = loaded.preprocess(images=image, return_tensors="pt")["pixel_values"]
        seen = loaded.model.vision_model(pixel_values=pixels.to(loaded.device, loaded.precision))[0]
        state = loaded.model.qformer(
            query_embeds=loaded.model.query_tokens,
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long, device=loaded.device),
        )[0]
        vectors = loaded.model.vision_projection(state.to(loaded.precision))[0].float().cpu().numpy()
        mean: FloatArray = as_unit_rows(vectors).mean(axis=0)
        return mean

    def _load(self) -> Loaded:
        loaded = load_processed(
            "encoder",
            self.model,
            "AutoProcessor",
            "Blip2ForImageTextRetrieval",
            device=self.device,
            precision=self.precision,
        )
        config, processor = loaded.model.config, loaded.preprocess
        return replace(
            loaded,
            dim=int(config.image_text_hidden_size),
            max_tokens=int(config.qformer_config.max_position_embeddings),
            preprocess=processor.image_processor,
            preparation=preparation_of(config.vision_config.image_size, processor.image_processor),
            tokenizer=processor.tokenizer,
        )
