"""Verification: ledger, Chroma, files and cache agree, or are made to, and one digest of it all.

A damaged ledger is an error, with the remedy. Chroma and the cache are filled again from it. Lost files are fetched
again by the next build, since the stages that made them are forgotten.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from data.codec import loads
from data.errors import ConfigError, MissingKnowledgeBase, StoreError
from data.files import writer_lock
from data.records import SpeciesEntry, Verification
from data.vectors import read_table, tables_of
from kb.store.additions import additions
from kb.store.calibrations import mend_calibrations
from kb.store.chroma import Collections
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names, parse_info, write_info
from kb.store.ledger import Ledger
from kb.store.project import INFO, empty, project
from kb.store.rows import rows_of, subject_of
from kb.store.stage_outputs import DistilOutput, FetchOutput

_BUILD_AGAIN = "run the kb build that made it again; what was added by hand must be added again"
GROUP = 1_000  # subjects read at a time


def verify(path: str | Path) -> Verification:
    """Verify a knowledge base, repair it where possible, and return the problems and its digest.

    The digest covers ids, texts, vectors and metadata of all rows, and the hashes of the articles and pictures behind
    them; not times, not runs, not the cache. Two builds from the same pages with the same encoders have the same one.

    Raises:
        MissingKnowledgeBase: if there is none.
        KnowledgeBaseLocked: if a build is running.
        StoreError: if the ledger is damaged; the hint names the remedy.

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
        raise StoreError(f"{layout.ledger} is missing", hint=_BUILD_AGAIN)
    with writer_lock(layout.lock):
        if not layout.ledger.stat().st_size:
            raise StoreError(f"{layout.ledger} is empty", hint=_BUILD_AGAIN)
        with closing(Ledger(layout.ledger)) as ledger:
            ledger.check()
            return _verify(layout, ledger)


def _restore_info(layout: Layout, ledger: Ledger) -> list[str]:
    """Write `kb.toml` again from the ledger's copy where it is missing or damaged, never the other way round."""
    kept = ledger.fact(INFO)
    if kept is None:
        return []
    try:
        found: KnowledgeBaseInfo | None = layout.require()
    except (ConfigError, StoreError, MissingKnowledgeBase):
        found = None
    good = parse_info(kept, layout.toml)
    if found is not None and replace(good, chroma=found.chroma) == found:
        return []
    write_info(layout.toml, good if found is None else replace(good, chroma=found.chroma))
    return ["kb.toml was missing or damaged; restored from the ledger"]


def _verify(layout: Layout, ledger: Ledger) -> Verification:
    mended = _restore_info(layout, ledger)
    info = layout.require()
    problems = [*_unfinished(ledger), *_lost_files(layout, ledger), *mend_calibrations(layout, ledger)]
    damaged = _damaged_tables(layout, ledger)
    mended += project(layout, info, ledger)
    if differing := _differing(layout, info, ledger):
        mended.append(f"{differing} differed from the ledger; Chroma was filled again")
        empty(layout, info, ledger)
        project(layout, info, ledger)
    digest, wrong = _digest(layout, info, ledger)
    if wrong:
        shutil.rmtree(layout.cache, ignore_errors=True)
        project(layout, info, ledger)
    mended += [f"cache: {name} was damaged; read from Chroma again" for name in sorted(damaged | wrong)]
    return Verification(
        ok=not problems and not mended, digest=digest, problems=(*problems, *mended), mended=tuple(mended)
    )


def _damaged_tables(layout: Layout, ledger: Ledger) -> set[str]:
    """Return the matrices of the present state that the cache should hold and that cannot be read whole."""
    generation = ledger.generation()
    return {name for name in tables_of(layout.cache, generation) if read_table(layout.cache, generation, name) is None}


def _differing(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> str | None:
    """Return the name of a collection that is not what the ledger says, or None.

    The vectors of an embedded Chroma are proved by its seal; those on a server are read.
    """
    with closing(Collections(layout, info)) as collections:
        for name, (kind, _) in collections.names.items():
            entries = ledger.entries("term" if kind == "terms" else "taxon")
            for start in range(0, len(entries), GROUP):
                group = (subject_of(entry) for entry in entries[start : start + GROUP])
                rows = {row.id: row for subject in group for row in rows_of(subject, ledger, name, kind)}
                texts = collections.texts(name, list(rows))
                if texts != {key: (row.document, row.metadata) for key, row in rows.items()}:
                    return name
                vectors = collections.vectors(name, list(rows)) if info.chroma else {}
                if any(not np.array_equal(vector, rows[key].vector) for key, vector in vectors.items()):
                    return name
    return None


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


def _digest(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> tuple[str, set[str]]:
    """Return the digest of what the ledger holds, and the matrices of the cache that hold something else.

    Raises:
        StoreError: if the ledger lacks a vector.
    """
    digest = hashlib.sha256()
    wrong: set[str] = set()
    for name, (kind, _) in collection_names(info).items():
        entries = ledger.entries("term" if kind == "terms" else "taxon")
        table = read_table(layout.cache, ledger.generation(), name) if kind in ("chunks", "anchors") else None
        held = ledger.all_vectors(name)
        row = 0
        for entry in entries:
            items = entry.items.get(kind, [])
            if not items:
                continue
            vectors = next((found for key, found in held if key == entry.subject_id), {})
            if lost := [item for item in items if item not in vectors]:
                raise ledger.damaged(f"it has no vector of {lost[0]} of {entry.subject_id} in {name}")
            digest.update(json.dumps([name, entry.subject_id, items], ensure_ascii=False).encode())
            matrix = np.stack([vectors[item] for item in items])
            digest.update(matrix.tobytes())
            if table is not None and not (
                table.ids[row : row + len(items)] == tuple(items)
                and np.array_equal(table.vectors[row : row + len(items)], matrix)
            ):
                wrong.add(name)
            row += len(items)
    for key, step in sorted(ledger.steps("fetch").items()):
        if step.output is not None:
            digest.update(f"{key} {loads(FetchOutput, step.output).sha256}\n".encode())
    for entry in ledger.all_entries():
        digest.update(f"{entry.subject_id} {entry.record}\n".encode())
    return digest.hexdigest(), wrong
