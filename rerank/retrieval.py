"""Methods that find photos in a whole collection, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from data.errors import ConfigError, UsageError, did_you_mean
from data.records import Job

if TYPE_CHECKING:  # `kb --help` reads the names of the methods, without numpy
    from data.contracts import ImageCollection
    from data.records import RankedImage
    from rerank.collection.retriever import Retriever
    from rerank.methods import RerankResources

DEFAULT_RETRIEVER: Final = "similarity"
N_FOUND: Final = 20
"""Photos that a search returns."""


def make_retriever(method: str, collection: ImageCollection, resources: RerankResources) -> Retriever:
    """Return the method of that name over a collection, ready for many queries.

    Raises:
        ConfigError: if the method is unknown.
        UsageError: if a resource is missing.
        SpaceMismatch: if the collection has vectors of another encoder.
    """
    make = RETRIEVERS.get(method)
    if make is None:
        raise ConfigError(f'Unknown retrieval method "{method}".', hint=did_you_mean(method, RETRIEVERS))
    return make(collection, resources)


def find(
    query: str,
    collection: ImageCollection,
    resources: RerankResources,
    *,
    method: str = DEFAULT_RETRIEVER,
    photo: str | None = None,
    k: int = N_FOUND,
) -> list[RankedImage]:
    """Return the best `k` photos of a collection for a query, best first, ties in the order of the collection.

    Args:
        query: a text; may be empty with a photo.
        collection: from `open_collection`.
        resources: `similarity` needs the encoder of the collection, `visret` a generator too, `rewrite` a text model,
            `captions` a captioner and a scorer.
        method: one of `RETRIEVERS`.
        photo: a photo as the query; with a text, the mean of both unit vectors is.
        k: most photos to return.

    Raises:
        ConfigError: if the method is unknown.
        UsageError: if a resource is missing.
        BadInput: if there is neither text nor photo.
        BadImage: if the photo cannot be read.
        NoEvidence: if the encoder can see none of the words in photos.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from recognize import load_encoders
        >>> from rerank import RerankResources, open_collection
        >>> encoder = load_encoders("starter").text_image[0]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for colour in ("blue", "red"):
        ...         Image.new("RGB", (48, 48), colour).save(Path(folder) / f"{colour}.png")
        ...     with open_collection(folder, encoder, home=Path(folder) / ".home") as collection:
        ...         found = find("a crimson bird", collection, RerankResources(encoders=(encoder,)), k=1)
        >>> [image.image_id for image in found]
        ['red.png']
    """
    import asyncio  # late, for `kb --help`

    job = Job(query_id="query", text=query, candidates=(), reference_image=photo)
    return asyncio.run(make_retriever(method, collection, resources).find(job, k))


def _similarity(collection: ImageCollection, resources: RerankResources) -> Retriever:
    if not resources.encoders:
        raise UsageError("The method similarity needs a text-image encoder.")
    from rerank.collection.retriever import SimilarityRetriever

    return SimilarityRetriever(resources.encoders[0], collection, root=resources.root)


def _visret(collection: ImageCollection, resources: RerankResources) -> Retriever:
    from rerank.methods import visualizer
    from rerank.visret.retriever import VisretRetriever

    return VisretRetriever(visualizer(resources), collection)


def _rewrite(collection: ImageCollection, resources: RerankResources) -> Retriever:
    from rerank.methods import rewriter
    from rerank.visret.rewrite import RewriteRetriever

    return RewriteRetriever(rewriter(resources), _similarity(collection, resources))


def _captions(collection: ImageCollection, resources: RerankResources) -> Retriever:
    if resources.captioner is None or resources.scorer is None:
        raise UsageError("The method captions needs a captioner and a scorer of texts.")
    from rerank.captions.retriever import CaptionRetriever

    return CaptionRetriever(resources.captioner, resources.scorer, collection, on_caption=resources.on_progress)


RETRIEVERS: Final[Mapping[str, Callable[[ImageCollection, RerankResources], Retriever]]] = {
    "similarity": _similarity,
    "visret": _visret,
    "rewrite": _rewrite,
    "captions": _captions,
}
"""Method -> its factory."""
