"""E5-V: texts and images as the last hidden state of a vision-language model that names them in one word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from data.arrays import FloatArray
from recognize.encoders.pretrained.loading import Loaded, preparation_of
from recognize.encoders.pretrained.transformers_models import TransformersEncoder, load_processed

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
            max_tokens=min(MAX_TOKENS, int(config.text_config.max_position_embeddings)),
            preparation=preparation_of(config.vision_config.image_size, processor.image_processor),
            tokenizer=processor.tokenizer,
        )
