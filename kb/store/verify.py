"""Verify: prove that ledger, Chroma, files and cache agree, mend what can be mended, and give one digest of it all.

The ledger's entries and vectors are the measure: Chroma and the cache are made from them and can be made again. What is
lost of fetched files cannot; the stage that made it is forgotten, so that the next build does it anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from data.codec import loads
from data.errors import StoreError
from data.files import write_atomic, writer_lock
from data.records import SpeciesEntry, Verification
from data.storage_errors import is_full, storage_error
from data.vectors import read_table
from kb.store.additions import additions
from kb.store.audit import Audit, audit_rows, audit_vectors
from kb.store.calibrations import mend_calibrations
from kb.store.chroma import Collections, Row, damaged_index
from kb.store.knowledge_base import matrix_names, tables_from_chroma, warm_cache
from kb.store.layout import KnowledgeBaseInfo, Layout, info_text
from kb.store.ledger import Entry, Ledger
from kb.store.rows import rows_of, subject_of
from kb.store.stage_outputs import DistilOutput, FetchOutput

INFO = "kb.toml"
"""The fact of the ledger that holds the text of `kb.toml`."""
_BUILD_ANEW = "run the kb build that made it once more; what was added by hand must be added again"


def verify(path: str | Path) -> Verification:
    """Return whether a knowledge base is whole, what was found, what of it was mended, and its digest.

    The digest covers ids, texts, vectors and metadata of all rows, and the hashes of the articles and pictures behind
    them; not times, not runs, not the cache. Two builds from the same pages with the same encoders have the same one.

    Raises:
        MissingKnowledgeBase: if there is none.
        KnowledgeBaseLocked: if a build is running.
        StoreError: if the ledger itself is lost: only a new build can make it.

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
        raise StoreError(f"{layout.ledger} is missing", hint=_BUILD_ANEW)
    with writer_lock(layout.lock):
        ledger = Ledger(layout.ledger)
        try:
            if damage := ledger.problems():
                hint = f"remove {layout.ledger}* and {_BUILD_ANEW}"
                raise StoreError(f"{layout.ledger} is damaged: {damage[0]}", hint=hint)
            return _verify(layout, ledger)
        finally:
            ledger.close()


def keep_info(ledger: Ledger, info: KnowledgeBaseInfo) -> None:
    """Keep a copy of `kb.toml` in the ledger, from which `verify` can write it again."""
    if ledger.fact(INFO) != info_text(info):
        ledger.set_fact(INFO, info_text(info))


def _restore_info(layout: Layout, ledger: Ledger) -> list[str]:
    kept = ledger.fact(INFO)
    if layout.toml.is_file() or kept is None:
        return []
    write_atomic(layout.toml, kept.encode())
    return ["kb.toml was missing, written again from the ledger"]


def _verify(layout: Layout, ledger: Ledger) -> Verification:
    audit = Audit()
    audit.mended.extend(_restore_info(layout, ledger))
    info = layout.require()
    keep_info(ledger, info)
    audit_rows(ledger, audit)
    problems, mended = audit.problems, audit.mended
    problems += [*_unfinished(ledger), *_lost_files(layout, ledger), *mend_calibrations(layout, ledger)]
    was_indexing = ledger.fact("indexing") is not None
    collections = open_or_rebuild(layout, info, ledger, mended)
    try:
        audit_vectors(ledger, collections, audit)
        mended += mend_chroma(ledger, collections, spared=audit.spared)
        if not was_indexing:
            ledger.drop_fact("indexing")
        mended += _mend_cache(layout, ledger, collections)
        digest = _digest(ledger, collections)
    finally:
        collections.close()
    return Verification(
        ok=not problems and not mended, digest=digest, problems=(*problems, *mended), mended=tuple(mended)
    )


def _unfinished(ledger: Ledger) -> Iterator[str]:
    if state := ledger.fact("building"):
        yield f"the last build did not end ({state}); run it again"
    if ledger.fact("updating") is not None:
        yield "the last update did not end; run it again"
    for failure in ledger.failures():
        yield f"{failure.taxon}: {failure.stage} failed: {failure.reason}"


def _lost_files(layout: Layout, ledger: Ledger) -> Iterator[str]:
    """Check every article, text and picture against its hash, and forget the stages of those that are lost."""
    lost: dict[str, list[str]] = {"fetch": [], "distil": [], "anchor": []}
    for key, step in ledger.steps("fetch").items():
        if step.output is not None and not layout.articles.is_whole(loads(FetchOutput, step.output).sha256):
            lost["fetch"].append(key)
    for key, step in ledger.steps("distil").items():
        text = loads(DistilOutput, step.output).text_sha256 if step.output is not None else None
        if text is not None and not layout.articles.is_whole(text):
            lost["distil"].append(key)
    own = _lost_additions(layout, ledger)
    gone = {sha256 for _, _, sha256 in own}
    for entry in ledger.entries("taxon"):
        photos = {anchor.sha256 for anchor in loads(SpeciesEntry, entry.record).anchors} - gone
        if any(sha256 is not None and not layout.anchors.is_whole(sha256) for sha256 in photos):
            lost["anchor"].append(entry.subject_id)
    with ledger.transaction():
        for stage, keys in lost.items():
            ledger.drop_steps(keys, [stage])
    yield from (f"{key}: what you added is missing or damaged ({file}); kb add it again" for key, file, _ in own)
    names = {"fetch": "article", "distil": "text of the article", "anchor": "picture of an anchor"}
    for stage, keys in lost.items():
        for key in keys:
            yield f"{key}: the {names[stage]} is missing or damaged; run kb build again to get it"


def _lost_additions(layout: Layout, ledger: Ledger) -> list[tuple[str, str, str]]:
    """Return subject, file and hash of what a user added and is lost: nobody else can give it again."""
    return [
        (key, name, sha256)
        for key, addition in additions(ledger).items()
        for folder, sha256, name in [
            *((layout.articles, text.sha256, text.source.title) for text in addition.texts),
            *((layout.anchors, anchor.sha256 or "", anchor.file) for anchor in addition.anchors),
        ]
        if not folder.is_whole(sha256)
    ]


def open_or_rebuild(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, mended: list[str]) -> Collections:
    """Return the collections; an embedded Chroma that cannot be read is replaced by an empty one, noted in `mended`.

    Before anything is thrown away the fact `indexing` is set. It belongs to the caller, to drop when all rows are there
    again: a kill until then would leave an empty Chroma with which nothing is wrong.
    """
    if not info.chroma and (damaged := damaged_index(layout.chroma)):
        ledger.set_fact("indexing", "1")
        shutil.rmtree(layout.chroma)
        mended.append(f"Chroma's {damaged} was damaged; Chroma was made anew from the ledger")
        return Collections(layout, info, forget=True)
    try:
        collections = Collections(layout, info)
        for name in collections.names:
            collections.count(name)
            next(collections.read(name), None)
    except Exception as error:  # a damaged Chroma raises whatever its SQLite, its Rust core or its client meet first
        if info.chroma:
            raise
        if is_full(layout.root):  # then nothing is wrong with Chroma, and a new one could not be written either
            raise storage_error(layout.root, error) from error
        ledger.set_fact("indexing", "1")
        shutil.rmtree(layout.chroma, ignore_errors=True)
        mended.append(f"Chroma could not be read and was made anew from the ledger ({type(error).__name__})")
        return Collections(layout, info, forget=True)
    return collections


def mend_chroma(
    ledger: Ledger,
    collections: Collections,
    *,
    spared: Collection[tuple[str, str]] = frozenset(),
) -> list[str]:
    """Make Chroma hold exactly the rows that the ledger's entries stand for; return what had to be mended.

    The rows of `spared` `(collection, subject id)` stay what they are.
    """
    entries = [*ledger.entries("taxon"), *ledger.entries("term")]
    notes = []
    for name, (kind, _) in collections.names.items():
        owners = {row: entry for entry in entries for row in entry.rows.get(name, ())}
        kept = {row for row, entry in owners.items() if (name, entry.subject_id) in spared}
        wrong: dict[str, Entry] = {}
        strangers: list[str] = []
        seen: set[str] = set()
        for page in collections.read(name):
            expected = {
                row.id: row
                for entry in {
                    owners[r.id].subject_id: owners[r.id] for r in page if r.id in owners and r.id not in kept
                }.values()
                for row in rows_of(subject_of(entry), ledger, name, kind)
            }
            seen |= {row.id for row in page}
            strangers += [row.id for row in page if row.id not in expected and row.id not in kept]
            wrong |= {
                owners[row.id].subject_id: owners[row.id]
                for row in page
                if row.id in expected and not _same(row, expected[row.id])
            }
        lost = {owner.subject_id: owner for row, owner in owners.items() if row not in seen and row not in kept}
        if strangers:
            collections.delete(name, strangers)
            notes.append(f"{name}: {len(strangers)} rows that no entry stands for, removed")
        again = {**wrong, **lost}
        # Chroma would keep what metadata a row had and has no more.
        collections.delete(name, [row for entry in wrong.values() for row in entry.rows[name]])
        subjects = [subject_of(entry) for entry in again.values()]
        collections.upsert(name, [row for subject in subjects for row in rows_of(subject, ledger, name, kind)])
        if lost:
            notes.append(f"{name}: rows of {len(lost)} entries were missing, written again")
        if wrong:
            notes.append(f"{name}: rows of {len(wrong)} entries differed from the ledger, written again")
    return notes


def _same(found: Row, expected: Row) -> bool:
    return (
        found.document == expected.document
        and dict(found.metadata) == dict(expected.metadata)
        and np.array_equal(found.vector, expected.vector)
    )


def _mend_cache(layout: Layout, ledger: Ledger, collections: Collections) -> list[str]:
    generation, tables = tables_from_chroma(ledger, collections)
    notes = []
    for name in matrix_names(collections):
        kept = read_table(layout.cache, generation, name)
        if kept is not None and not (
            kept.ids == tables[name].ids
            and np.array_equal(kept.owners, tables[name].owners)
            and np.array_equal(kept.vectors, tables[name].vectors)
        ):
            notes.append(f"cache: {name} differed from Chroma, written again")
    if notes:
        shutil.rmtree(layout.cache, ignore_errors=True)
    warm_cache(layout, ledger, collections)
    return notes


def _digest(ledger: Ledger, collections: Collections) -> str:
    digest = hashlib.sha256()
    for name in sorted(collections.names):
        rows = sorted((row for page in collections.read(name) for row in page), key=lambda row: row.id)
        for row in rows:
            head = json.dumps([name, row.id, row.document, dict(row.metadata)], sort_keys=True, ensure_ascii=False)
            digest.update(head.encode())
            digest.update(np.ascontiguousarray(row.vector, dtype="<f4").tobytes())
    for key, step in sorted(ledger.steps("fetch").items()):
        if step.output is not None:
            digest.update(f"{key} {loads(FetchOutput, step.output).sha256}\n".encode())
    for entry in (*ledger.entries("taxon"), *ledger.entries("term")):
        digest.update(f"{entry.subject_id} {entry.record}\n".encode())
    return digest.hexdigest()
