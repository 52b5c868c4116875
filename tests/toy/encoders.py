"""Untrained encoders of colours, shapes and words: fast, in spaces of their own, and any test can predict them."""

from __future__ import annotations

from data.contracts import Encoders
from tests.toy.colours import PlainColours
from tests.toy.look import PlainLook
from tests.toy.words import PlainWords


def toy_encoders() -> Encoders:
    """Return toys in place of the encoders of `paper`, a profile whose weights nobody has to download for a test."""
    return Encoders(profile="paper", text_image=(PlainColours(),), visual=PlainLook(), sentence=PlainWords())
