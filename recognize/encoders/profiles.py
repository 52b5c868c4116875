"""Encoders of each profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from data.contracts import Encoders, TextImageEncoder
from data.errors import ConfigError, FieldmarkError
from recognize.settings import PROFILES, own_profiles


def load_encoders(profile: str = "starter") -> Encoders:
    """Return the encoders of a profile; a knowledge base is built and queried with the same ones.

    An installed package offers a profile by an entry point of the group `fieldmark.encoders`: a function that gets the
    name of the profile and returns its `Encoders`.

    Raises:
        ConfigError: if the profile is unknown; the message lists the known ones. Or if its package fails.

    Example:
        >>> encoders = load_encoders("starter")
        >>> encoders.profile, len(encoders.text_image)
        ('starter', 1)
    """
    make = LOADERS.get(profile)
    if make is not None:
        return make()
    own = own_profiles()
    if profile not in own.names:
        known = ", ".join((*PROFILES, *sorted(own.names)))
        raise ConfigError(f'Unknown profile "{profile}". Expected one of {known}.')
    value = own[profile].value
    try:
        made = own[profile].load()(profile)
    except FieldmarkError:
        raise
    except Exception as error:  # the package of another author may be broken in any way
        raise ConfigError(
            f"{value} of the profile {profile} failed: {type(error).__name__}: {error}", hint="Update its package."
        ) from error
    if not isinstance(made, Encoders):
        raise ConfigError(f"{value} returned {type(made).__name__}, expected data.contracts.Encoders.")
    return replace(made, profile=profile)


def load_text_image_encoder(name: str = "starter") -> TextImageEncoder:
    """Return a single text-image encoder: the first one of a profile, or a model of open_clip by its name there.

    VisRet and interactive retrieval search with `ViT-L-14-336/openai`.

    Raises:
        ConfigError: if the name is neither a profile nor that of a model of open_clip.
    """
    if name in (*LOADERS, *own_profiles().names):
        return load_encoders(name).text_image[0]
    if not any(sign in name for sign in "/:"):
        raise ConfigError(
            f'Unknown encoder "{name}".',
            hint=f"Expected {', '.join(PROFILES)}, or a model of open_clip such as ViT-L-14-336/openai.",
        )
    from recognize.encoders.vision_models import OpenClipEncoder

    return OpenClipEncoder(name)


def _load_starter() -> Encoders:
    from recognize.starter.encoders import load_starter

    return load_starter()


def _load_general() -> Encoders:
    from recognize.general import load_general

    return load_general()


def _load_best() -> Encoders:
    from recognize.detect.birds import NanoDet
    from recognize.encoders.sentence_models import SentenceEncoder
    from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder

    return Encoders(
        profile="best",
        text_image=(OpenClipEncoder("ViT-L-16-SigLIP2-384/webli"), OpenClipEncoder("hf-hub:imageomics/bioclip-2")),
        visual=TimmEncoder("vit_large_patch16_dinov3.lvd1689m"),
        sentence=SentenceEncoder(),
        detector=NanoDet(),
    )


def _load_published(profile: str) -> Encoders:
    """Return the encoders of VR-RAG, sections 5.1, 5.2 and 6.1, or others of a paper in place of its text-image ones.

    Photos are encoded whole, as in the paper. Differs: the paper's "SigLIP with ViT-L14" does not exist; L/16 at 256 px
    is the nearest. Its sentence encoder is ours, since the paper has none.
    """
    from recognize.encoders.sentence_models import SentenceEncoder
    from recognize.encoders.transformers_models import Blip2Encoder, E5vEncoder
    from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder

    of_paper = ("ViT-L-14/openai", "ViT-L-14/laion2b_s32b_b82k", "ViT-L-16-SigLIP-256/webli")
    text_image: dict[str, tuple[TextImageEncoder, ...]] = {
        "paper": tuple(map(OpenClipEncoder, of_paper)),
        "clip-336": (OpenClipEncoder("ViT-L-14-336/openai"),),  # VisRet, appendix B; interactive retrieval, section 4.2
        "e5-v": (E5vEncoder(),),  # the second one of VisRet, appendix B
        "blip-2": (Blip2Encoder(),),  # the second one of interactive retrieval, section 4.2
    }
    return Encoders(
        profile=profile,
        text_image=text_image[profile],
        visual=TimmEncoder("vit_large_patch14_dinov2.lvd142m", image_px=224),
        sentence=SentenceEncoder(),
    )


# All but `starter` and `general` need the extra `models` and weights of a hub; their loading is
# tested, their accuracy is not.
LOADERS: Final[dict[str, Callable[[], Encoders]]] = {
    "starter": _load_starter,
    "general": _load_general,
    "paper": partial(_load_published, "paper"),
    "best": _load_best,
    "clip-336": partial(_load_published, "clip-336"),
    "e5-v": partial(_load_published, "e5-v"),
    "blip-2": partial(_load_published, "blip-2"),
}
"""Profile of `recognize.settings.PROFILES` -> its loader."""
