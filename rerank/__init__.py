"""Re-ranking of the images that a first stage found for a query, and evaluation of such runs.

The parts load when they are first used.
"""

from __future__ import annotations

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

_MODULES: Final = {
    "METHODS": "rerank.methods",
    "PRESETS": "rerank.settings",
    "CotrrReranker": "rerank.cotrr.reranker",
    "CotrrSettings": "rerank.cotrr.settings",
    "DecomposeReranker": "rerank.decompose.reranker",
    "DecomposeSettings": "rerank.decompose.settings",
    "EncoderJudge": "rerank.judges.encoder",
    "FairChat": "rerank.scheduling",
    "JudgementCache": "rerank.judgement_cache",
    "RerankResources": "rerank.methods",
    "RerankSettings": "rerank.settings",
    "RunFigures": "rerank.evaluation.report",
    "SimilarityReranker": "rerank.similarity",
    "VisionJudge": "rerank.judges.vision",
    "VisionSettings": "rerank.judges.settings",
    "evaluate": "rerank.evaluation.report",
    "evaluate_runs": "rerank.evaluation.report",
    "first_stage": "rerank.ranked_images",
    "job_of_folder": "rerank.job",
    "make_reranker": "rerank.methods",
    "plan_run": "rerank.run_plan",
    "preset_settings": "rerank.settings",
    "read_jobs": "rerank.job",
    "rerank": "rerank.methods",
    "run_jobs": "rerank.run",
    "trec_lines": "rerank.job",
}
"""Public name -> its module."""

fieldmark.check_packages()

__all__ = list(_MODULES)
__getattr__, __dir__ = fieldmark.lazy_names(__name__, _MODULES)
