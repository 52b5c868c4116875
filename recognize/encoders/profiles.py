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

    return Encoders(profile="starter", text_image=(PlainColours(),), visual=PlainLook(), sentence=PlainWords())


# `starter` is the untrained stand-in until the trained pair is there; their spaces differ, so no store mixes them up.
PROFILES: Final[dict[str, Callable[[], Encoders]]] = {"starter": _load_plain}
"""Profile -> what loads it."""
