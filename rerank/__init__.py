"""Searches in folders of photos, re-ranking of the images that a first stage found, and evaluation of such runs.

The parts load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import fieldmark

if TYPE_CHECKING:
    from rerank.collection import open_collection as open_collection
    from rerank.cotrr.reranker import CotrrReranker as CotrrReranker
    from rerank.decompose.reranker import DecomposeReranker as DecomposeReranker
    from rerank.evaluation.report import RunFigures as RunFigures
    from rerank.evaluation.report import evaluate as evaluate
    from rerank.evaluation.report import evaluate_runs as evaluate_runs
    from rerank.feedback.search import FeedbackSearch as FeedbackSearch
    from rerank.jobs import job_of_folder as job_of_folder
    from rerank.jobs import read_jobs as read_jobs
    from rerank.jobs import trec_lines as trec_lines
    from rerank.judges.encoder import EncoderJudge as EncoderJudge
    from rerank.judges.vision import VisionJudge as VisionJudge
    from rerank.methods import METHODS as METHODS
    from rerank.methods import RETRIEVERS as RETRIEVERS
    from rerank.methods import RerankResources as RerankResources
    from rerank.methods import find as find
    from rerank.methods import make_reranker as make_reranker
    from rerank.methods import make_retriever as make_retriever
    from rerank.methods import rerank as rerank
    from rerank.plan import plan_run as plan_run
    from rerank.reranker import first_stage as first_stage
    from rerank.reranker import run_jobs as run_jobs
    from rerank.retrievers import Retriever as Retriever
    from rerank.retrievers import SimilarityRetriever as SimilarityRetriever
    from rerank.scheduling import FairChat as FairChat
    from rerank.settings import FEEDBACK_PRESETS as FEEDBACK_PRESETS
    from rerank.settings import PRESETS as PRESETS
    from rerank.settings import CotrrSettings as CotrrSettings
    from rerank.settings import DecomposeSettings as DecomposeSettings
    from rerank.settings import FeedbackSettings as FeedbackSettings
    from rerank.settings import RerankSettings as RerankSettings
    from rerank.settings import VisionSettings as VisionSettings
    from rerank.settings import preset_settings as preset_settings
    from rerank.similarity import SimilarityReranker as SimilarityReranker

_MODULES: Final = {
    name: f"rerank.{module}"
    for module, names in (
        ("collection", "open_collection"),
        ("cotrr.reranker", "CotrrReranker"),
        ("decompose.reranker", "DecomposeReranker"),
        ("evaluation.report", "RunFigures evaluate evaluate_runs"),
        ("feedback.search", "FeedbackSearch"),
        ("jobs", "job_of_folder read_jobs trec_lines"),
        ("judges.encoder", "EncoderJudge"),
        ("judges.vision", "VisionJudge"),
        ("methods", "METHODS RETRIEVERS RerankResources find make_reranker make_retriever rerank"),
        ("plan", "plan_run"),
        ("reranker", "first_stage run_jobs"),
        ("retrievers", "Retriever SimilarityRetriever"),
        ("scheduling", "FairChat"),
        ("settings", "CotrrSettings DecomposeSettings FEEDBACK_PRESETS FeedbackSettings PRESETS RerankSettings"),
        ("settings", "VisionSettings preset_settings"),
        ("similarity", "SimilarityReranker"),
    )
    for name in names.split()
}
"""Public name -> its module."""

fieldmark.check_packages()

__all__ = sorted(_MODULES, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
__getattr__, __dir__ = fieldmark.lazy_names(__name__, _MODULES)
