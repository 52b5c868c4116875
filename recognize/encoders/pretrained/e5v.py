"""E5-V: texts and images as the last hidden state of a vision-language model that names them in one word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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

# The model was trained with these words (Jiang et al., 2024); other words give other vectors.
_CHAT: Final = (
    "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n \n"
)
IMAGE_PROMPT: Final = _CHAT.format("<image>\nSummary above image in one word: ")
TEXT_PROMPT: Final = _CHAT.format("{text}\nSummary above sentence in one word: ")
MAX_TOKENS: Final = 4_096
"""Longest text with its prompt; ours, the model reads more."""


@dataclass
class E5vEncoder(TorchEncoder):
    """A text-image encoder on a LLaVA-NeXT model, loaded on first use.

    `royokong/e5-v` needs about 17 GB in half precision. Texts and images run through it one by one.

    Source:
        E5-V (Jiang et al., 2024): the last hidden state of the last token of its prompts. Used by VisRet as its second
        retriever.
    """

    model: str = "royokong/e5-v"
    precision: str | None = None
    """Default: half precision on a GPU, else float32."""
    _tokens: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Name of the model, or the last part of its folder."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @property
    def space(self) -> str:
        """Name, hash of the weights, and hash of the preprocessing."""
        return f"e5-v/{self.name}/{self.loaded.revision}/{self.loaded.preparation}"

    @property
    def max_tokens(self) -> int | None:
        """Longest text with its prompt."""
        return self.loaded.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text with its prompt."""
        return len(self.loaded.tokenizer(TEXT_PROMPT.replace("{text}", text))["input_ids"])

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows, zero for a text without a letter or digit."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            if any(letter.isalnum() for letter in text):
                limit = {"truncation": True, "max_length": self.loaded.max_tokens}
                rows[row] = self._last_state(self.loaded.tokenizer(
                    TEXT_PROMPT.replace("{text}", text), return_tensors="pt", **limit
                ))  # fmt: skip
        return as_unit_rows(rows)

    def encode_images(self, images: Sequence[Image]) -> FloatArray:
        """Return `(n, dim)` float32 unit rows."""
        rows = np.zeros((len(images), self.dim), dtype=np.float32)
        for row, image in enumerate(images):
            rows[row] = self._last_state(
                self.loaded.preprocess(images=image.convert("RGB"), text=IMAGE_PROMPT, return_tensors="pt")
            )
        return as_unit_rows(rows)

    def _last_state(self, inputs: Any) -> FloatArray:  # noqa: ANN401
        loaded = self.loaded
        given = {
            name: tensor.to(loaded.device, loaded.precision) if tensor.is_floating_point() else tensor.to(loaded.device)
            for name, tensor in inputs.items()
        }
        with require("torch", "torch").inference_mode():
            states = loaded.model(**given, output_hidden_states=True, return_dict=True).hidden_states
        vector: FloatArray = states[-1][0, -1].float().cpu().numpy()
        return vector

    def _load(self) -> Loaded:
        transformers = require("transformers", "transformers")
        device = pick_device(self.device)
        precision = precision_of(device, self.precision)
        with loading(f"the encoder {self.model}"):
            processor = transformers.LlavaNextProcessor.from_pretrained(self.model)
            model = transformers.LlavaNextForConditionalGeneration.from_pretrained(self.model, dtype="auto")
        if processor.patch_size is None:  # the published files of E5-V lack all three
            processor.patch_size = model.config.vision_config.patch_size
            processor.num_additional_image_tokens = 1
            processor.vision_feature_select_strategy = model.config.vision_feature_select_strategy
        revision = revision_of(model)
        return Loaded(
            model=model.eval().to(device, precision),
            revision=revision,
            dim=int(model.config.text_config.hidden_size),
            max_tokens=min(MAX_TOKENS, int(model.config.text_config.max_position_embeddings)),
            device=device,
            precision=precision,
            preprocess=processor,
            preparation=preparation_of(model.config.vision_config.image_size, processor.image_processor),
            tokenizer=processor.tokenizer,
        )
