"""Import of a bundle, which may come from strangers, as a new knowledge base."""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, get_args
from urllib.parse import urlsplit

import numpy as np

from data.arrays import FloatArray
from data.batches import grouped
from data.codec import dumps, loads
from data.contracts import Encoders
from data.errors import BadInput, SpaceMismatch, StoreError
from data.files import new_folder
from data.records import Imported, LeftOut, PageRef, Progress, SpeciesEntry, SubjectKind, Taxon
from kb import reasons
from kb.addresses import is_web_address
from kb.bundle import manifest as bundle
from kb.bundle.checklist import import_checklist
from kb.bundle.manifest import REPEATED_STAGES, Manifest, read_manifest
from kb.bundle.read_table import check_tables, read_rows
from kb.bundle.tables import LEFT_OUT, STEPS, SUBJECTS
from kb.pipeline.builder import run_stages
from kb.pipeline.stages.run import BuildRun
from kb.sources.article_source import is_page
from kb.sources.reopen import FROM_BUNDLE
from kb.store.calibrations import keep_calibration
from kb.store.generations import BARE, counts, publishing
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names, new_info, write_info
from kb.store.ledger import Ledger, Step, StepStatus
from kb.store.rows import Subject, entry_of, term_of
from kb.store.stage_outputs import (
    ORIGIN,
    STAGE,
    Addition,
    AnchorOutput,
    DistilOutput,
    FetchOutput,
    held_pages,
    note_texts,
)
from kb.store.verify import lost_files, verify

# Stage -> type of its output; `encode` and `index` have none.
OUTPUTS: Mapping[str, type[Any]] = {
    "resolve": PageRef, "fetch": FetchOutput, "distil": DistilOutput, "anchor": AnchorOutput, STAGE: Addition,
}  # fmt: skip
_DOMAIN = re.compile(r"\.[a-z][a-z0-9-]+$")
N_AT_A_TIME = 1_000
IMAGE_FOLDERS = ("images/", "other-images/")


def import_bundle(
    folder: str | Path,
    path: str | Path,
    encoders: Encoders,
    *,
    re_encode: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Imported:
    """Import a bundle as a new knowledge base and return its contents.

    The hashes of all files are compared with the manifest first. If the vectors are of the spaces of `encoders`, the
    digest must be that of the exported knowledge base; otherwise texts and photos are encoded here. A refused bundle
    leaves nothing behind; a killed import leaves a hidden folder, which the next one removes.

    Args:
        folder: the bundle.
        path: a new or empty folder for the knowledge base.
        encoders: the encoders to query it with.
        re_encode: whether to accept a bundle of other encoder spaces, and encode its texts and photos with `encoders`;
            anchors without a photo are then skipped.
        progress: called while texts and photos are encoded.

    Raises:
        BadInput: if the bundle is damaged or inconsistent, or names paths outside its folder.
        SpaceMismatch: if its vectors are of other spaces, without `re_encode`.
        UsageError: if `path` is not empty.
        KnowledgeBaseLocked: if another process is importing to `path`.
    """
    source, target = Path(folder), Path(path)
    bundle.require_new(target)
    manifest = read_manifest(source)
    check_tables(source, [name for name in manifest.files if name.endswith(".parquet")])
    is_same = encoders.spaces == manifest.spaces
    if not is_same and not re_encode:
        hint = "--re-encode (in Python re_encode=True) encodes its texts and photos with your encoders"
        raise SpaceMismatch(expected=manifest.spaces, given=encoders.spaces, hint=hint)
    with new_folder(target) as work:
        return _import(source, manifest, Layout(work), encoders, is_same and manifest.has_vectors, progress)


def _import(
    source: Path,
    manifest: Manifest,
    layout: Layout,
    encoders: Encoders,
    takes_vectors: bool,
    progress: Callable[[Progress], None] | None,
) -> Imported:
    try:
        info = replace(
            new_info(encoders, source=manifest.source, languages=manifest.languages),
            checklist=manifest.checklist,
            checklist_digest=manifest.checklist_digest,
        )
        write_info(layout.toml, info)
        _copy_contents(source, manifest, layout)
        with closing(Ledger(layout.ledger, create=True)) as ledger:
            _copy_ledger(source, manifest, info, ledger, takes_vectors=takes_vectors)
            for name in manifest.files:
                if name.startswith(bundle.CALIBRATION):
                    keep_calibration(ledger, PurePath(name).stem, bundle.safe_path(source, name).read_bytes())
            import_checklist(source, manifest, layout)
            if takes_vectors:
                _copy_vectors(source, encoders, info, ledger)
                with publishing(layout, info, ledger):
                    ledger.publish([entry_of(subject) for subject in _subjects(source)])
                    species = [entry.subject_id for entry in ledger.entries("taxon")]
                    note_texts(layout, ledger, held_pages(ledger), species)
            else:
                run = BuildRun(layout=layout, info=info, ledger=ledger, encoders=encoders, progress=progress)
                run_stages(run, REPEATED_STAGES)
            kinds, rows = Counter(entry.kind for entry in ledger.entries()), counts(ledger)
            ledger.checkpoint()
        found = verify(layout.root)
    except (StoreError, ValueError) as error:  # raised for invalid records and hashes
        raise BadInput(f"{source} is inconsistent: {error}") from error
    held = kinds["taxon"], kinds["term"]
    if held != (manifest.species, manifest.terms):
        raise BadInput(
            f"{source}: expected {manifest.species:,} species and {manifest.terms:,} terms, "
            f"got {held[0]:,} and {held[1]:,}",
            hint=found.problems[0] if found.problems else None,
        )
    if lost := lost_files(found):
        raise BadInput(f"{source}: {lost[0].partition(';')[0]}")
    if takes_vectors and found.digest != manifest.digest:
        raise BadInput(f"{source}: the imported knowledge base has digest {found.digest}, expected {manifest.digest}")
    anchors = rows.get("anchors", 0)
    return Imported(digest=found.digest, species=held[0], terms=held[1], anchors=anchors, encoded=not takes_vectors)


def _copy_contents(source: Path, manifest: Manifest, layout: Layout) -> None:
    for row in read_rows(source, bundle.ARTICLES, ("sha256", "text")):
        content = str(row["text"]).encode()
        if layout.articles.write(content) != row["sha256"]:
            raise BadInput(f"{source}: an article does not match its sha256 {row['sha256']}")
    for name in manifest.files:
        if name.startswith(IMAGE_FOLDERS) and name != bundle.IMAGES:
            layout.anchors.write(bundle.safe_path(source, name).read_bytes())


def _copy_ledger(
    source: Path, manifest: Manifest, info: KnowledgeBaseInfo, ledger: Ledger, *, takes_vectors: bool
) -> None:
    with ledger.transaction():
        ledger.add_subjects(_subject(row) for row in read_rows(source, bundle.SUBJECTS, tuple(SUBJECTS)))
        left_out = read_rows(source, bundle.LEFT_OUT, tuple(LEFT_OUT))
        ledger.set_left_out(LeftOut(**{column: str(row[column]) for column in LEFT_OUT}) for row in left_out)
        steps = (_step(row) for row in read_rows(source, bundle.STEPS, tuple(STEPS)))
        if not takes_vectors:
            steps = (_without_bare_anchors(step) for step in steps if step.stage not in REPEATED_STAGES)
        ledger.record(_of_known_collections(steps, collection_names(info)))
        for name, origin in manifest.sources.items():
            if _is_public(origin):
                ledger.set_fact(ORIGIN + name, json.dumps({**origin, FROM_BUNDLE: "yes"}, sort_keys=True))


def _subjects(source: Path) -> Iterator[Subject]:
    for row in read_rows(source, bundle.SPECIES, ("taxon_id", "record")):
        yield loads(SpeciesEntry, str(row["record"]))
    for row in read_rows(source, bundle.TERMS, ("term_id", "record")):
        yield term_of(str(row["record"]))


def _subject(row: Mapping[str, Any]) -> tuple[str, SubjectKind, str, str]:
    kind, record = row["kind"], str(row["record"])
    if kind not in get_args(SubjectKind):
        raise BadInput(f"expected a taxon, a term or a page, got {kind!r}")
    if kind == "taxon" or record:
        loads(Taxon, record) if kind == "taxon" else term_of(record)  # raises for an invalid record
    return str(row["subject_id"]), kind, str(row["name"]), record


def _of_known_collections(steps: Iterable[Step], collections: Container[str]) -> Iterator[Step]:
    for step in steps:
        if step.space and step.space not in collections:
            raise BadInput(f"unknown collection {step.space!r}")
        yield step


def _step(row: Mapping[str, Any]) -> Step:
    stage, output = str(row["stage"]), row["output"]
    if row["status"] not in get_args(StepStatus) or stage not in (*OUTPUTS, *REPEATED_STAGES):
        raise BadInput(f"expected the result of a stage, got stage {stage!r} and status {row['status']!r}")
    if output is not None and stage not in OUTPUTS:
        raise BadInput(f"expected no output of the stage {stage}, got {str(output)[:40]!r}")
    record = loads(OUTPUTS[stage], str(output)) if output is not None else None  # raises for an invalid record
    if is_page(str(row["subject_id"])) and isinstance(record, PageRef) and not is_web_address(record.title):
        raise BadInput(f"expected the web address of a page, got {record.title[:80]!r}")
    return Step(**{name: row[name] for name in Step._fields})


def _without_bare_anchors(step: Step) -> Step:
    """Return the step without anchors that have no photo, which cannot be encoded again."""
    output = loads(AnchorOutput, step.output) if step.stage == "anchor" and step.output else AnchorOutput()
    if not (lost := [anchor for anchor in output.anchors if anchor.sha256 is None]):
        return step
    skipped = [LeftOut(name=anchor.file or anchor.anchor_id, reason=reasons.NO_PICTURE) for anchor in lost]
    kept = tuple(anchor for anchor in output.anchors if anchor.sha256 is not None)
    return step._replace(output=dumps(replace(output, anchors=kept, skipped=(*output.skipped, *skipped))))


def _copy_vectors(source: Path, encoders: Encoders, info: KnowledgeBaseInfo, ledger: Ledger) -> None:
    dims = {e.space: e.dim for e in (*encoders.text_image, encoders.visual, encoders.sentence)}
    species = (subject for subject in _subjects(source) if isinstance(subject, SpeciesEntry))
    bare = any(anchor.sha256 is None for each in species for anchor in each.anchors)
    for name, (_, space) in collection_names(info).items():
        rows = read_rows(source, f"{bundle.VECTORS}{name}.parquet", ("subject_id", "item_id", "vector"))
        with ledger.transaction():
            for batch in grouped(rows, N_AT_A_TIME):
                vectors = [(str(r["subject_id"]), str(r["item_id"]), _vector(r["vector"], dims[space])) for r in batch]
                ledger.encoded.put(name, vectors)
    if bare:
        ledger.set_fact(BARE, "yes")


def _vector(values: object, dim: int) -> FloatArray:
    vector: FloatArray = np.asarray(values, dtype=np.float32)
    if vector.shape != (dim,) or not np.isfinite(vector).all():
        raise BadInput(f"expected a vector of {dim} finite numbers, got one of shape {vector.shape}")
    return vector


def _is_public(origin: Mapping[str, str]) -> bool:
    """Return whether `kb update` may contact a source that a bundle names: never this machine, its network or files."""
    if origin.get("kind") in ("starter", "web"):  # the client of pages refuses private addresses
        return True
    if origin.get("kind") != "wikipedia" or not {"language", "licences"} <= set(origin):
        return False
    parts = urlsplit(origin.get("api_url", ""))
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in ("http", "https"):
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        # A name with a domain: not that of a local machine, nor a short address such as 127.1 or 0x7f.1.
        return bool(_DOMAIN.search(host)) and not host.endswith((".localhost", ".local", ".internal", ".lan"))
