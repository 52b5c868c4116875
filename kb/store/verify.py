"""Verification and repair of ledger, Chroma, files and cache, and one digest of the contents.

A damaged ledger is an error with a remedy. Chroma and the cache are filled again from the ledger. For a lost file, the
results of the stage that wrote it are deleted (those of a photo: marked as outdated), and the next build fetches it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from data.batches import grouped
from data.codec import loads
from data.errors import ConfigError, MissingKnowledgeBase, StoreError
from data.files import writer_lock
from data.records import SpeciesEntry, Verification
from data.vectors import files_of, read_table
from kb.checklist.avilist import AVILIST_NAME
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.store.additions import additions
from kb.store.calibrations import mend_calibrations
from kb.store.chroma import Collections
from kb.store.layout import INFO, KnowledgeBaseInfo, Layout, collection_names, parse_info, subject_kind, write_info
from kb.store.ledger import Ledger
from kb.store.project import empty, project
from kb.store.published_texts import TEXTS
from kb.store.rows import rows_of, subject_of, texts_of
from kb.store.stage_outputs import DistilOutput, FetchOutput

_LOST = "is missing or damaged"
GROUP = 1_000  # subjects compared at a time


def verify(path: str | Path) -> Verification:
    """Verify a knowledge base, repair it where possible, and return the problems and its digest.

    The digest covers ids, texts, vectors and metadata of all rows, and the hashes of articles and photos; it does not
    cover times, runs and cache. Builds from the same pages with the same encoders have the same digest.

    Raises:
        MissingKnowledgeBase: if there is no knowledge base at `path`.
        KnowledgeBaseLocked: if another process is writing to it.
        StoreError: if the ledger is missing or damaged.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source = StarterSource()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/terms.kb", [], source, recognize.load_encoders("starter"), terms=source.terms())
        ...     verification = kb.verify(f"{folder}/terms.kb")
        >>> verification.ok, verification.problems
        (True, ())
    """
    layout = Layout(Path(path))
    if not layout.ledger.is_file():
        layout.require()
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger:
        return verify_ledger(layout, ledger)


def lost_files(verification: Verification) -> list[str]:
    """Return the problems with articles, texts and photos, which verification cannot repair."""
    return [problem for problem in verification.problems if _LOST in problem]


def verify_ledger(layout: Layout, ledger: Ledger) -> Verification:
    """Return the same for the holder of the writer's lock."""
    ledger.check()
    mended = _restore_info(layout, ledger)
    info = layout.require()
    problems = [
        *_unfinished(ledger),
        *_lost_files(layout, ledger),
        *_lost_checklist(layout, info),
        *mend_calibrations(layout, ledger),
    ]
    generations = {name: ledger.generation(subject_kind(kind)) for name, (kind, _) in collection_names(info).items()}
    damaged = {
        name
        for name, each in generations.items()
        if files_of(layout.cache, each, name) and read_table(layout.cache, each, name) is None
    }
    mended += project(layout, info, ledger)
    if differing := _differing(layout, info, ledger):
        mended.append(f"Chroma: {differing} differed from the ledger; filled again")
        empty(layout, info, ledger)
        project(layout, info, ledger)
    digest, wrong = digest_of(layout, info, ledger)
    if wrong:
        shutil.rmtree(layout.cache, ignore_errors=True)
        project(layout, info, ledger)
    mended += [f"cache: {name} was damaged; filled again from Chroma" for name in sorted(damaged | wrong)]
    return Verification(
        ok=not problems and not mended, digest=digest, problems=(*problems, *mended), mended=tuple(mended)
    )


def _restore_info(layout: Layout, ledger: Ledger) -> list[str]:
    """Restore a missing or damaged `kb.toml` from the ledger, never the other way round."""
    copied = ledger.fact(INFO)
    if copied is None:
        return []
    good = parse_info(copied, layout.toml)
    with suppress(ConfigError, StoreError, MissingKnowledgeBase):
        found = layout.require()
        good = replace(good, chroma=found.chroma)
        if good == found:
            return []
    write_info(layout.toml, good)
    return ["kb.toml was missing or damaged; restored from the ledger"]


def _differing(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> str | None:
    """Return the name of a collection that differs from the ledger, or None.

    The vectors of an embedded Chroma are covered by its seal; those on a server are compared.
    """
    with closing(Collections(layout, info)) as collections:
        for group in grouped(ledger.entries(), GROUP):
            subjects = [subject_of(entry) for entry in group]
            for name, (kind, _) in collections.names.items():
                expected = {row: text for subject in subjects for row, text in texts_of(subject, kind).items()}
                if collections.texts(name, list(expected)) != expected:
                    return name
                if info.chroma:
                    rows = [row for subject in subjects for row in rows_of(subject, ledger, name, kind)]
                    vectors = collections.vectors(name, list(expected))
                    if any(not np.array_equal(vectors[row.id], row.vector) for row in rows):
                        return name
    return None


def _unfinished(ledger: Ledger) -> Iterator[str]:
    for work in ledger.unfinished():
        yield f"the last {work} did not finish; run it again"
    for failure in ledger.failures():
        yield f"{failure.taxon}: {failure.stage} failed: {failure.reason}"


def _lost_files(layout: Layout, ledger: Ledger) -> Iterator[str]:
    """Compare every article, text and photo with its hash; delete the results of the stages of lost ones.

    Losses that an earlier verification found are reported again.
    """
    fetched, without_page = _texts(layout, ledger, "fetch")
    distilled, without_text = _texts(layout, ledger, "distil")
    resolved = {step.subject_id for step in ledger.each_step("resolve") if step.output}
    with_page = [key for key, _ in ledger.items() if key in resolved]
    lost: dict[str, list[str]] = {
        "fetch": [key for key in with_page if key not in fetched] + without_page,
        "distil": [key for key in with_page if key not in distilled and fetched.get(key, "done") == "done"]
        + without_text,
    }
    lost_photos = list[str]()
    own = _lost_additions(layout, ledger)
    gone = {sha256 for _, _, sha256 in own}
    for entry in ledger.entries("taxon"):
        photos = {anchor.sha256 for anchor in loads(SpeciesEntry, entry.record).anchors} - gone
        if any(sha256 is not None and not layout.anchors.is_whole(sha256) for sha256 in photos):
            lost_photos.append(entry.subject_id)
    with ledger.transaction():
        for stage, keys in lost.items():
            ledger.drop_steps(keys, [stage])
        ledger.outdate_steps(lost_photos, "anchor")  # readers keep the vectors of a lost photo until a build
        ledger.drop_steps(lost["distil"], [TEXTS])  # readers show the summary without its evidence until a build
    yield from (f"{key}: your {file} {_LOST}; add it again with kb add" for key, file, _ in own)
    names = {"fetch": "article", "distil": "text of the article", "anchor": "reference photo"}
    for stage, keys in {**lost, "anchor": lost_photos}.items():
        for key in keys:
            yield f"{key}: the {names[stage]} {_LOST}; kb build fetches it again"


def _texts(layout: Layout, ledger: Ledger, stage: Literal["fetch", "distil"]) -> tuple[dict[str, str], list[str]]:
    statuses: dict[str, str] = {}
    lost = []
    for step in ledger.each_step(stage):
        statuses[step.subject_id] = step.status
        if step.output is None:
            continue
        is_page = stage == "fetch"
        sha256 = loads(FetchOutput, step.output).sha256 if is_page else loads(DistilOutput, step.output).text_sha256
        if sha256 is not None and not layout.articles.is_whole(sha256):
            lost.append(step.subject_id)
    return statuses, lost


def _lost_checklist(layout: Layout, info: KnowledgeBaseInfo) -> Iterator[str]:
    """Read the kept checklist as a whole; AviList and a wiki have none."""
    if not info.checklist_digest or info.checklist.lower().startswith(AVILIST_NAME):
        return
    problem = "is missing"
    if layout.checklist.is_file():
        try:
            with closing(StoredChecklist(layout.checklist)) as kept:
                problem = "" if kept.digest == info.checklist_digest else f"is that of {kept.name}"
        except StoreError:
            problem = "is damaged"
    if problem:
        again = f"kb build --checklist FILE --kb {layout.root} keeps it again"
        yield f"the checklist {info.checklist} {problem}; {again}"


def _lost_additions(layout: Layout, ledger: Ledger) -> list[tuple[str, str, str]]:
    return [
        (key, name, sha256)
        for key, addition in additions(ledger).items()
        for folder, sha256, name in [
            *((layout.articles, text.sha256, text.source.title) for text in addition.texts),
            *((layout.anchors, anchor.sha256 or "", anchor.file) for anchor in addition.anchors),
        ]
        if not folder.is_whole(sha256)
    ]


def digest_of(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> tuple[str, set[str]]:
    """Return the digest of ids, texts, vectors and metadata, and the names of matrices in the cache that differ."""
    digest = hashlib.sha256()
    wrong: set[str] = set()
    for name, (kind, _) in collection_names(info).items():
        generation = ledger.generation(subject_kind(kind))
        table = read_table(layout.cache, generation, name) if kind in ("chunks", "anchors") else None
        row = 0
        wanted = ((key, held[kind]) for key, held in ledger.items(subject_kind(kind)) if held.get(kind))
        for subject_id, items, matrix in ledger.vectors.matrices(name, wanted):
            digest.update(json.dumps([name, subject_id, items], ensure_ascii=False).encode())
            digest.update(matrix.tobytes())
            rows = slice(row, row + len(items))
            if table is not None and not (
                table.ids[rows] == tuple(items) and np.array_equal(table.vectors[rows], matrix)
            ):
                wrong.add(name)
            row += len(items)
    for key, page in ledger.each_output("fetch", FetchOutput):  # sorted
        digest.update(f"{key} {page.sha256}\n".encode())
    for entry in ledger.entries():
        digest.update(f"{entry.subject_id} {entry.record}\n".encode())
    return digest.hexdigest(), wrong
