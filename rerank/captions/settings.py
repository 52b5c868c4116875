"""Settings of the text-to-text baselines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionSettings:
    """Settings of the methods captions and visa."""

    captioner: str = "vision"
    """Writer of the captions: `vision`, by [llm.vision]; or the name or folder of a BLIP model on this machine, such as
    Salesforce/blip-image-captioning-large."""
    scorer: str = "sentence"
    """Scores texts for the query: `sentence`, cosine by the sentence encoder of the profile; or the name or folder of a
    cross-encoder of sentence-transformers, such as BAAI/bge-reranker-v2-m3."""
    first_stage: bool = True
    """Re-ranking: add the scores of the first stage, each scaled to 0 to 1 over the photos of the query."""
