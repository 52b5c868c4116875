"""Re-ranking of the images that a first stage found for a query, and evaluation of such runs.

The parts load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

import fieldmark

if TYPE_CHECKING:
    from rerank.cotrr.reranker import CotrrReranker as CotrrReranker
    from rerank.cotrr.settings import CotrrSettings as CotrrSettings
    from rerank.decompose.reranker import DecomposeReranker as DecomposeReranker
    from rerank.decompose.settings import DecomposeSettings as DecomposeSettings
    from rerank.evaluation.report import RunFigures as RunFigures
    from rerank.evaluation.report import evaluate as evaluate
    from rerank.evaluation.report import evaluate_runs as evaluate_runs
    from rerank.job import job_of_folder as job_of_folder
    from rerank.job import read_jobs as read_jobs
    from rerank.job import trec_lines as trec_lines
    from rerank.judgement_cache import JudgementCache as JudgementCache
    from rerank.judges.encoder import EncoderJudge as EncoderJudge
    from rerank.judges.settings import VisionSettings as VisionSettings
    from rerank.judges.vision import VisionJudge as VisionJudge
    from rerank.methods import METHODS as METHODS
    from rerank.methods import RerankResources as RerankResources
    from rerank.methods import make_reranker as make_reranker
    from rerank.methods import rerank as rerank
    from rerank.ranked_images import first_stage as first_stage
    from rerank.run import run_jobs as run_jobs
    from rerank.run_plan import plan_run as plan_run
    from rerank.scheduling import FairChat as FairChat
    from rerank.settings import PRESETS as PRESETS
    from rerank.settings import RerankSettings as RerankSettings
    from rerank.settings import preset_settings as preset_settings
    from rerank.similarity import SimilarityReranker as SimilarityReranker

_HOMES: Final = {
    "rerank.cotrr.reranker": ("CotrrReranker",),
    "rerank.cotrr.settings": ("CotrrSettings",),
    "rerank.decompose.reranker": ("DecomposeReranker",),
    "rerank.decompose.settings": ("DecomposeSettings",),
    "rerank.evaluation.report": ("RunFigures", "evaluate", "evaluate_runs"),
    "rerank.job": ("job_of_folder", "read_jobs", "trec_lines"),
    "rerank.judgement_cache": ("JudgementCache",),
    "rerank.judges.encoder": ("EncoderJudge",),
    "rerank.judges.settings": ("VisionSettings",),
    "rerank.judges.vision": ("VisionJudge",),
    "rerank.methods": ("METHODS", "RerankResources", "make_reranker", "rerank"),
    "rerank.ranked_images": ("first_stage",),
    "rerank.run": ("run_jobs",),
    "rerank.run_plan": ("plan_run",),
    "rerank.scheduling": ("FairChat",),
    "rerank.settings": ("PRESETS", "RerankSettings", "preset_settings"),
    "rerank.similarity": ("SimilarityReranker",),
}
"""Module -> its public names."""

__all__ = [
    "METHODS",
    "PRESETS",
    "CotrrReranker",
    "CotrrSettings",
    "DecomposeReranker",
    "DecomposeSettings",
    "EncoderJudge",
    "FairChat",
    "JudgementCache",
    "RerankResources",
    "RerankSettings",
    "RunFigures",
    "SimilarityReranker",
    "VisionJudge",
    "VisionSettings",
    "evaluate",
    "evaluate_runs",
    "first_stage",
    "job_of_folder",
    "make_reranker",
    "plan_run",
    "preset_settings",
    "read_jobs",
    "rerank",
    "run_jobs",
    "trec_lines",
]


fieldmark.check_packages()


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
