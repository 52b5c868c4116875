"""Build: taxa and a source of articles in, a knowledge base out, in resumable stages.

Source: VR-RAG section 3 (article -> summary -> refined summary, visual anchors). Differs: the summary is extractive
unless a language model is given; up to three anchors a species come from the articles alone, never from a benchmark.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from data.codec import loads
from data.contracts import ChatModel, Checklist, Encoders
from data.engines.contract import LOCAL, Engine
from data.errors import CostStop, FieldmarkError, SpaceMismatch, UsageError
from data.files import write_atomic, writer_lock
from data.records import STAGES, Progress, Stage, Status, Taxon, Term
from fieldmark import fieldmark_version
from kb.checklist.wiki_checklist import WithTaxoboxes
from kb.distill import DistillerName
from kb.distill.distillers import AnyDistiller, distiller_for
from kb.distill.model import ModelDistiller
from kb.pipeline.settings import DEFAULTS, BuildSettings
from kb.pipeline.stages.anchor import anchor
from kb.pipeline.stages.distil import distil
from kb.pipeline.stages.encode import encode
from kb.pipeline.stages.fetch import add_page_titles, fetch, fetched_pages, settle_groups
from kb.pipeline.stages.index import assemble, index
from kb.pipeline.stages.resolve import Located, resolve_taxa, resolve_terms
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import ArticleSource
from kb.store.generations import moved_to
from kb.store.knowledge_base import KnowledgeBase
from kb.store.layout import KnowledgeBaseInfo, Layout, keep_info, new_info, write_info
from kb.store.ledger import Ledger, fingerprint, ledger_so_far
from kb.store.stage_outputs import FACT, additions, note_empty_pages, note_origin, removed


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
        restart_if_empty(layout, source)
        info = begin(layout, source, encoders)
        with closing(Ledger(layout.ledger, create=True)) as ledger:
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


def begin(layout: Layout, source: ArticleSource, encoders: Encoders) -> KnowledgeBaseInfo:
    """Return the contents of `kb.toml`, written first for a new knowledge base; needs the writer's lock."""
    layout.remove_leftovers()
    if not layout.toml.exists():
        info = new_info(encoders, source=source.name)
        write_info(layout.toml, info)
        return info
    info = layout.require()
    if info.spaces != encoders.spaces:
        raise SpaceMismatch(
            expected=info.spaces, given=encoders.spaces, hint=_other_profile_hint(layout.root, encoders.profile)
        )
    return info


def profile_to_build(path: Path, wanted: str | None) -> str | None:
    """Return the profile of the knowledge base at `path`, or `wanted` if there is none."""
    own = Layout(path).profile
    if own is not None and wanted not in (None, own):
        raise UsageError(
            f"{path} was built with the profile {own}, expected {wanted}.", hint=_other_profile_hint(path, wanted)
        )
    return own or wanted


def _other_profile_hint(path: Path, profile: str | None) -> str:
    kb, new = shlex.quote(str(path)), shlex.quote(f"{path.stem}-{profile}.kb")
    bundle = shlex.quote(f"{path.stem}-bundle")
    return (
        f"Build another one (kb build --profile {profile} --kb {new} ...), or encode its texts and photos again: "
        f"kb export {bundle} --kb {kb}, then kb import {bundle} --re-encode --profile {profile} --kb {new}"
    )


@contextmanager
def rolled_back_if_empty(layout: Layout) -> Iterator[None]:
    """Remove a new knowledge base if its first build or addition fails before any content; needs the writer's lock."""
    is_first = not layout.toml.exists()
    try:
        yield
    except BaseException:
        if is_first:
            with suppress(OSError, FieldmarkError):  # the user must see the error of the build
                _roll_back(layout)
        raise


def restart_if_empty(layout: Layout, source: ArticleSource) -> None:
    """Begin the ledger anew if no source has given anything yet and another source is to fill the knowledge base.

    `kb.toml` keeps the language, checklist and Chroma server. Fetched pages, additions, removals and the completed
    look-ups of `--only resolve` stand against it.
    """
    if not layout.toml.exists() or (info := layout.require()).source == source.name:
        return
    with ledger_so_far(layout.ledger) as ledger:
        if ledger is not None and _has_contents(ledger):
            return
    if ledger is not None:
        _drop_ledger(layout)
    write_info(layout.toml, replace(info, source=source.name))


def _has_contents(ledger: Ledger) -> bool:
    fetches = ledger.steps("fetch").values()
    is_resolved = any(step.status == "done" for step in ledger.steps("resolve").values())
    return bool(
        any(step.status == "done" for step in fetches)
        or (is_resolved and not fetches and ledger.fact("building") is None)
        or next(ledger.entries(), None) or additions(ledger) or removed(ledger)
    )  # fmt: skip


def _drop_ledger(layout: Layout) -> None:
    for path in sorted(layout.root.glob(f"{layout.ledger.name}*")):
        path.unlink()


def _roll_back(layout: Layout) -> None:
    """Delete a knowledge base of which only `kb.toml`, an empty ledger and a checklist exist."""
    own = {path.name for path in (layout.lock, layout.toml, layout.checklist)}
    own |= {layout.ledger.name + end for end in ("", "-wal", "-shm")}
    # Collections on a server are only found by the id in `kb.toml`; any other file is content.
    if layout.require().chroma or any(path.name not in own for path in layout.root.iterdir()):
        return
    with ledger_so_far(layout.ledger) as ledger:
        if ledger is not None and (ledger.subjects("taxon") or ledger.subjects("term") or ledger.left_out()):
            return
    _drop_ledger(layout)
    # `kb.toml` last: a ledger without it would be a damaged knowledge base.
    layout.checklist.unlink(missing_ok=True)
    layout.toml.unlink()


def note_names(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, checklist: Checklist | None, language: str | None
) -> KnowledgeBaseInfo:
    """Return `info` with checklist and language of this build, where they are given, and record them."""
    noted = info
    if checklist is not None:
        name, digest = checklist.name, checklist.digest
        if isinstance(checklist, WithTaxoboxes):
            name, digest = checklist.recorded_for([loads(Taxon, each) for each in ledger.subjects("taxon").values()])
        noted = replace(info, checklist=name, checklist_digest=digest)
    if language is not None:
        noted = replace(noted, languages=(language, *(each for each in info.languages if each not in (language, "en"))))
    if noted == info:
        return info
    write_info(layout.toml, noted)
    with ledger.transaction():
        keep_info(ledger, noted)
    return noted
