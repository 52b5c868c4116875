"""Several profiles in one knowledge base: vectors of other encoders beside those that it was built with.

Texts and photos are there already, so nothing is fetched or distilled, and nothing that has a vector is encoded again.
What the first profile sees, and how it ranks, stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from data.codec import dumps
from data.contracts import Encoders, TextEncoder
from data.errors import SpaceMismatch, UsageError
from data.files import writer_lock
from data.records import Chunk, Progress, Span, SpeciesEntry, Status
from kb.distill.chunk import pack_chunks
from kb.pipeline.builder import run_over_contents, status_of, write_manifest
from kb.pipeline.publishing import publishing
from kb.pipeline.stages.encode import encode
from kb.pipeline.stages.index import index_added
from kb.pipeline.stages.run import BuildRun, grouped
from kb.store.layout import AddedProfile, KnowledgeBaseInfo, Layout, write_info
from kb.store.ledger import Ledger, Step
from kb.store.rows import Subject, subject_of
from kb.store.views import STAGE, Cut, Views, cut_mark

GROUP = 256  # subjects a transaction


def add_profile(path: str | Path, encoders: Encoders, *, progress: Callable[[Progress], None] | None = None) -> Status:
    """Give a knowledge base the vectors of one more profile, or those that it lacks of it, and return what it holds.

    Every text and anchor that has no vector in a space of the profile is encoded, and nothing else. Spaces that are
    there already, in whatever profile, are shared. Killed at any moment and called again, it goes on. After the
    knowledge base has changed it is called again: until then the changed species are not in this profile, and
    `Status.behind` counts them.

    Args:
        path: the knowledge base.
        encoders: the profile; asked with `kb.open(path, profile=encoders.profile)`.
        progress: called at every step.

    Raises:
        MissingKnowledgeBase: if there is none.
        UsageError: if it was built with this profile: builds and updates look after that one.
        SpaceMismatch: if it has a profile of that name with other encoders.
        KnowledgeBaseLocked: if another process is writing to it.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, plain = StarterSource(with_vectors=False), recognize.load_encoders("plain")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/a.kb", source.drawn_taxa()[:1], source, recognize.load_encoders("starter"))
        ...     status = kb.add_profile(f"{folder}/a.kb", plain)
        ...     with kb.open(f"{folder}/a.kb", profile="plain") as store:
        ...         n_rows = len(store.anchor_vectors(plain.visual.space).ids)
        >>> status.behind, n_rows
        ({'plain': 0}, 3)
    """
    layout = Layout(Path(path))
    layout.require()
    started = time.monotonic()
    with writer_lock(layout.lock):
        info, added = _noted(layout, encoders)
        with closing(Ledger(layout.ledger)) as ledger:
            run = run_over_contents(layout, info, ledger, encoders, progress=progress, profile=added.profile)
            views = Views(info, ledger)
            subjects = [subject_of(entry) for entry in (*ledger.entries("taxon"), *ledger.entries("term"))]
            _cut(run, views, added, subjects)
            encode(run, [views.of_profile(added.profile, subject) for subject in subjects])
            with publishing(run) as collections:
                index_added(run, collections)
            ledger.checkpoint()
        status = status_of(layout)
        write_manifest(layout, run, status, seconds=time.monotonic() - started)
    return status


def _noted(layout: Layout, encoders: Encoders) -> tuple[KnowledgeBaseInfo, AddedProfile]:
    """Return what the knowledge base is and the profile of these encoders in it, noted there if it is new."""
    info = layout.require()
    if info.spaces == encoders.spaces:
        hint = "kb build and kb update bring its vectors up to date"
        raise UsageError(f"{layout.root} was built with the profile {info.profile}", hint=hint)
    for held in info.views():
        if held.profile == encoders.profile and held.spaces != encoders.spaces:
            raise SpaceMismatch(expected=held.spaces, given=encoders.spaces)
        if held.profile != encoders.profile and held.spaces == encoders.spaces:
            raise UsageError(f"{layout.root} has these encoders already, as the profile {held.profile}")
    for added in info.added:
        if added.profile == encoders.profile:
            return info, added
    spaces = tuple(encoder.space for encoder in encoders.text_image)
    cuts = {info.cut_of(held.profile) for held in info.views() if set(held.text_image) & set(spaces)}
    if len(cuts) > 1:
        raise UsageError(
            f"{encoders.profile} shares encoders with profiles that cut summaries in different ways: "
            f"{', '.join(sorted(cuts))}",
            hint="build a knowledge base of its own for it",
        )
    added = AddedProfile(
        profile=encoders.profile,
        text_image=spaces,
        visual=encoders.visual.space,
        sentence=encoders.sentence.space,
        cut=next(iter(cuts), encoders.profile),
    )
    info = replace(info, added=(*info.added, added))
    write_info(layout.toml, info)
    return info, added


def _cut(run: BuildRun, views: Views, added: AddedProfile, subjects: Sequence[Subject]) -> None:
    """Note the chunks of every summary that is not cut for the profile yet, or that its chunks are too long for it."""
    done = run.ledger.steps(STAGE, added.profile)
    species = [subject for subject in subjects if isinstance(subject, SpeciesEntry) and subject.summary is not None]
    todo = [
        entry
        for entry in species
        if not _is_done(done.get(entry.taxon.taxon_id), cut_mark(entry))
        # Chunks of another profile that is behind itself are not there to be read yet.
        and (added.cut == added.profile or views.chunks(added.cut, entry))
    ]
    for group in grouped(todo, GROUP):
        steps = [_step(run, views, added, entry) for entry in group]
        with run.ledger.transaction():
            run.ledger.record(steps)


def _is_done(step: Step | None, mark: str) -> bool:
    return step is not None and step.status == "done" and step.fingerprint == mark


def _step(run: BuildRun, views: Views, added: AddedProfile, entry: SpeciesEntry) -> Step:
    """Return the row of a species in the stage `cut`."""
    key, summary = entry.taxon.taxon_id, entry.summary
    step = Step(subject_id=key, stage=STAGE, space=added.profile, fingerprint=cut_mark(entry))
    if summary is None or added.cut != added.profile:
        error = _too_long(views.chunks(added.cut, entry), run.encoders.text_image)
        return replace(step, status="failed" if error else "done", error=error)
    chunks = pack_chunks(summary, key, run.encoders.text_image)
    spans = tuple(Span(start=chunk.start, end=chunk.end) for chunk in chunks)
    return replace(step, output=dumps(Cut(spans=spans)))


def _too_long(chunks: Sequence[Chunk], encoders: Sequence[TextEncoder]) -> str | None:
    """Return which chunk, cut for others, an encoder would not read whole; nothing is cut off in silence."""
    for chunk in chunks:
        for encoder in encoders:
            n = encoder.count_tokens(chunk.text)
            if encoder.max_tokens is not None and n > encoder.max_tokens:
                return f"a chunk of {n} tokens is longer than {encoder.name} reads ({encoder.max_tokens})"
    return None
