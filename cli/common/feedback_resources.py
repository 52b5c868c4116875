"""Resources of interactive retrieval: captioner and language model, opened where a method needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli.common import wiring
from cli.common.language_models import connect_model, cost_text
from cli.common.rerank_resources import local_captioner
from cli.common.settings import Settings
from data.files import sha256_hex
from data.words import plural

if TYPE_CHECKING:
    from data.contracts import ChatModel, ImageCollection, TextImageEncoder
    from kb.endpoints.endpoint import Budget
    from rerank.captions import Captioner
    from rerank.feedback.queries import FindNames
    from rerank.feedback.search import FeedbackSearch
    from rerank.prompting import Prompts
    from rerank.settings import FeedbackMethod, FeedbackSettings

CAPTIONERS: Final = "Captions by [llm.vision] (vision), of phrases in the knowledge base (phrases), or by a BLIP model."
"""Help of the option `--captioner`."""


def session_file(settings: Settings, query: str | None, folder: Path | None) -> Path:
    """Return the file of the session of a query in a folder."""
    name = sha256_hex(f"{folder}\n{query}")[:16]
    return settings.home / "feedback" / f"{name}.json"


def default_method(settings: Settings) -> FeedbackMethod:
    """Return the best method with the models that are set."""
    return "cot" if {"vision", "text"} <= set(settings.llm) else "rocchio"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackResources:
    """Encoder, captioner and models of a run."""

    encoder: TextImageEncoder
    models: tuple[str, ...] = ()
    """Names of captioner, text model, prompts and knowledge base, which decide the results."""
    prompts: Prompts
    captioner: Captioner | None = None
    text: ChatModel | None = None
    names: FindNames | None = None
    """Finds species in a query; None with `names = "text"`."""
    budget: Budget | None = None
    """Cost of all models together; None if the run asks none."""

    def search(self, collection: ImageCollection, method: FeedbackMethod, settings: FeedbackSettings) -> FeedbackSearch:
        """Return a search over a collection."""
        from rerank.feedback.search import FeedbackSearch

        return FeedbackSearch(
            self.encoder,
            collection,
            method=method,
            captioner=self.captioner,
            text=self.text,
            settings=settings,
            prompts=self.prompts,
            names=self.names,
        )

    def cost_lines(self) -> list[str]:
        """Return the number of model calls and their cost in words, if any model was asked."""
        if self.budget is None or not (self.budget.meter.calls or self.budget.meter.cached):
            return []
        meter = self.budget.meter
        cached = f", {meter.cached:,} from the cache" if meter.cached else ""
        return [f"{plural(meter.calls, 'model call')}{cached}", f"cost {cost_text(meter)}"]


@contextmanager
def open_feedback(
    settings: Settings,
    methods: Sequence[FeedbackMethod],
    of_methods: FeedbackSettings,
    *,
    captioner: str | None,
    max_cost: float | None,
    offline: bool,
) -> Iterator[FeedbackResources]:
    """Open what the methods need, and close it at the end.

    `captioner` is `vision` for `[llm.vision]`, `phrases` of the knowledge base, or the name of a BLIP model; None takes
    `[llm.vision]` if it is set, else phrases. Errors as in `connect_model`; MissingDependency without transformers.
    """
    from cli.common.named_species import name_finder
    from kb.endpoints.endpoint import Budget
    from rerank.feedback.queries import PhraseCaptioner, phrases_of, short_captions
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat
    from rerank.settings import needs_text_model, text_form

    encoder = wiring.load_encoders(settings.profile).text_image[0]
    prompts, budget = Prompts(settings.prompts), Budget(max_cost)
    with ExitStack() as stack:

        def connect(kind: str) -> ChatModel:
            chat = stack.enter_context(connect_model(settings, kind, budget=budget, offline=offline))
            return FairChat(chat, n_in_flight=settings.llm[kind].max_concurrent)

        store = stack.enter_context(wiring.open_knowledge_base(settings))
        names = None
        if of_methods.names == "knowledge" and encoder.space in store.spaces:
            names = name_finder(store, encoder)
        made: Captioner | None = None
        models = [prompts.digest(f"feedback_{name}") for name in ("caption", "summary", "keywords", "cot")]
        if any(text_form(method, of_methods) is not None for method in methods):
            if captioner == "vision" or (captioner is None and "vision" in settings.llm):
                made = short_captions(chat := connect("vision"), prompts=prompts)
                models.append(chat.name)
            elif captioner not in (None, "phrases"):
                made = local_captioner(captioner)
                models.append(captioner)
            else:
                texts = [each.summary.text for each in store.species(store.taxon_ids) if each.summary]
                phrases = phrases_of(texts)
                made = PhraseCaptioner(encoder, phrases, n=of_methods.phrases)
                models.append(sha256_hex("\n".join(phrases)))
        is_rewritten = any(needs_text_model(method, of_methods) for method in methods)
        rewriter = connect("text") if is_rewritten else None
        if names is not None:
            models.append(store.generation)
        yield FeedbackResources(
            encoder=encoder,
            models=(*models, rewriter.name if rewriter else ""),
            prompts=prompts,
            captioner=made,
            text=rewriter,
            names=names,
            budget=budget,
        )
