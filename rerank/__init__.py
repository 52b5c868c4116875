"""Ranks the images that a first stage found for a query anew, and measures such runs.

The parts load when they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rerank.cotrr.reranker import CotrrReranker as CotrrReranker
    from rerank.cotrr.settings import CotrrSettings as CotrrSettings
    from rerank.cotrr.settings import cotrr_settings as cotrr_settings
    from rerank.decompose.reranker import DecomposeReranker as DecomposeReranker
    from rerank.decompose.settings import DecomposeSettings as DecomposeSettings
    from rerank.decompose.settings import settings_of as settings_of
    from rerank.evaluation.report import RunReport as RunReport
    from rerank.evaluation.report import evaluate as evaluate
    from rerank.evaluation.report import evaluate_runs as evaluate_runs
    from rerank.job import job_of_folder as job_of_folder
    from rerank.job import read_jobs as read_jobs
    from rerank.job import trec_lines as trec_lines
    from rerank.judgement_cache import KeptResults as KeptResults
    from rerank.judges.encoder import EncoderJudge as EncoderJudge
    from rerank.judges.vision import VisionJudge as VisionJudge
    from rerank.judges.vision import VisionSettings as VisionSettings
    from rerank.methods import METHODS as METHODS
    from rerank.methods import Means as Means
    from rerank.methods import make_reranker as make_reranker
    from rerank.methods import rerank as rerank
    from rerank.original_order import first_stage as first_stage
    from rerank.running import run_jobs as run_jobs
    from rerank.scheduling import FairChat as FairChat
    from rerank.similarity import SimilarityReranker as SimilarityReranker

_HOMES: Final = {
    "METHODS": "rerank.methods",
    "CotrrReranker": "rerank.cotrr.reranker",
    "CotrrSettings": "rerank.cotrr.settings",
    "DecomposeReranker": "rerank.decompose.reranker",
    "DecomposeSettings": "rerank.decompose.settings",
    "EncoderJudge": "rerank.judges.encoder",
    "FairChat": "rerank.scheduling",
    "KeptResults": "rerank.judgement_cache",
    "Means": "rerank.methods",
    "RunReport": "rerank.evaluation.report",
    "SimilarityReranker": "rerank.similarity",
    "VisionJudge": "rerank.judges.vision",
    "VisionSettings": "rerank.judges.vision",
    "cotrr_settings": "rerank.cotrr.settings",
    "evaluate": "rerank.evaluation.report",
    "evaluate_runs": "rerank.evaluation.report",
    "first_stage": "rerank.original_order",
    "job_of_folder": "rerank.job",
    "make_reranker": "rerank.methods",
    "read_jobs": "rerank.job",
    "rerank": "rerank.methods",
    "run_jobs": "rerank.running",
    "settings_of": "rerank.decompose.settings",
    "trec_lines": "rerank.job",
}

__all__ = [
    "METHODS",
    "CotrrReranker",
    "CotrrSettings",
    "DecomposeReranker",
    "DecomposeSettings",
    "EncoderJudge",
    "FairChat",
    "KeptResults",
    "Means",
    "RunReport",
    "SimilarityReranker",
    "VisionJudge",
    "VisionSettings",
    "cotrr_settings",
    "evaluate",
    "evaluate_runs",
    "first_stage",
    "job_of_folder",
    "make_reranker",
    "read_jobs",
    "rerank",
    "run_jobs",
    "settings_of",
    "trec_lines",
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
