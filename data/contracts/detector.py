"""Contract of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from data.records import Detection

if TYPE_CHECKING:
    from PIL.Image import Image


class Detector(Protocol):
    """Finds animals in photos."""

    @property
    def name(self) -> str:
        """Model, revision and preprocessing in one string."""

    def detect(self, images: Sequence[Image]) -> list[tuple[Detection, ...]]:
        """Return the detections in each photo, highest score first; empty where nothing was found.

        The images are upright RGB; boxes are in their pixels. Detections in a photo do not depend on the rest of the
        batch.
        """
