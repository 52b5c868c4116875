"""Build: taxa and a source of articles in, a knowledge base out, in resumable stages.

Source: VR-RAG section 3 (article -> summary -> refined summary, visual anchors). Differs: the summary is extractive
unless a language model is given; up to three anchors a species come from the articles alone, never from a benchmark.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from data.contracts import ChatModel, Checklist, Encoders
from data.engines.contract import LOCAL, Engine
from data.errors import CostStop
from data.files import write_atomic, writer_lock
from data.records import STAGES, Progress, Stage, Status, Taxon, Term
from fieldmark import fieldmark_version
from kb.checklist.wiki_checklist import WithTaxoboxes
from kb.distill.distiller_names import DistillerName
from kb.distill.distillers import AnyDistiller, distiller_for
from kb.distill.model import ModelDistiller
from kb.pipeline.begin import begin, note_names, restart_if_empty, rolled_back_if_empty
from kb.pipeline.settings import DEFAULTS, BuildSettings
from kb.pipeline.stages.anchor import anchor
from kb.pipeline.stages.assemble import assemble
from kb.pipeline.stages.distil import distil
from kb.pipeline.stages.encode import encode
from kb.pipeline.stages.fetch import add_page_titles, fetch, fetched_pages
from kb.pipeline.stages.group_articles import settle_groups
from kb.pipeline.stages.index import index
from kb.pipeline.stages.resolve import Located, resolve_taxa, resolve_terms
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import ArticleSource
from kb.store.additions import note_empty_pages
from kb.store.generations import moved_to
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import Layout
from kb.store.ledger import Ledger, fingerprint
from kb.store.stage_outputs import FACT, note_origin


# Long: more than half of it documents the parameters.
def build(
    path: str | Path,
    taxa: Sequence[Taxon],
    source: ArticleSource,
    encoders: Encoders,
    *,
    terms: Sequence[Term | tuple[str, str | None]] = (),
    located: Iterable[Located] | None = None,
    selection: str = "",
    limit: int | None = None,
    only: Stage | None = None,
    chat: ChatModel | None = None,
    distiller: AnyDistiller | DistillerName | None = None,
    settings: BuildSettings = DEFAULTS,
    checklist: Checklist | None = None,
    language: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    engine: Engine = LOCAL,
) -> Status:
    """Build a knowledge base, or continue a build, and return its contents.

    Finished work is not repeated: a known revision is not fetched, an encoded text is not encoded. A build that is
    killed and called again ends like an uninterrupted one; a later call takes in new pages and revisions. A first build
    that fails before any look-up leaves no knowledge base, and one without any page can be restarted from another
    source.

    Args:
        path: the folder, created if it does not exist.
        taxa: the species to look up in the source.
        source: the source of articles and photos.
        encoders: the encoders, the same for every build of a knowledge base.
        terms: whole `Term`s, or names with an optional page title to look up.
        located: pages of taxa that are already known (from a list page or a category), instead of `taxa`.
        selection: a name of `located`, by which an interrupted build recognises it.
        limit: largest number of species.
        only: run this stage alone.
        chat: a language model for the summaries, such as a `kb.endpoints.chat.Connection`.
        distiller: a distiller or its name; by default extractive, until a build chooses another, or the model in one
            pass if `chat` is given.
        settings: further settings.
        checklist: the checklist that gave the taxa; it is recorded, and kept for later builds.
        language: code of the language whose names come first, which is recorded; by default that of earlier builds.
        progress: called at every step of every stage.
        engine: where texts and photos are encoded.

    Raises:
        UsageError: if the folder holds something else.
        SpaceMismatch: if the knowledge base has other encoders.
        KnowledgeBaseLocked: if another process is writing to it.
        SourceError: if the source or the Chroma server fails for good; finished work is kept.
        CostStop: if the cost limit of a model is reached; finished summaries are in the knowledge base, and the next
            build continues.
        MissingRequirement: if the knowledge base was distilled by a model, and none is given.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source = StarterSource(with_vectors=False)
        >>> owls = [taxon for taxon in source.taxa() if taxon.common_name in ("Snowy Owl", "Western Barn Owl")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     status = kb.build(f"{folder}/owls.kb", owls, source, recognize.load_encoders("starter"))
        >>> status.species, status.failures
        (2, ())
    """
    layout = Layout(Path(path))
    layout.claim()
    started = time.monotonic()
    stopped: CostStop | None = None
    with writer_lock(layout.lock), rolled_back_if_empty(layout):
        info = begin(layout, source, encoders)
        with closing(Ledger(layout.ledger, create=True)) as ledger:
            info = restart_if_empty(layout, info, ledger, source)
            info = note_names(layout, info, ledger, checklist, language)
            run = BuildRun(
                layout=layout,
                info=moved_to(layout, info, ledger, settings.chroma_address),
                ledger=ledger,
                source=source,
                encoders=encoders,
                distiller=distiller_for(ledger.fact(FACT), distiller, chat=chat),
                settings=settings,
                progress=progress,
                engine=engine,
            )
            stages = STAGES if only is None else (only,)
            with ledger.transaction():
                if ledger.fact("building") is None:  # an interrupted build keeps its look-ups, a new one repeats them
                    ledger.drop_facts("resolved:")
                ledger.set_fact("building", ", ".join(stages))
            if "resolve" in stages:
                chosen = selection or fingerprint([taxon.taxon_id for taxon in taxa])
                resolve_taxa(run, source.locate(taxa) if located is None else located, selection=chosen, limit=limit)
                if checklist is not None:
                    from kb.checklist.shelf import keep

                    keep(checklist, layout.checklist)
                resolve_terms(run, terms)
            if isinstance(checklist, WithTaxoboxes):  # which records the taxoboxes where they named a species
                run = replace(run, info=note_names(layout, run.info, ledger, checklist, language))
            try:
                run_stages(run, stages)
                ledger.drop_fact("building")
            except CostStop as error:
                stopped = error
            if fetched_pages(run):  # an update asks only the sources of pages
                note_origin(ledger, source)
            ledger.checkpoint()
        status = write_manifest(run, seconds=time.monotonic() - started)
    if stopped is not None:
        raise stopped
    return status


def run_stages(run: BuildRun, stages: Sequence[Stage]) -> None:
    """Do the missing work of the stages after `resolve`.

    Raises:
        CostStop: once the other stages are done for the finished summaries.
    """
    stopped: CostStop | None = None
    if "fetch" in stages:
        fetch(run)
        settle_groups(run)
        add_page_titles(run)
    if "distil" in stages:
        try:
            distil(run)
        except CostStop as error:
            stopped = error
        note_empty_pages(run.ledger)
    if "anchor" in stages:
        anchor(run)
    if {"encode", "index"} & set(stages):
        subjects, failed = assemble(run), set[str]()
        if "encode" in stages:
            failed = encode(run, subjects)
        index(run, subjects, failed=failed, is_encoding_alone="index" not in stages)
    if stopped is not None:
        raise stopped


def write_manifest(run: BuildRun, *, seconds: float) -> Status:
    """Write the manifest of a finished run, never with a key, and return the contents of the knowledge base."""
    with closing(KnowledgeBase(run.layout.root)) as store:
        status = store.status()
    ended = datetime.now(UTC)
    counted = ("species", "articles", "summaries", "chunks", "anchors", "terms")
    manifest = {
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "versions": {
            "fieldmark": fieldmark_version(),
            **{name: metadata.version(name) for name in ("chromadb", "numpy", "pillow")},
        },
        "source": run.source.name,
        "parser": run.source.parser,
        "distiller": run.distiller.name,
        "model": run.distiller.account() if isinstance(run.distiller, ModelDistiller) else None,
        "profile": run.info.profile,
        "spaces": list(run.encoders.spaces),
        "anchors_per_species": run.settings.anchors_per_species,
        "counts": {name: getattr(status, name) for name in counted},
        "failures": len(status.failures),
        "left_out": dict(status.left_out),
    }
    name = ended.strftime("%Y%m%dT%H%M%S%f")
    write_atomic(run.layout.runs / f"{name}.json", json.dumps(manifest, indent=1, sort_keys=True).encode())
    return status
