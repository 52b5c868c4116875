"""Names the species in a photo: encoders, VR-RAG and the default preset, explanation, evaluation.

The parts load when they are first used; importing the package loads neither models nor a store.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recognize.confidence.calibration import Calibration as Calibration
    from recognize.confidence.calibration import read_calibration as read_calibration
    from recognize.confidence.prior import SpeciesList as SpeciesList
    from recognize.encoders.profiles import load_encoders as load_encoders
    from recognize.evaluation.report import SpeciesReport as SpeciesReport
    from recognize.evaluation.report import evaluate as evaluate
    from recognize.evaluation.report import evaluate_rankings as evaluate_rankings
    from recognize.explanation.evidence import Explanation as Explanation
    from recognize.explanation.evidence import explain as explain
    from recognize.recognizer import PhotoRanking as PhotoRanking
    from recognize.recognizer import Recognizer as Recognizer
    from recognize.scoring.fusion import FusionWeights as FusionWeights
    from recognize.scoring.presets import PRESETS as PRESETS

_HOMES: Final = {
    "Calibration": "recognize.confidence.calibration",
    "Explanation": "recognize.explanation.evidence",
    "FusionWeights": "recognize.scoring.fusion",
    "PRESETS": "recognize.scoring.presets",
    "PhotoRanking": "recognize.recognizer",
    "Recognizer": "recognize.recognizer",
    "SpeciesList": "recognize.confidence.prior",
    "SpeciesReport": "recognize.evaluation.report",
    "evaluate": "recognize.evaluation.report",
    "evaluate_rankings": "recognize.evaluation.report",
    "explain": "recognize.explanation.evidence",
    "load_encoders": "recognize.encoders.profiles",
    "read_calibration": "recognize.confidence.calibration",
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


def _check_data() -> None:
    """Fail where another module named `data` hides ours; this cannot lie in `data` itself."""
    package = sys.modules.get("data") or find_spec("data")
    file = getattr(package, "__file__", None) or getattr(package, "origin", None)
    if package is not None and (file is None or Path(file).resolve().parents[1] != Path(__file__).resolve().parents[1]):
        raise ImportError(
            f"Another module named data hides the one of Fieldmark: {file or package}. Rename it, or start Python from "
            "a folder (and with a PYTHONPATH) that does not hold it.",
            name="data",
            path=file,
        )


_check_data()


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
