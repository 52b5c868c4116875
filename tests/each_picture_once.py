"""Results of the photo models, kept in a process: many tests identify or build with the same drawings."""

from collections.abc import Callable
from hashlib import sha1
from typing import Any

import numpy as np
import pytest


def remember_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encode each picture, and find its birds, once in a process."""
    from recognize.detect.birds import NanoDet
    from recognize.tower import Tower

    for owner, name in ((Tower, "features_of_pixels"), (NanoDet, "_detect")):
        monkeypatch.setattr(owner, name, _remembered(getattr(owner, name)))


def _remembered(run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a method that keeps its results in the model, by pixels."""

    def from_memory(model: Any, picture: Any) -> Any:
        pixels = np.asarray(picture)
        key = pixels.shape, sha1(np.ascontiguousarray(pixels)).digest()
        results = vars(model).setdefault("results", {})
        if key not in results:
            results[key] = run(model, picture)
        return results[key]

    return from_memory
