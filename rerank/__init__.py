"""Ranks the images that a first stage found for a query anew, and measures such runs.

The parts load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rerank.evaluation import RunReport as RunReport
    from rerank.evaluation import evaluate as evaluate
    from rerank.methods import METHODS as METHODS
    from rerank.methods import rerank as rerank
    from rerank.order import first_stage as first_stage
    from rerank.similarity import SimilarityReranker as SimilarityReranker

_HOMES: Final = {
    "METHODS": "rerank.methods",
    "RunReport": "rerank.evaluation",
    "SimilarityReranker": "rerank.similarity",
    "evaluate": "rerank.evaluation",
    "first_stage": "rerank.order",
    "rerank": "rerank.methods",
}

__all__ = [
    "METHODS",
    "RunReport",
    "SimilarityReranker",
    "evaluate",
    "first_stage",
    "rerank",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
