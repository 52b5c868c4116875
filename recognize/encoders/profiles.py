"""Which encoders a profile stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from data.contracts import Encoders
from data.errors import ConfigError


def load_encoders(profile: str = "starter") -> Encoders:
    """Return the encoders of a profile; a knowledge base is built with them and asked with the same ones.

    Raises:
        ConfigError: if there is no such profile; the message lists those there are.

    Example:
        >>> encoders = load_encoders("starter")
        >>> encoders.profile, len(encoders.text_image)
        ('starter', 1)
    """
    make = PROFILES.get(profile)
    if make is None:
        raise ConfigError(f"there is no profile {profile!r}", hint=f"one of: {', '.join(sorted(PROFILES))}")
    return make()


def _load_plain() -> Encoders:
    from recognize.encoders.plain_colours import PlainColours
    from recognize.encoders.plain_look import PlainLook
    from recognize.encoders.plain_words import PlainWords

    return Encoders(profile="plain", text_image=(PlainColours(),), visual=PlainLook(), sentence=PlainWords())


def _load_starter() -> Encoders:
    from recognize.starter.encoder import load_starter

    return load_starter()


# `plain` is untrained: colours, shapes and words that can be read in the code, and what trained encoders must beat.
PROFILES: Final[dict[str, Callable[[], Encoders]]] = {"plain": _load_plain, "starter": _load_starter}
"""Profile -> what loads it."""
