"""Choices of a run: judge, models and background knowledge, from the method, its settings and the models at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from data.errors import BadInput, MissingRequirement, UsageError
from data.records import Job
from rerank.queries import check_decompose, query_of
from rerank.settings import GeneratorName, RerankSettings

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


def check_jobs(plan: RunPlan, jobs: Iterable[Job]) -> None:
    """Refuse jobs that the method cannot rank as planned, before anything is asked.

    Incomplete queries are left to the run, which makes them error rows.

    Raises:
        UsageError: if decompose cannot judge a composed query or a dialogue with this judge or these questions.
    """
    if plan.method != "decompose":
        return
    by_rule = plan.text_model is None and not plan.settings.decompose.direct
    for job in jobs:
        with suppress(BadInput):
            check_decompose(query_of(job), sees_photos=plan.judge == "vision", by_rule=by_rule)


def _first_of(names: tuple[str, ...], endpoints: Collection[str], instead: str = "decompose --judge encoder") -> str:
    found = next((name for name in names if name in endpoints), None)
    if found is None:
        raise MissingRequirement(
            f"This needs a {names[0]} model: [llm.{names[0]}] is not set.",
            hint=f"Set [llm.{names[0]}] in fieldmark.toml, or use --method {instead}.",
        )
    return found
