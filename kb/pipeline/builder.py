"""Build: taxa and a source of articles in, a knowledge base out, in stages that can stop anywhere and go on.

Source: VR-RAG section 3 (article -> summary -> refined summary, visual anchors). Differs: the summary is extractive
unless a language model is given; up to three anchors a species come from the articles alone, never from a benchmark.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from data.contracts import ArticleSource, ChatModel, Encoders
from data.errors import CostStop, SpaceMismatch, UsageError
from data.files import write_atomic, writer_lock
from data.records import STAGES, Progress, Stage, Status, Taxon, Term
from kb.distill.distillers import AnyDistiller, distiller_for
from kb.distill.extractive import ExtractiveDistiller
from kb.distill.model import ModelDistiller
from kb.distill.names import DistillerName
from kb.pipeline.rollback import begun_anew, taken_back_if_vain
from kb.pipeline.stages.anchor import anchor
from kb.pipeline.stages.distil import distil
from kb.pipeline.stages.encode import encode
from kb.pipeline.stages.fetch import fetch
from kb.pipeline.stages.finish import finished
from kb.pipeline.stages.index import index
from kb.pipeline.stages.resolve import Located, located_pages, resolve_taxa, resolve_terms
from kb.pipeline.stages.run import BuildRun
from kb.sources.own import OwnSource
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import SCHEMA_VERSION, KnowledgeBaseInfo, Layout, new_id, write_info
from kb.store.ledger import Ledger, fingerprint
from kb.store.project import collections_at
from kb.store.stage_outputs import FACT, note_origin

ANCHORS_PER_SPECIES = 3  # VR-RAG section 5.2: "up to three images of that species"


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
    anchors_per_species: int = ANCHORS_PER_SPECIES,
    chroma: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Status:
    """Build a knowledge base, or continue a build, and return its contents.

    What is there already is not done again: a page whose revision is known is not fetched, a text that was encoded is
    not encoded. Killed at any moment and called again, it ends where an uninterrupted build would have. Called again
    later, it takes in pages and revisions that are new. A first build that fails before it has looked anything up
    leaves no knowledge base; what one began that got no page is begun anew by a build from another source.

    Args:
        path: the folder; made if need be.
        taxa: the species to look up in the source.
        source: where articles and photos come from.
        encoders: what makes the vectors; a knowledge base keeps to those it was begun with.
        terms: words of the trade: whole `Term`s, or names with an optional page title to look up.
        located: the pages of the taxa where they are known already (a list page, a category); `taxa` is then not asked.
        selection: a name for `located`, since an iterable cannot say what is in it; a resumed build goes by it.
        limit: take at most so many species.
        only: run this stage alone.
        chat: a language model that makes the summaries (a `kb.endpoints.Connection`, say).
        distiller: what makes summaries, or its name; without it the one that the knowledge base was last built with, at
            first the extractive one, or with `chat` the model in one pass.
        anchors_per_species: how many photos a species gets at most.
        chroma: the address of a Chroma server that shall hold the collections, or empty for the folder; a knowledge
            base that has them elsewhere is moved. Without it they stay where they are.
        progress: called at every step of every stage.

    Raises:
        UsageError: if the folder holds something else.
        SpaceMismatch: if the knowledge base was begun with other encoders.
        KnowledgeBaseLocked: if another build is writing to it.
        SourceError: if the source or the Chroma server fails for good; what was done is kept.
        CostStop: when a model's limit of cost is reached; what was distilled by then is in the knowledge base, and the
            next build goes on.
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
    with writer_lock(layout.lock), taken_back_if_vain(layout):
        info = begin(layout, source, encoders)
        ledger = Ledger(layout.ledger)
        try:
            info = collections_at(layout, begun_anew(layout, info, ledger, source), ledger, chroma)
            run = BuildRun(
                layout=layout,
                info=info,
                ledger=ledger,
                source=source,
                encoders=encoders,
                distiller=distiller_for(ledger.fact(FACT), distiller, chat=chat),
                anchors_per_species=anchors_per_species,
                report=progress or (lambda _: None),
            )
            stages = STAGES if only is None else (only,)
            _open_run(ledger, stages)
            if "resolve" in stages:
                chosen = selection or fingerprint([taxon.taxon_id for taxon in taxa])
                resolve_taxa(run, source.locate(taxa) if located is None else located, selection=chosen, limit=limit)
                resolve_terms(run, terms)
            if located_pages(run):  # an update asks those alone that gave something
                note_origin(ledger, source)
            try:
                run_stages(run, stages)
                ledger.drop_fact("building")
            except CostStop as error:
                stopped = error
            ledger.checkpoint()
        finally:
            ledger.close()
        status = status_of(layout)
        write_manifest(layout, run, status, seconds=time.monotonic() - started)
    if stopped is not None:
        raise stopped
    return status


def _open_run(ledger: Ledger, stages: Sequence[Stage]) -> None:
    """Note that a build is on its way: one that did not end goes on with what it looked up, a new one asks anew."""
    with ledger.transaction():
        if ledger.fact("building") is None:
            ledger.drop_facts("resolved:")
        ledger.set_fact("building", ", ".join(stages))
        # Earlier versions counted what nobody had asked for.
        ledger.drop_left_out([name for name, reason, _ in ledger.left_out() if reason == "not asked for"])


def run_stages(run: BuildRun, stages: Sequence[Stage]) -> None:
    """Do what the stages after `resolve` find to do.

    Raises:
        CostStop: after the other stages are done for what could be distilled.
    """
    if "fetch" in stages:
        fetch(run)
    stopped: CostStop | None = None
    if "distil" in stages:
        try:
            distil(run)
        except CostStop as error:
            stopped = error
    if "anchor" in stages:
        anchor(run)
    if {"encode", "index"} & set(stages):
        _publish(run, stages)
    if stopped is not None:
        raise stopped


def _publish(run: BuildRun, stages: Sequence[Stage]) -> None:
    work = finished(run)
    if "encode" in stages:
        encode(run, work)
    if "index" in stages:
        index(run, work)


def begin(layout: Layout, source: ArticleSource, encoders: Encoders) -> KnowledgeBaseInfo:
    """Return what the knowledge base is, begun if there is none yet; only for the holder of the writer's lock.

    Raises:
        SpaceMismatch: if it was begun with other encoders.
    """
    if not layout.toml.exists():
        info = KnowledgeBaseInfo(
            id=new_id(),
            schema=SCHEMA_VERSION,
            profile=encoders.profile,
            source=source.name,
            languages=("en",),
            text_image=tuple(encoder.space for encoder in encoders.text_image),
            visual=encoders.visual.space,
            sentence=encoders.sentence.space,
        )
        write_info(layout.toml, info)
        return info
    info = layout.require()
    if info.spaces != encoders.spaces:
        raise SpaceMismatch(
            expected=info.spaces, given=encoders.spaces, hint=other_profile_hint(layout.root, encoders.profile)
        )
    for folder in (layout.articles, layout.anchors):
        folder.remove_leftovers()
    return info


def profile_to_build(path: Path, wanted: str | None) -> str | None:
    """Return the profile that a build at `path` works with: that of the knowledge base there, else the one wanted.

    Raises:
        UsageError: if a knowledge base of another profile is there.
    """
    layout = Layout(path)
    if not layout.toml.exists():
        return wanted
    own = layout.require().profile
    if wanted not in (None, own):
        raise UsageError(
            f"{path} was built with the profile {own}, expected {wanted}", hint=other_profile_hint(path, wanted)
        )
    return own


def other_profile_hint(path: Path, profile: str | None) -> str:
    """Return the two ways to a knowledge base of another profile than the one at `path`."""
    kb, new = shlex.quote(str(path)), shlex.quote(f"{path.stem}-{profile}.kb")
    bundle = shlex.quote(f"{path.stem}-bundle")
    return (
        f"build another one (kb build --profile {profile} --kb {new} ...), or encode its texts and photos again: "
        f"kb export {bundle} --kb {kb}, then kb import {bundle} --re-encode --profile {profile} --kb {new}"
    )


def run_over_contents(
    layout: Layout,
    info: KnowledgeBaseInfo,
    ledger: Ledger,
    encoders: Encoders,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> BuildRun:
    """Return a run over what the knowledge base holds already: no source is asked, and no model.

    Args:
        layout: where it lies.
        info: contents of its `kb.toml`.
        ledger: open for writing.
        encoders: those that it was built with.
        progress: called at every step.
    """
    return BuildRun(
        layout=layout,
        info=info,
        ledger=ledger,
        source=OwnSource(),
        encoders=encoders,
        distiller=ExtractiveDistiller(),
        anchors_per_species=ANCHORS_PER_SPECIES,
        report=progress or (lambda _: None),
    )


def status_of(layout: Layout) -> Status:
    """Return what the knowledge base holds now."""
    store = KnowledgeBase(layout.root)
    try:
        return store.status()
    finally:
        store.close()


def write_manifest(layout: Layout, run: BuildRun, status: Status, *, seconds: float) -> None:
    """Write what this run did; never a key or a setting that could hold one."""
    ended = datetime.now(UTC)
    counts = {
        name: getattr(status, name) for name in ("species", "articles", "summaries", "chunks", "anchors", "terms")
    }
    manifest = {
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "versions": {name: metadata.version(name) for name in ("fieldmark", "chromadb", "numpy", "pillow")},
        "source": run.source.name,
        "parser": run.source.parser,
        "distiller": run.distiller.name,
        "model": run.distiller.account() if isinstance(run.distiller, ModelDistiller) else None,
        "profile": run.info.profile,
        "spaces": list(run.encoders.spaces),
        "anchors_per_species": run.anchors_per_species,
        "counts": counts,
        "failures": len(status.failures),
        "left_out": dict(status.left_out),
    }
    name = ended.strftime("%Y%m%dT%H%M%S%f")
    write_atomic(layout.runs / f"{name}.json", json.dumps(manifest, indent=1, sort_keys=True).encode())
