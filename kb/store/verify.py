"""Verification and repair of ledger, Chroma, matrices and files, and one digest of the contents.

A damaged ledger is an error with a remedy. Chroma and the matrices are filled again from each other. For a lost file,
the results of its stage are deleted (those of a photo: marked as outdated), and the next build fetches it.
"""

from __future__ import annotations

import hashlib
import json
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
from kb.checklist.avilist import AVILIST_NAME
from kb.checklist.stored.stored_checklist import StoredChecklist
from kb.store.chroma import Chroma
from kb.store.generations import (
    GROUP,
    SERVER,
    Generation,
    counts,
    encode_hint,
    lost_collections,
    publishing,
    whole_table,
)
from kb.store.layout import INFO, KnowledgeBaseInfo, Layout, collection_names, parse_info, subject_kind, write_info
from kb.store.ledger import Ledger
from kb.store.rows import subject_of, texts_of
from kb.store.stage_outputs import TEXTS, DistilOutput, FetchOutput, additions

_LOST = "is missing or damaged"


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
    ]
    if lost := lost_collections(layout, info, ledger):
        rows = counts(ledger)
        n = sum(rows[collection_names(info)[name][0]] for name in lost)
        problems.append(f"{n:,} vectors of {', '.join(lost)} are lost; {encode_hint(layout)}")
        digest = ""
    else:
        with publishing(layout, info, ledger) as notes:
            pass
        if info.chroma and (differing := _differing(layout, info, ledger)):
            notes.append(f"Chroma: {differing} differed from the matrices; filled again")
            ledger.drop_fact(SERVER)
            with publishing(layout, info, ledger):
                pass
        mended += notes
        digest = digest_of(layout, info, ledger)
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
    """Return the name of a collection on the server that differs from ledger and matrices, or None.

    An embedded Chroma needs no look: the checksums of its files are those of its publication.
    """
    with Generation(layout, ledger) as held, closing(Chroma(info, layout.root, layout.root)) as chroma:
        for name, (kind, _) in chroma.names.items():
            rows = held.rows(name, kind) or {}
            for entries in grouped(ledger.entries(subject_kind(kind)), GROUP):
                expected = {row: text for entry in entries for row, text in texts_of(subject_of(entry), kind).items()}
                vectors = chroma.vectors(name, list(expected))
                if chroma.texts(name, list(expected)) != expected:
                    return name
                if any(not np.array_equal(vectors[row], rows[row]) for row in expected):
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


def digest_of(layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger) -> str:
    """Return the digest of ids, texts, vectors and metadata of a knowledge base whose vectors are whole."""
    digest = hashlib.sha256()
    for name, (kind, _) in collection_names(info).items():
        table, row = whole_table(layout, ledger, name), 0
        for subject_id, items in ledger.items(subject_kind(kind)):
            if ids := items.get(kind):
                digest.update(json.dumps([name, subject_id, ids], ensure_ascii=False).encode())
                digest.update(table.vectors[row : row + len(ids)].tobytes())
                row += len(ids)
    for key, page in ledger.each_output("fetch", FetchOutput):  # sorted
        digest.update(f"{key} {page.sha256}\n".encode())
    for entry in ledger.entries():
        digest.update(f"{entry.subject_id} {entry.record}\n".encode())
    return digest.hexdigest()
