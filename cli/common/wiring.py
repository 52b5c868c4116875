"""Wiring of the packages: profiles, sources and paths become calls of the library.

Every function imports its packages when it is called, so that `kb --help` loads none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from cli.common import options
from cli.common.output import hide, note, warn
from cli.common.settings import WIKI_PASSWORD, Settings
from data.errors import MissingDependency, MissingRequirement
from data.records import Context, QueryPart
from recognize.settings import MIN_CONFIDENCE, UNKNOWN_PRIOR

if TYPE_CHECKING:
    from data.contracts import Checklist, Encoders, SpeciesScorer, TextImageEncoder
    from data.engines.contract import Engine
    from kb.endpoints.chat import Connection
    from kb.endpoints.endpoint import Budget
    from kb.lookup.context_settings import ContextSettings, ContextSources
    from kb.lookup.wiki_terms import WikiTerms
    from kb.sources.web_pages import WebSource
    from kb.store.knowledge_base import KnowledgeBase
    from recognize import OccurrenceModel, Recognizer

LOADERS: Final = {
    "encoders": "recognize.encoders.profiles:load_encoders",
    "text_image_encoder": "recognize.encoders.profiles:load_text_image_encoder",
}
"""Kind of models -> their loader on a node of a cluster."""
IS_WANTED = {"always": True, "if-needed": None, "never": False}
"""Mode of a source of context -> whether it is required, used where it is set, or left out."""


@contextmanager
def open_knowledge_base(settings: Settings) -> Iterator[KnowledgeBase]:
    """Open the knowledge base in the settings, else the one that ships with Fieldmark, unpacked on first use."""
    import kb

    encoders = load_encoders("starter") if settings.kb is None else None
    progress = (lambda _: None) if options.invocation().quiet else None
    with kb.open(
        settings.kb, home=settings.home, encoders=encoders, language=settings.language, progress=progress
    ) as store:
        yield store


def load_encoders(profile: str | None) -> Encoders:
    """Return the encoders of a profile; without one, the starter's."""
    import recognize

    return recognize.load_encoders(profile or "starter")


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    """Open the engine of the settings; a cluster is connected when there is work for it, and left at the end."""
    if settings.engine == "local":
        from data.engines.contract import LOCAL

        yield LOCAL
        return
    from data.engines.ray_engine import RayEngine

    with closing(RayEngine(settings.ray_address, results=settings.home / "shards", loaders=LOADERS)) as engine:
        yield engine


def profile_of(settings: Settings) -> str | None:
    """Return the profile that compares photos: that of the knowledge base in the settings, else their own."""
    if settings.kb is None:
        return settings.profile
    from kb.store.layout import Layout

    return Layout(settings.kb).require().profile


def load_text_image_encoder(name: str | None) -> TextImageEncoder:
    """Return a text-image encoder: the first of a profile, or a model of open_clip; without a name, the starter's."""
    from recognize.encoders.profiles import load_text_image_encoder

    return load_text_image_encoder(name or "starter")


def encoders_of(store: KnowledgeBase) -> Encoders:
    """Return the encoders of a knowledge base, with a warning if they see other views of the birds in its photos."""
    encoders = load_encoders(store.info.profile)
    if n := store.outdated_anchors(encoders):
        warn(
            f"The reference photos of {n:,} of {len(store.taxon_ids):,} species were encoded without the detector of "
            f"birds, or by another version of it. kb build --only encode --kb {store.path} encodes them again"
        )
    return encoders


def open_checklist(settings: Settings, name_or_file: str | None, kb: Path | None = None) -> Checklist:
    """Return the checklist of that name or file; by default that of the knowledge base at `kb`, else AviList.

    A file is indexed first, with progress on stderr.

    Raises:
        MissingRequirement: if it is not on this machine.
        BadInput: if the file is no checklist.
    """
    from cli.common.output import named_calls
    from kb.checklist.shelf import Shelf
    from kb.store.layout import Layout

    layout = None if kb is None else Layout(kb)
    info = layout.require() if layout is not None and layout.toml.is_file() else None
    shelf = Shelf(settings.home, language=settings.language or (info.language if info else "en"))
    if name_or_file is None and layout is not None and info is not None:
        return shelf.used_by(info.checklist, info.checklist_digest, layout.checklist)
    with named_calls(quiet=options.invocation().quiet) as report:
        return shelf.open(name_or_file, report)


def checklist_of(settings: Settings, kb: Path) -> Checklist:
    """Return the checklist of the knowledge base at `kb`, or AviList, with a note, where it is not on this machine."""
    from kb.checklist.avilist import load_checklist

    try:
        return open_checklist(settings, None, kb)
    except MissingRequirement as error:
        note(f"{error} Names and lineages stay as they are. kb checklist add FILE adds it.")
        return load_checklist()


def required_path(settings: Settings) -> Path:
    """Return the folder of the knowledge base in the settings, for verbs that write.

    Raises:
        MissingRequirement: if there is none.
    """
    if settings.kb is None:
        raise MissingRequirement("No knowledge base given.", hint="Add --kb DIR or set FIELDMARK_KB.")
    return settings.kb


def open_web(settings: Settings, stack: ExitStack) -> WebSource:
    """Open the source of web pages, and close it with the stack."""
    from kb.sources.web_pages import PageClient, WebSource

    source = WebSource(PageClient(contact=settings.contact, settings=settings.pages))
    stack.callback(source.close)
    return source


@contextmanager
def open_context_sources(
    settings: Settings,
    *,
    context: ContextSettings,
    model: bool | None,
    budget: Budget,
    offline: bool,
    learn: bool = True,
) -> Iterator[ContextSources]:
    """Open the sources of context; errors as in `connect_model`.

    `[llm.search]` searches the web, `[llm.text]` writes. The mode `if-needed` uses a wiki or search model that is set,
    `always` requires a search model, and asks Wikipedia if no wiki is set. With the `model` None the passage is written
    if `[llm.text]` is set and answers; True requires it.
    """
    from cli.common.language_models import connect_model
    from kb.lookup.context_settings import ContextSources

    with ExitStack() as stack:

        def connect(kind: str, is_wanted: bool | None) -> Connection | None:
            if not (kind in settings.llm if is_wanted is None else is_wanted):
                return None
            return stack.enter_context(connect_model(settings, kind, budget=budget, offline=offline))

        explainer = _wiki_terms(settings, stack, wiki=False if offline else IS_WANTED[context.wiki])
        search, chat = connect("search", IS_WANTED[context.web]), connect("text", model)
        yield ContextSources(
            settings=context,
            wiki=explainer,
            search=search,
            chat=chat,
            require_chat=model is True,
            prompts=settings.prompts,
            learn=learn,
        )


def wiki_login(settings: Settings) -> tuple[str, str] | None:
    """Return user name and bot password for the wiki of `api_url`, the only one that may get them; None without both.

    Raises:
        MissingRequirement: for a user without a password.
    """
    if not (settings.wiki_user and settings.api_url):
        return None
    if not (password := os.environ.get(WIKI_PASSWORD)):
        hint = f"export {WIKI_PASSWORD}='...' with the bot password of {settings.wiki_user}."
        raise MissingRequirement(f"wiki_user is set, but {WIKI_PASSWORD} is not.", hint=hint)
    hide(password)
    return settings.wiki_user, password


def _wiki_terms(settings: Settings, stack: ExitStack, *, wiki: bool | None) -> WikiTerms | None:
    if not (settings.api_url is not None if wiki is None else wiki):
        return None
    from kb.lookup.wiki_terms import WikiTerms
    from kb.sources.mediawiki.wiki_client import WikiClient
    from kb.sources.mediawiki.wiki_source import WikipediaSource

    language, login = settings.language or "en", wiki_login(settings)
    source = WikipediaSource(WikiClient(settings.api_url, contact=settings.contact, language=language, login=login))
    stack.callback(source.close)
    return WikiTerms(source)


def make_recognizer(store: KnowledgeBase, *, fast: bool = False, **settings: Any) -> Recognizer:  # noqa: ANN401
    """Return the recognizer of a knowledge base, with the settings of `Recognizer`; with `fast` it looks for no birds.

    Raises:
        SpaceMismatch: if the knowledge base was built with other encoders.
        StoreError: if its calibration is unreadable.
    """
    import recognize

    encoders = encoders_of(store)
    made = recognize.Recognizer(
        store, replace(encoders, detector=None, observer=None) if fast else encoders, **settings
    )
    if made.misfit:
        instead = "Answers have no confidence" if made.calibration is None else "Confidence is estimated"
        note(f"{instead}: the calibration of this knowledge base {made.misfit}; run kb calibrate")
    return made


def occurrence_model(path: Path | None, *, is_needed: bool) -> OccurrenceModel | None:
    """Return the model of where and when birds are reported; None if its extra is not installed and it is not needed.

    Raises:
        MissingDependency: if it is needed, or `path` names another one, and the extra is not installed.
        BadInput: for a file that is no such model.
    """
    from recognize.confidence.place import OccurrenceModel

    try:
        return OccurrenceModel(path)
    except MissingDependency:
        if is_needed or path is not None:
            raise
        return None


def context_look_up(store: KnowledgeBase, sources: ContextSources | None = None) -> Callable[[str], Context]:
    """Return a thread-safe function from a query to its context, by default from the knowledge base alone."""
    from kb.lookup.context import context
    from kb.lookup.context_settings import ContextSources

    encoder, sources = load_encoders(store.info.profile).sentence, sources or ContextSources()
    return lambda query: context(store, query, encoder, sources)


def query_parts(store: KnowledgeBase) -> Callable[[str], list[QueryPart]]:
    """Return a thread-safe function from a query to the names in it."""
    from kb.lookup.findings import query_parts as parts_of

    turn = Lock()

    def parts(query: str) -> list[QueryPart]:
        with turn:
            return parts_of(store, query)

    return parts


def species_scorer(store: KnowledgeBase, *, on_photo: Callable[[int], None] = lambda _: None) -> SpeciesScorer:
    """Return the scorer of photos for species of the knowledge base; its recognizer is made on first use."""
    from recognize.scorer import RecognizerScorer

    def make() -> Recognizer:
        return make_recognizer(store, k=1, min_confidence=MIN_CONFIDENCE, unknown_prior=UNKNOWN_PRIOR)

    return RecognizerScorer(store, make, on_photo=on_photo)
