"""Methods by name, and the resources that they need: re-rankers of lists, retrievers of collections."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from data.errors import ConfigError, UsageError, did_you_mean
from data.records import Job
from rerank.settings import RerankSettings

if TYPE_CHECKING:  # `kb --help` reads the names of the methods, without numpy
    from data.cache_file import CacheFile
    from data.contracts import ChatModel, ImageCollection, Judge, SpeciesScorer, TextImageEncoder
    from data.records import Context, QueryPart, RankedImage
    from rerank.captions import Captioner, TextScorer, Visa
    from rerank.prompting import Prompts
    from rerank.reranker import Reranker, Tally
    from rerank.retrievers import Retriever
    from rerank.similarity import Seeker
    from rerank.visret import Generator

DEFAULT_METHOD: Final = "decompose"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankResources:
    """Encoders, judges and models that are handed to a method; each method takes the ones it needs."""

    encoders: tuple[TextImageEncoder, ...] = ()
    """Text-image encoders: for similarity, and as the judge where no other is given."""
    judge: Judge | None = None
    """Answers questions about images; without it the vision model does, else the encoders."""
    text: ChatModel | None = None
    """Decomposes, rewrites and illustrates queries, and ranks notes."""
    vision: ChatModel | None = None
    """Looks at images."""
    context: Callable[[str], Context] | None = None
    """Returns background on the words of a query."""
    context_failures: Collection[str] = ()
    """Queries so far for which an optional source of that background failed."""
    generator: Generator | None = None
    """Makes the drawings of visret."""
    captioner: Captioner | None = None
    """Writes captions of photos, for captions and visa."""
    scorer: TextScorer | None = None
    """Scores texts for a query, for captions and visa."""
    parts: Callable[[str], Sequence[QueryPart]] | None = None
    """Finds taxa and terms in a query."""
    species: SpeciesScorer | None = None
    """Scores photos as showing species that a query names, for a judge of encoders."""
    cache: CacheFile | None = None
    """Keeps vectors of photos and chances of species for later runs of a judge of encoders."""
    on_progress: Callable[[int, int, int], None] = lambda _done, _total, _failed: None
    """Called with the numbers of photos read, in all, and failed, where a retriever reads a whole collection."""
    prompts: Prompts | None = None
    settings: RerankSettings = field(default_factory=RerankSettings)

    def __post_init__(self) -> None:
        if not isinstance(self.encoders, tuple | list):
            raise UsageError(
                f"encoders: expected a tuple of text-image encoders, got {type(self.encoders).__name__}",
                hint='recognize.load_encoders("starter").text_image is one.',
            )


def make_reranker(method: str, resources: RerankResources) -> Reranker:
    """Return the method of that name, ready for many jobs.

    Raises:
        ConfigError, UsageError: if the method is unknown, or a resource is missing.
    """
    make = METHODS.get(method)
    if make is None:
        raise ConfigError(f'Unknown re-ranking method "{method}".', hint=did_you_mean(method, METHODS))
    made, depth = make(resources), resources.settings.depth
    if depth is None:
        return made
    from rerank.reranker import DepthReranker

    return DepthReranker(made, depth)


def rerank(job: Job, method: str = DEFAULT_METHOD, resources: RerankResources | None = None) -> list[RankedImage]:
    """Return all images of the job as a method ranks them, best first, ties in first-stage order; logs fallbacks.

    Args:
        job: a query and its first-stage images.
        method: one of `METHODS`.
        resources: `similarity` needs an encoder, `decompose` a judge, a vision model or an encoder, `cotrr` a vision
            model, `visret` a generator and an encoder, `rewrite` a text model and an encoder, `captions` a captioner
            and a scorer, `visa` these and a vision model. `resources.settings` holds the constants;
            `rerank.preset_settings` gives those of the papers.

    Raises:
        ConfigError, UsageError: if the method is unknown, a resource is missing, or the method cannot take the query.
        FieldmarkError: if no photo could be judged, the cause: BadImage or NothingReadable for photos that cannot be
            read, NoEvidence where the encoder sees none of the words, SourceError, CostStop or NotCached of a model.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from recognize import load_encoders
        >>> from rerank import job_of_folder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (48, 48), "green").save(Path(folder) / "a.png")
        ...     resources = RerankResources(encoders=load_encoders("starter").text_image)
        ...     rerank(job_of_folder(folder, "a green parrot"), "decompose", resources)[0].questions[0].obtained_by
        'cosines'
    """
    from rerank.reranker import run_jobs  # not at the top: `kb --help` reads the names of the methods; asyncio is slow

    result = run_jobs([job], make_reranker(method, resources or RerankResources()))
    result.raise_if_all_failed()
    _log_fallbacks(result.tally)
    return result.rows[job.query_id]


def _log_fallbacks(tally: Tally) -> None:
    for warning in tally.warnings():
        logging.getLogger(__name__).warning(warning)


def _similarity(resources: RerankResources, seeker: Seeker | None = None) -> Reranker:
    if not resources.encoders:
        raise UsageError("The method similarity needs a text-image encoder.")
    from rerank.similarity import SimilarityReranker

    return SimilarityReranker(resources.encoders[0], seeker=seeker)


def _decompose(resources: RerankResources) -> Reranker:
    from rerank.decompose.questions import QuestionWriter
    from rerank.decompose.reranker import DecomposeReranker

    text = resources.text
    return DecomposeReranker(
        _judge(resources),
        settings=resources.settings.decompose,
        context=resources.context,
        writer=QuestionWriter(text, prompts=resources.prompts) if text is not None else None,
        parts=resources.parts,
    )


def _judge(resources: RerankResources) -> Judge:
    if resources.judge is not None:
        return resources.judge
    if resources.vision is not None:
        from rerank.judges.vision import VisionJudge

        return VisionJudge(resources.vision, settings=resources.settings.vision, prompts=resources.prompts)
    if resources.encoders:
        from rerank.judges.encoder import EncoderJudge

        return EncoderJudge(resources.encoders, species=resources.species, cache=resources.cache)
    raise UsageError("The method decompose needs a judge: a vision model or a text-image encoder.")


def _cotrr(resources: RerankResources) -> Reranker:
    if resources.vision is None:
        raise UsageError("The method cotrr needs a vision model.")
    from rerank.cotrr.reranker import CotrrReranker

    settings = resources.settings.cotrr
    return CotrrReranker(resources.vision, text=resources.text, settings=settings, prompts=resources.prompts)


def _visualizer(resources: RerankResources) -> Seeker:
    if resources.generator is None or not resources.encoders:
        raise UsageError("The method visret needs an image generator and a text-image encoder.")
    from rerank.visret import Visualizer

    return Visualizer(
        resources.encoders[0],
        resources.generator,
        text=resources.text,
        settings=resources.settings.visret,
        prompts=resources.prompts,
    )


def _rewriter(resources: RerankResources) -> Seeker:
    if resources.text is None or not resources.encoders:
        raise UsageError("The method rewrite needs a text model and a text-image encoder.")
    from rerank.visret import InstructionWriter, Rewriter

    writer = InstructionWriter(resources.text, settings=resources.settings.visret, prompts=resources.prompts)
    return Rewriter(writer, resources.encoders[0])


def _text_scorers(resources: RerankResources, method: str) -> tuple[Captioner, TextScorer]:
    if resources.captioner is None or resources.scorer is None:
        vision = "a vision model, " if method == "visa" else ""
        raise UsageError(f"The method {method} needs {vision}a captioner and a scorer of texts.")
    return resources.captioner, resources.scorer


def _captions(resources: RerankResources, visa: Visa | None = None, method: str = "captions") -> Reranker:
    captioner, scorer = _text_scorers(resources, method)
    from rerank.captions import CaptionReranker

    return CaptionReranker(captioner, scorer, visa=visa, settings=resources.settings.captions)


def _visa(resources: RerankResources) -> Reranker:
    if resources.vision is None:
        raise UsageError("The method visa needs a vision model, a captioner and a scorer of texts.")
    from rerank.captions import Visa

    visa = Visa(resources.text or resources.vision, resources.vision, prompts=resources.prompts)
    return _captions(resources, visa, "visa")


METHODS: Final[Mapping[str, Callable[[RerankResources], Reranker]]] = {
    "similarity": _similarity,
    "decompose": _decompose,
    "cotrr": _cotrr,
    "visret": lambda resources: _similarity(resources, _visualizer(resources)),
    "rewrite": lambda resources: _similarity(resources, _rewriter(resources)),
    "captions": _captions,
    "visa": _visa,
}
"""Method -> its factory."""


DEFAULT_RETRIEVER: Final = "similarity"
N_FOUND: Final = 20
"""Photos that a search returns."""


def make_retriever(method: str, collection: ImageCollection, resources: RerankResources) -> Retriever:
    """Return the method of that name over a collection, ready for many queries.

    Raises:
        ConfigError, UsageError: if the method is unknown, or a resource is missing.
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
    """Return the best `k` photos of a collection for a query, best first, ties in its order; logs fallbacks.

    Args:
        query: a text; may be empty with a photo.
        collection: from `open_collection`.
        resources: `similarity` needs the encoder of the collection, `visret` a generator too, `rewrite` a text model,
            `captions` a captioner and a scorer.
        method: one of `RETRIEVERS`.
        photo: a photo as the query; with a text, the mean of both unit vectors is.
        k: most photos to return.

    Raises:
        ConfigError, UsageError: if the method is unknown, or a resource is missing.
        BadInput, BadImage: if there is neither text nor photo, or the photo cannot be read.
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
    from data.event_loop import run  # late, for `kb --help`

    job = Job(query_id="query", text=query, candidates=(), reference_image=photo)
    retriever = make_retriever(method, collection, resources)
    found = run(retriever.find(job, k))
    _log_fallbacks(retriever.tally)
    return found


def _by_similarity(collection: ImageCollection, resources: RerankResources, seeker: Seeker | None = None) -> Retriever:
    if not resources.encoders:
        raise UsageError("The method similarity needs a text-image encoder.")
    from rerank.retrievers import SimilarityRetriever

    return SimilarityRetriever(resources.encoders[0], collection, seeker=seeker)


def _by_captions(collection: ImageCollection, resources: RerankResources) -> Retriever:
    captioner, scorer = _text_scorers(resources, "captions")
    from rerank.retrievers import CaptionRetriever

    return CaptionRetriever(captioner, scorer, collection, on_caption=resources.on_progress)


RETRIEVERS: Final[Mapping[str, Callable[[ImageCollection, RerankResources], Retriever]]] = {
    "similarity": _by_similarity,
    "visret": lambda collection, resources: _by_similarity(collection, resources, _visualizer(resources)),
    "rewrite": lambda collection, resources: _by_similarity(collection, resources, _rewriter(resources)),
    "captions": _by_captions,
}
"""Method -> its factory."""
