"""Contracts between the packages: Protocols, batch first.

An implementation is any object with these methods; nothing is inherited. Laws that hold for every implementation are
tested in `tests/laws`.
"""

from data.contracts.chat import ChatModel, WebSearch
from data.contracts.detector import Detector
from data.contracts.encoders import (
    Encoder,
    Encoders,
    ImageEncoder,
    TextEncoder,
    TextImageEncoder,
    TrainedOnPhotos,
    TrainedOnSpecies,
)
from data.contracts.judges import Judge, QueryReranker, SeenImage
from data.contracts.sources import (
    AnchorBatch,
    ArticleSource,
    TaxonSource,
)
from data.contracts.store import KnowledgeStore, VectorTable

__all__ = [
    "AnchorBatch",
    "ArticleSource",
    "ChatModel",
    "Detector",
    "Encoder",
    "Encoders",
    "ImageEncoder",
    "Judge",
    "KnowledgeStore",
    "QueryReranker",
    "SeenImage",
    "TaxonSource",
    "TextEncoder",
    "TextImageEncoder",
    "TrainedOnPhotos",
    "TrainedOnSpecies",
    "VectorTable",
    "WebSearch",
]
