"""Encoders of the profile `general`."""

from __future__ import annotations

from data.contracts import Encoders
from recognize.detect.nanodet import NanoDet
from recognize.general.colours import ColourWords
from recognize.general.features import TowerFeatures
from recognize.starter.encoders import StarterWords, Weights


def load_general() -> Encoders:
    """Return the general encoders; files are read on first use.

    Photos are compared whole: crops to what the detector takes for a bird make features of birds worse (.72 instead of
    .73 of top-1), and it knows no butterfly, frog or flower. It names animals that the knowledge base does not hold.
    """
    weights = Weights()
    return Encoders(
        profile="general",
        text_image=(ColourWords(),),
        visual=TowerFeatures(weights.tower),
        sentence=StarterWords(weights),
        observer=NanoDet(is_tiled=False),
    )
