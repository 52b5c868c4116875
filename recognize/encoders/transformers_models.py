"""Models of transformers: encoders E5-V and BLIP-2, and captions by BLIP."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from data.arrays import FloatArray, as_unit_rows
from recognize.encoders.loading import (
    Loaded,
    TorchEncoder,
    TorchTextEncoder,
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


# The model was trained with these words (Jiang et al., 2024); other words give other vectors.
_CHAT: Final = (
    "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n \n"
)
IMAGE_PROMPT: Final = _CHAT.format("<image>\nSummary above image in one word: ")
TEXT_PROMPT: Final = _CHAT.format("{text}\nSummary above sentence in one word: ")
MOST_TEXT_TOKENS: Final = 4_096
"""Longest text with its prompt; ours, the model reads more."""


@dataclass
class E5vEncoder(TransformersEncoder):
    """A text-image encoder on a LLaVA-NeXT model, loaded on first use.

    `royokong/e5-v` needs about 17 GB in half precision.

    Source:
        E5-V (Jiang et al., 2024): the last hidden state of the last token of its prompts. Used by VisRet as its second
        retriever.
    """

    model: str = "royokong/e5-v"
    library = "e5-v"

    def prompted(self, text: str) -> str:
        """Return the question for one word on a text."""
        return TEXT_PROMPT.replace("{text}", text)

    def text_vector(self, text: str) -> FloatArray:
        """Return the last state of a text."""
        limit = {"truncation": True, "max_length": self.loaded.max_tokens}
        return self._last_state(self.loaded.tokenizer(self.prompted(text), return_tensors="pt", **limit))

    def image_vector(self, image: Image) -> FloatArray:
        """Return the last state of an image."""
        return self._last_state(self.loaded.preprocess(images=image, text=IMAGE_PROMPT, return_tensors="pt"))

    def _last_state(self, inputs: Any) -> FloatArray:  # noqa: ANN401
        loaded = self.loaded
        given = {
            name: tensor.to(loaded.device, loaded.precision) if tensor.is_floating_point() else tensor.to(loaded.device)
            for name, tensor in inputs.items()
        }
        states = loaded.model(**given, output_hidden_states=True, return_dict=True).hidden_states
        vector: FloatArray = states[-1][0, -1].float().cpu().numpy()
        return vector

    def _load(self) -> Loaded:
        loaded = load_processed(
            "encoder",
            self.model,
            "LlavaNextProcessor",
            "LlavaNextForConditionalGeneration",
            device=self.device,
            precision=self.precision,
            dtype="auto",
        )
        config, processor = loaded.model.config, loaded.preprocess
        if processor.patch_size is None:  # the published files of E5-V lack all three
            processor.patch_size = config.vision_config.patch_size
            processor.num_additional_image_tokens = 1
            processor.vision_feature_select_strategy = config.vision_feature_select_strategy
        return replace(
            loaded,
            dim=int(config.text_config.hidden_size),
            max_tokens=min(MOST_TEXT_TOKENS, int(config.text_config.max_position_embeddings)),
            preparation=preparation_of(config.vision_config.image_size, processor.image_processor),
            tokenizer=processor.tokenizer,
        )


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
