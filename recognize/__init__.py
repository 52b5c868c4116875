"""Names the species in a photo: encoders, VR-RAG and the default preset, explanation, evaluation.

The parts load when they are first used; importing the package loads neither models nor a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import fieldmark

if TYPE_CHECKING:
    from recognize.columns import to_frame as to_frame
    from recognize.confidence.calibration import Calibration as Calibration
    from recognize.confidence.place import OccurrenceModel as OccurrenceModel
    from recognize.confidence.prior import SpeciesList as SpeciesList
    from recognize.encoders.profiles import load_encoders as load_encoders
    from recognize.encounters import bursts as bursts
    from recognize.evaluation.report import SpeciesReport as SpeciesReport
    from recognize.evaluation.report import evaluate as evaluate
    from recognize.explanation import Explanation as Explanation
    from recognize.explanation import explain as explain
    from recognize.place_names import place_of as place_of
    from recognize.recognizer import Recognizer as Recognizer
    from recognize.scoring.presets import PRESETS as PRESETS
    from recognize.scoring.presets import FusionWeights as FusionWeights

_MODULES: Final = {
    "PRESETS": "recognize.scoring.presets",
    "Calibration": "recognize.confidence.calibration",
    "Explanation": "recognize.explanation",
    "FusionWeights": "recognize.scoring.presets",
    "OccurrenceModel": "recognize.confidence.place",
    "Recognizer": "recognize.recognizer",
    "SpeciesList": "recognize.confidence.prior",
    "SpeciesReport": "recognize.evaluation.report",
    "bursts": "recognize.encounters",
    "evaluate": "recognize.evaluation.report",
    "explain": "recognize.explanation",
    "load_encoders": "recognize.encoders.profiles",
    "place_of": "recognize.place_names",
    "to_frame": "recognize.columns",
}
"""Public name -> its module."""

fieldmark.check_packages()

__all__ = list(_MODULES)
__getattr__, __dir__ = fieldmark.lazy_names(__name__, _MODULES)
