"""Names the species in a photo: encoders, VR-RAG and the default preset, explanation, evaluation.

The parts load when they are first used; importing the package loads neither models nor a store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recognize.calibration import Calibration as Calibration
    from recognize.calibration import read_calibration as read_calibration
    from recognize.encoders.profiles import load_encoders as load_encoders
    from recognize.evaluation import SpeciesReport as SpeciesReport
    from recognize.evaluation import evaluate as evaluate
    from recognize.evaluation import evaluate_rankings as evaluate_rankings
    from recognize.explanation import Explanation as Explanation
    from recognize.explanation import explain as explain
    from recognize.fusion import FusionWeights as FusionWeights
    from recognize.predict import PhotoRanking as PhotoRanking
    from recognize.predict import Recognizer as Recognizer
    from recognize.presets import PRESETS as PRESETS
    from recognize.species_lists import SpeciesList as SpeciesList

_HOMES: Final = {
    "Calibration": "recognize.calibration",
    "Explanation": "recognize.explanation",
    "FusionWeights": "recognize.fusion",
    "PRESETS": "recognize.presets",
    "PhotoRanking": "recognize.predict",
    "Recognizer": "recognize.predict",
    "SpeciesList": "recognize.species_lists",
    "SpeciesReport": "recognize.evaluation",
    "evaluate": "recognize.evaluation",
    "evaluate_rankings": "recognize.evaluation",
    "explain": "recognize.explanation",
    "load_encoders": "recognize.encoders.profiles",
    "read_calibration": "recognize.calibration",
}

__all__ = [
    "PRESETS",
    "Calibration",
    "Explanation",
    "FusionWeights",
    "PhotoRanking",
    "Recognizer",
    "SpeciesList",
    "SpeciesReport",
    "evaluate",
    "evaluate_rankings",
    "explain",
    "load_encoders",
    "read_calibration",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
