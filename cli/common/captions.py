"""Captioner and scorer of texts in the settings of the text-to-text baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.common.config import Settings
from data.errors import MissingRequirement

if TYPE_CHECKING:
    from data.contracts import ChatModel
    from rerank.captions.scores import TextScorer
    from rerank.captions.settings import CaptionSettings
    from rerank.captions.texts import Captioner
    from rerank.judgement_cache import JudgementCache


def text_baseline(
    settings: Settings,
    captions: CaptionSettings,
    vision: ChatModel | None,
    *,
    cache: JudgementCache,
    profile: str | None,
) -> tuple[Captioner, TextScorer]:
    """Return the captioner, with its stored captions, and the scorer of texts.

    Raises:
        MissingRequirement: if captions need `[llm.vision]`, and it is not set.
        MissingDependency: if a local model is set and its package is not installed.
    """
    from cli.common.wiring import load_encoders
    from rerank.captions.scores import SentenceScorer
    from rerank.captions.texts import LocalCaptioner, StoredCaptioner, VisionCaptioner
    from rerank.prompting import Prompts

    captioner: Captioner
    if captions.captioner != "vision":
        from recognize.encoders.pretrained.blip import BlipCaptioner
        from recognize.encoders.pretrained.loading import require

        require("transformers", "transformers")
        captioner = LocalCaptioner(BlipCaptioner(captions.captioner))
    elif vision is None:
        raise MissingRequirement(
            "Captions need a vision model: [llm.vision] is not set.",
            hint="Set [llm.vision] in fieldmark.toml, or captions.captioner to a BLIP model.",
        )
    else:
        captioner = VisionCaptioner(vision, prompts=Prompts(settings.prompts))
    scorer: TextScorer
    if captions.scorer == "sentence":
        scorer = SentenceScorer(load_encoders(profile).sentence)
    else:
        from recognize.encoders.pretrained.cross_encoder import CrossEncoderScorer
        from recognize.encoders.pretrained.loading import require

        require("sentence_transformers", "sentence-transformers")
        scorer = CrossEncoderScorer(captions.scorer)
    return StoredCaptioner(captioner, cache), scorer
