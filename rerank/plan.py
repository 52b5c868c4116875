"""Plan of a run: judge, models and background knowledge, and the calls to models with their approximate cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, Protocol

from data.errors import MissingRequirement, UsageError
from data.records import Job
from rerank.settings import GeneratorName, RerankSettings

# Typical tokens, for the cost forecast only; replies report the real ones.
PROMPT: Final = 500
ANSWER, REASONED_ANSWER = 20, 400
TEXT, SOURCES, WRITTEN = 1_000, 2_000, 400  # request for questions, sources of an explanation, written text
INSTRUCTION, DRAWING = 40, 4_160  # a drawing of gpt-image-1 at high quality, for prices by token
NOTE, PLACE, COMPARISON = 120, 5, 200  # parts of a ranking


class PricedModel(Protocol):
    """A model with prices, such as an endpoint."""

    @property
    def image_tokens(self) -> int:
        """Tokens per image."""

    def cost_usd(self, input_tokens: int, output_tokens: int, *, drawings: int = 0) -> float | None:
        """Return the cost of one request in US dollars; None if the prices are unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Expected calls of one kind, without retries."""

    n: int
    model: str
    """Name of the endpoint."""
    n_more: int = 0
    """Further calls at most: questions asked again one by one, and samples where a server has no log-probabilities."""
    photos: int = 0
    """Photos per call."""
    drawings: int = 0
    """Drawings per call."""
    tokens_in: int = PROMPT
    tokens_out: int = WRITTEN
    is_context: bool = False
    """Whether they explain the words of queries."""


def most_cost_usd(calls: Iterable[Calls], models: Mapping[str, PricedModel]) -> float | None:
    """Return the approximate cost of calls in US dollars, at most; None if a price is unknown."""
    cost = 0.0
    for call in calls:
        model = models[call.model]
        tokens_in = call.tokens_in + call.photos * model.image_tokens
        each = model.cost_usd(tokens_in, call.tokens_out, drawings=call.drawings)
        if each is None:
            return None
        cost += (call.n + call.n_more) * each
    return cost


JudgeName = Literal["vision", "encoder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The resources that a run needs. Models go by the names of their endpoints: `vision`, `text`, `search`."""

    method: str
    settings: RerankSettings
    judge: JudgeName
    """Judge of the photos: a vision model, or text-image encoders."""
    text_model: str | None = None
    """Endpoint that decomposes queries or ranks notes; None if no model does."""
    generator: GeneratorName | None = None
    """Origin of the drawings of queries; None if none are drawn."""
    reads_texts: bool = False
    """Whether photos are ranked by texts about them: captions and answers."""
    needs_knowledge: bool = False
    """Whether a knowledge base is read."""
    uses_wiki: bool = False
    """Whether the configured wiki may explain words of a query."""
    context_search: bool = False
    """Whether words of a query are searched on the web."""
    context_model: bool = False
    """Whether a text model writes the context."""

    @property
    def models(self) -> tuple[str, ...]:
        """The endpoints that judge, write questions or rank."""
        named = (("vision",) if self.judge == "vision" else ()) + ((self.text_model,) if self.text_model else ())
        return tuple(dict.fromkeys(named))

    @property
    def context_models(self) -> tuple[str, ...]:
        """The endpoints that explain the words of a query."""
        return (("search",) if self.context_search else ()) + (("text",) if self.context_model else ())

    def calls(self, jobs: Sequence[Job]) -> list[Calls]:
        """Return the calls to models that rank the photos of jobs, those for context first."""
        from rerank.reranker import first_of

        jobs = [first_of(job, self.settings.depth) for job in jobs]
        of_method = _CALLS.get(self.method)
        return [
            *(
                Calls(n=len(jobs), model=model, tokens_in=SOURCES if model == "text" else PROMPT, is_context=True)
                for model in self.context_models
            ),
            *(of_method(self, jobs) if of_method is not None else ()),
        ]


_VECTORS: Final = ("compares vectors and asks no vision model", "Omit --judge.")
_NO_JUDGE: Final[Mapping[tuple[str, JudgeName | None], tuple[str, str | None]]] = {
    ("similarity", "vision"): _VECTORS,
    ("rewrite", "vision"): _VECTORS,
    ("visret", "vision"): ("compares drawings with photos and asks no vision model", None),
    ("cotrr", "encoder"): ("needs a vision model", "--method decompose supports encoders."),
    **{(m, j): ("has no judge", "Omit --judge.") for m in ("captions", "visa") for j in ("vision", "encoder")},
}
"""Method and judge -> why they do not go together, and a hint."""


# Long: a branch for each method, as a table of their needs.
def plan_run(
    method: str,
    settings: RerankSettings,
    *,
    endpoints: Collection[str],
    judge: JudgeName | None = None,
    web: bool | None = None,
) -> RunPlan:
    """Return the resources that a run needs.

    Args:
        method: one of `rerank.METHODS`.
        settings: the settings of all methods.
        endpoints: the configured models: `vision`, `text`, `search`.
        judge: the judge; None: the vision model if there is one, else encoders.
        web: whether to search the web for words that nothing else explains, if the judge or the writer of questions
            is a model; None: only with a vision judge and a search model, because encoders cost nothing.

    Raises:
        MissingRequirement: if a needed model is not configured.
        UsageError: if the choices contradict each other.
    """
    if method != "decompose" and web is not None:
        raise UsageError(f"Web search is for the method decompose, not for {method}.")
    if why := _NO_JUDGE.get((method, judge)):
        raise UsageError(f"The method {method} {why[0]}.", hint=why[1])
    plan = partial(RunPlan, method=method, settings=settings)
    if method == "similarity":
        return plan(judge="encoder")
    if method == "visret":
        origin = settings.visret.origin
        if origin == "endpoint" and "image" not in endpoints:
            raise MissingRequirement(
                "The method visret needs an image generator: [llm.image] is not set.",
                hint="Set [llm.image] in fieldmark.toml, visret.drawings to a folder of drawings, or visret.generator "
                "to anchors or diffusers.",
            )
        text_model = "text" if "text" in endpoints and settings.visret.needs_instruction else None
        return plan(judge="encoder", text_model=text_model, generator=origin, needs_knowledge=origin == "anchors")
    if method == "rewrite":
        return plan(judge="encoder", text_model=_first_of(("text",), endpoints, instead="similarity"))
    if method in ("captions", "visa"):
        if method == "captions" and settings.captions.captioner != "vision":
            return plan(judge="encoder", reads_texts=True)
        if "vision" not in endpoints:
            raise MissingRequirement(
                f"The method {method} needs a vision model: [llm.vision] is not set.",
                hint="Set [llm.vision] in fieldmark.toml.",
            )
        text_model = ("text" if "text" in endpoints else "vision") if method == "visa" else None
        return plan(judge="vision", text_model=text_model, reads_texts=True)
    if method == "cotrr":
        _first_of(("vision",), endpoints)
        # The vision model reads notes as well; a text model is used only if it is configured.
        return plan(judge="vision", text_model=_first_of(("text", "vision"), endpoints))
    chosen: JudgeName = judge or ("vision" if "vision" in endpoints else "encoder")
    if chosen == "vision":
        _first_of(("vision",), endpoints)
    decompose = settings.decompose
    if web and not decompose.context:
        raise UsageError("Web search adds context, but context is turned off.", hint="Use --context with --web.")
    by_model = (decompose.questions_by or ("model" if chosen == "vision" else "rule")) == "model"
    # Encoders take no web answer for looks, so only a writer of questions would read it.
    is_read = chosen == "vision" or (by_model and not decompose.direct)
    searches = is_read and ((chosen == "vision" and "search" in endpoints) if web is None else web)
    return plan(
        judge=chosen,
        # A vision model writes questions as well.
        text_model=_first_of(("text", "vision"), endpoints) if by_model and not decompose.direct else None,
        needs_knowledge=True,
        uses_wiki=decompose.context,
        context_search=decompose.context and searches,
        context_model=decompose.context and chosen == "vision" and "text" in endpoints,
    )


def _first_of(names: tuple[str, ...], endpoints: Collection[str], instead: str = "decompose --judge encoder") -> str:
    found = next((name for name in names if name in endpoints), None)
    if found is None:
        raise MissingRequirement(
            f"This needs a {names[0]} model: [llm.{names[0]}] is not set.",
            hint=f"Set [llm.{names[0]}] in fieldmark.toml, or use --method {instead}.",
        )
    return found


def _decompose(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    yield from _text(plan, jobs, tokens_in=TEXT)
    if plan.judge != "vision":
        return
    from rerank.decompose.questions import MAX_QUESTIONS

    settings, vision = plan.settings.decompose, plan.settings.vision
    n_photos, n_questions = sum(len(job.candidates) for job in jobs), 1 if settings.direct else MAX_QUESTIONS
    is_together = settings.together and settings.is_chained and vision.reasons == "none" and vision.samples == 1
    n = 1 if is_together else n_questions * vision.samples
    n_fallback = vision.fallback_samples if vision.without_logprobs == "samples" else vision.samples
    most = max(n_questions * n_fallback, n + n_questions * is_together)
    tokens_out = ANSWER if vision.reasons == "none" else REASONED_ANSWER
    yield Calls(n=n_photos * n, n_more=n_photos * max(0, most - n), model="vision", photos=1, tokens_out=tokens_out)
    yield Calls(n=2, model="vision", photos=1, tokens_out=ANSWER)  # the probe


def _text(plan: RunPlan, jobs: Sequence[Job], *, tokens_in: int = PROMPT, tokens_out: int = WRITTEN) -> Iterator[Calls]:
    if plan.text_model is not None:
        yield Calls(n=len(jobs), model=plan.text_model, tokens_in=tokens_in, tokens_out=tokens_out)


def _visret(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    yield from _text(plan, jobs, tokens_out=INSTRUCTION)
    if plan.generator == "endpoint":
        n = plan.settings.visret.images
        yield Calls(n=len(jobs), model="image", drawings=n, tokens_in=INSTRUCTION, tokens_out=n * DRAWING)


def _captions(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    from rerank.captions import N_QUESTIONS

    yield from _text(plan, jobs, tokens_in=TEXT)
    n = sum(len(job.candidates) for job in jobs)
    if plan.settings.captions.captioner == "vision":
        yield Calls(n=n, model="vision", photos=1, tokens_out=NOTE)
    if plan.method == "visa":
        yield Calls(n=n * N_QUESTIONS, model="vision", photos=1, tokens_out=INSTRUCTION)


def _cotrr(plan: RunPlan, jobs: Sequence[Job]) -> Iterator[Calls]:
    from rerank.cotrr.reranker import windows

    settings = plan.settings.cotrr
    text = plan.text_model or "vision"
    is_staged = settings.form == "staged"
    for job in jobs:
        n_references = int(job.reference_image is not None)
        if is_staged and settings.deconstructs:
            yield Calls(n=1, model="vision" if n_references else text, photos=n_references)
        if is_staged and settings.evaluates:
            yield Calls(n=len(job.candidates), model="vision", photos=1 + n_references)
        for start, end in windows(len(job.candidates), settings.window_size, settings.stride):
            n = end - start
            if settings.sees_photos:
                tokens_out = COMPARISON + (PLACE if is_staged else NOTE) * n
                yield Calls(n=settings.orders, model="vision", photos=n + n_references, tokens_out=tokens_out)
            else:
                tokens_in, tokens_out = PROMPT + NOTE * n, COMPARISON + PLACE * n
                yield Calls(n=settings.orders, model=text, tokens_in=tokens_in, tokens_out=tokens_out)


_CALLS: Final = {"cotrr": _cotrr, "decompose": _decompose, "captions": _captions, "visa": _captions} | dict.fromkeys(
    ("visret", "rewrite"), _visret
)
