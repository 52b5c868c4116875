"""The methods by name, and what they may need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from data.contracts import ChatModel, Judge, QueryReranker, TextImageEncoder
from data.errors import ConfigError, UsageError
from data.records import Context, Job, QueryPart, RankedImage

if TYPE_CHECKING:
    from rerank.cotrr.settings import CotrrSettings
    from rerank.decompose.settings import DecomposeSettings
    from rerank.judgement_cache import KeptResults
    from rerank.prompting import Prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What methods may need; each takes what it does need and says what is missing."""

    encoders: tuple[TextImageEncoder, ...] = ()
    """Text-image spaces: for similarity, and for the judge where none is given."""
    judge: Judge | None = None
    text: ChatModel | None = None
    """Takes queries apart."""
    vision: ChatModel | None = None
    """Looks at images."""
    context: Callable[[str], Context] | None = None
    """Looks the words of a query up."""
    parts: Callable[[str], Sequence[QueryPart]] | None = None
    """Finds the names in a query."""
    kept: KeptResults | None = None
    """What was answered in earlier runs."""
    prompts: Prompts | None = None
    root: str | Path = "."
    """The folder that relative paths of jobs start from."""
    decompose: DecomposeSettings | None = None
    cotrr: CotrrSettings | None = None


def make_reranker(method: str, means: Means) -> QueryReranker:
    """Return the method of that name, ready for many jobs.

    Raises:
        ConfigError: if there is no such method; the message lists those there are.
        UsageError: if the method lacks what it needs.
    """
    make = METHODS.get(method)
    if make is None:
        raise ConfigError(f"there is no re-ranking method {method!r}", hint=f"one of: {', '.join(METHODS)}")
    return make(means)


def rerank(
    job: Job,
    method: str = "similarity",
    judge: Judge | None = None,
    *,
    encoder: TextImageEncoder | None = None,
    text: ChatModel | None = None,
    vision: ChatModel | None = None,
    context: Callable[[str], Context] | None = None,
    parts: Callable[[str], Sequence[QueryPart]] | None = None,
    settings: DecomposeSettings | CotrrSettings | None = None,
    root: str | Path = ".",
) -> list[RankedImage]:
    """Return all images of the job in the order of a method, best first, ties in first-stage order.

    Args:
        job: a query and the images that a first stage found for it.
        method: one of `METHODS`.
        judge: who answers questions on images; without one the encoder does, or the vision model.
        encoder: a text-image space, for similarity and as the judge.
        text: a chat model that takes queries apart; without it a plain rule does.
        vision: a chat model that looks at images; the method `cotrr` needs one.
        context: looks the words of a query up, such as `kb.context` with a store.
        parts: finds the names in a query, for the plain rule.
        settings: of the method: `rerank.settings_of` gives the presets of `decompose`, `rerank.cotrr_settings` those of
            `cotrr`.
        root: the folder that relative paths of the job start from.

    Raises:
        ConfigError: if there is no such method; the message lists those there are.
        UsageError: if the method lacks what it needs.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from data.records import Job, JobImage
        >>> from recognize import load_encoders
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (48, 48), "green").save(Path(folder) / "a.png")
        ...     image = JobImage(image_id="a", path="a.png", score=0.5)
        ...     job = Job(query_id="q", text="a green parrot", candidates=(image,))
        ...     encoder = load_encoders("starter").text_image[0]
        ...     rerank(job, "decompose", encoder=encoder, root=folder)[0].questions[0].obtained_by
        'cosines'
    """
    from rerank.cotrr.settings import CotrrSettings
    from rerank.decompose.settings import DecomposeSettings

    wanted = {"decompose": DecomposeSettings, "cotrr": CotrrSettings}.get(method)
    if settings is not None and (wanted is None or not isinstance(settings, wanted)):
        raise UsageError(f"{type(settings).__name__} are no settings of the method {method}")
    means = Means(
        encoders=(encoder,) if encoder is not None else (),
        judge=judge,
        text=text,
        vision=vision,
        context=context,
        parts=parts,
        decompose=settings if isinstance(settings, DecomposeSettings) else None,
        cotrr=settings if isinstance(settings, CotrrSettings) else None,
        root=root,
    )
    return asyncio.run(make_reranker(method, means).rank(job))


# --- the methods -------------------------------------------------------------------------------------------------


def _similarity(means: Means) -> QueryReranker:
    if not means.encoders:
        raise UsageError("the method similarity needs a text-image encoder")
    from rerank.similarity import SimilarityReranker

    return _InThreads(SimilarityReranker(means.encoders[0], root=means.root).rerank)


def _decompose(means: Means) -> QueryReranker:
    from rerank.decompose.questions import QuestionWriter
    from rerank.decompose.reranker import DecomposeReranker
    from rerank.decompose.settings import PRESETS

    judge = judge_of(means)
    return DecomposeReranker(
        judge,
        # Asking encoders costs nothing, so there is nothing to save by stopping early.
        settings=means.decompose
        or (PRESETS["default"] if is_paid(means) else replace(PRESETS["default"], stop_below=None)),
        context=means.context,
        writer=QuestionWriter(means.text, prompts=means.prompts) if means.text is not None else None,
        parts=means.parts,
        kept=means.kept,
        root=means.root,
    )


def judge_of(means: Means) -> Judge:
    """Return the judge that is given, else one of the vision model, else one of the encoders.

    Raises:
        UsageError: if there is none of them.
    """
    if means.judge is not None:
        return means.judge
    if means.vision is not None:
        from rerank.judges.vision import VisionJudge

        return VisionJudge(means.vision, prompts=means.prompts)
    if means.encoders:
        from rerank.judges.encoder import EncoderJudge

        return EncoderJudge(means.encoders)
    raise UsageError("the method decompose needs a judge: a vision model or a text-image encoder")


def is_paid(means: Means) -> bool:
    """Return whether answers come from a model behind an endpoint."""
    return means.judge is not None or means.vision is not None


class _InThreads:
    """A method that ranks one job at a time, as a `QueryReranker`."""

    def __init__(self, rank: Callable[[Job], list[RankedImage]]) -> None:
        self._rank = rank

    async def rank(self, job: Job) -> list[RankedImage]:
        return await asyncio.to_thread(self._rank, job)


def _cotrr(means: Means) -> QueryReranker:
    if means.vision is None:
        raise UsageError("the method cotrr needs a vision model")
    from rerank.cotrr.reranker import CotrrReranker

    return CotrrReranker(means.vision, text=means.text, settings=means.cotrr, prompts=means.prompts, root=means.root)


METHODS: Final[Mapping[str, Callable[[Means], QueryReranker]]] = {
    "similarity": _similarity,
    "decompose": _decompose,
    "cotrr": _cotrr,
}
"""Method -> what makes it."""
