"""Encoders of each profile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from data.contracts import Encoders
from data.errors import ConfigError
from recognize.settings import PROFILES


def load_encoders(profile: str = "starter") -> Encoders:
    """Return the encoders of a profile; a knowledge base is built and queried with the same ones.

    Raises:
        ConfigError: if the profile is unknown; the message lists the known ones.

    Example:
        >>> encoders = load_encoders("starter")
        >>> encoders.profile, len(encoders.text_image)
        ('starter', 1)
    """
    make = LOADERS.get(profile)
    if make is None:
        raise ConfigError(f'Unknown profile "{profile}". Expected one of {", ".join(PROFILES)}.')
    return make()


def _load_starter() -> Encoders:
    from recognize.starter.encoders import load_starter

    return load_starter()


def _load_paper() -> Encoders:
    """Return the encoders of VR-RAG, sections 5.1, 5.2 and 6.1.

    Photos are encoded whole, as in the paper. Differs: the paper's "SigLIP with ViT-L14" does not exist; L/16 at 256 px
    is the nearest. Its sentence encoder is ours, since the paper has none.
    """
    from recognize.encoders.pretrained.open_clip_models import OpenClipEncoder
    from recognize.encoders.pretrained.sentence_models import SentenceEncoder
    from recognize.encoders.pretrained.timm_models import TimmEncoder

    return Encoders(
        profile="paper",
        text_image=(
            OpenClipEncoder("ViT-L-14/openai"),
            OpenClipEncoder("ViT-L-14/laion2b_s32b_b82k"),
            OpenClipEncoder("ViT-L-16-SigLIP-256/webli"),
        ),
        visual=TimmEncoder("vit_large_patch14_dinov2.lvd142m", image_px=224),
        sentence=SentenceEncoder(),
    )


def _load_best() -> Encoders:
    from recognize.detect.nanodet import NanoDet
    from recognize.encoders.pretrained.open_clip_models import OpenClipEncoder
    from recognize.encoders.pretrained.sentence_models import SentenceEncoder
    from recognize.encoders.pretrained.timm_models import TimmEncoder

    return Encoders(
        profile="best",
        text_image=(OpenClipEncoder("ViT-L-16-SigLIP2-384/webli"), OpenClipEncoder("hf-hub:imageomics/bioclip-2")),
        visual=TimmEncoder("vit_large_patch16_dinov3.lvd1689m"),
        sentence=SentenceEncoder(),
        detector=NanoDet(),
    )


# `paper` and `best` need the extra `models` and weights of a hub; their loading is
# tested, their accuracy is not.
LOADERS: Final[dict[str, Callable[[], Encoders]]] = {
    "starter": _load_starter,
    "paper": _load_paper,
    "best": _load_best,
}
"""Profile of `recognize.settings.PROFILES` -> its loader."""
