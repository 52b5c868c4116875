"""Export of a knowledge base as a bundle, in the format of `kb.bundle.manifest`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from data.codec import loads, to_json
from data.contracts import Encoders
from data.errors import BadInput, StoreError
from data.files import new_folder, write_atomic, writer_lock
from data.records import Exported, SpeciesEntry
from fieldmark import fieldmark_version
from kb.bundle import manifest as bundle
from kb.bundle import tables
from kb.bundle.card import card
from kb.bundle.checklist import export_checklist
from kb.bundle.manifest import Manifest, note_of
from kb.bundle.tables import Row, image_name, image_row, species_row, term_row, write_table
from kb.bundle.withheld import n_texts, withheld_pages, without_pages
from kb.store.calibrations import calibrations
from kb.store.generations import whole_table
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names, subject_kind
from kb.store.ledger import Ledger
from kb.store.rows import term_of
from kb.store.stage_outputs import TEXTS, DistilOutput, FetchOutput, additions, read_origins
from kb.store.verify import lost_files, verify_ledger

_COPIED = (
    "profile", "source", "languages", "text_image", "visual", "sentence", "checklist", "checklist_digest",
)  # fmt: skip


def export_bundle(
    path: str | Path,
    out: str | Path,
    *,
    with_vectors: bool = True,
    with_unfree_pages: bool = False,
    load_encoders: Callable[[], Encoders] | None = None,
) -> Exported:
    """Export a knowledge base as a bundle and return its contents.

    pandas, pyarrow and Hugging Face's `datasets` can read the bundle, with author and licence of every photo;
    `import_bundle` restores the knowledge base. The bundle is written to a hidden folder and renamed when complete.

    Args:
        path: the knowledge base.
        out: a new or empty folder.
        with_vectors: whether to include the vectors; otherwise an import encodes all texts and photos again.
        with_unfree_pages: whether to include web pages without a free licence and answers of web searches, for private
            use. Local files are never included as pages.
        load_encoders: loads the encoders of the knowledge base; needed where pages are left out.

    Raises:
        MissingKnowledgeBase: if there is no knowledge base at `path`.
        UsageError: if `out` is not empty, or pages are left out and there are no encoders.
        StoreError: if an article or photo is missing or damaged.
        BadInput: without vectors, if there are anchors without a photo.
        KnowledgeBaseLocked: if another process is writing to the knowledge base.
    """
    layout, target = Layout(Path(path)), Path(out)
    info = layout.require()
    bundle.require_new(target)
    with writer_lock(layout.lock), closing(Ledger(layout.ledger)) as ledger, new_folder(target) as work:
        verification = verify_ledger(layout, ledger)
        if lost := lost_files(verification):
            raise StoreError(f"{layout.root} is incomplete: {lost[0]}")
        pages = withheld_pages(ledger, with_unfree=with_unfree_pages)
        if not pages:
            return _export(layout, info, ledger, work, verification.digest, with_vectors=with_vectors)
        scratch = work.with_name("kb")
        with without_pages(layout, info, ledger, pages, load_encoders, scratch) as (part, shared, digest):
            exported = _export(part, info, shared, work, digest, with_vectors=with_vectors)
        return replace(exported, withheld_pages=n_texts(ledger, pages))


def _export(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, work: Path, digest: str, *, with_vectors: bool
) -> Exported:
    species = [loads(SpeciesEntry, entry.record) for entry in ledger.entries("taxon")]
    terms = [term_of(entry.record) for entry in ledger.entries("term")]
    if not with_vectors and any(anchor.sha256 is None for entry in species for anchor in entry.anchors):
        raise BadInput(
            f"{layout.root} has reference photos stored as vectors only, which could not be encoded again",
            hint="Export it with vectors.",
        )
    images = list(_copied_images(layout, work, species))
    write_table(work / bundle.IMAGES, images, tables.IMAGES)
    write_table(work / bundle.SPECIES, map(species_row, species), tables.SPECIES)
    write_table(work / bundle.TERMS, map(term_row, terms), tables.TERMS)
    write_table(work / bundle.ARTICLES, _articles(layout, ledger), tables.ARTICLES)
    write_table(work / bundle.SUBJECTS, ledger.rows("subjects"), tables.SUBJECTS)
    write_table(work / bundle.LEFT_OUT, ledger.rows("left_out"), tables.LEFT_OUT)
    made_again = (TEXTS,) if with_vectors else (TEXTS, *bundle.REPEATED_STAGES)
    write_table(
        work / bundle.STEPS, (row for row in ledger.rows("steps") if row["stage"] not in made_again), tables.STEPS
    )
    if with_vectors:
        for name, (kind, _) in collection_names(info).items():
            subjects = (key for key, items in ledger.items(subject_kind(kind)) for _ in items.get(kind, ()))
            table = whole_table(layout, ledger, name)
            rows = (
                {"subject_id": subject, "item_id": item, "vector": vector}
                for subject, item, vector in zip(subjects, table.ids, table.vectors, strict=True)
            )
            write_table(work / f"{bundle.VECTORS}{name}.parquet", rows, tables.VECTORS)
    export_checklist(layout, info, work)
    for preset, text in calibrations(ledger).items():
        write_atomic(work / f"{bundle.CALIBRATION}{preset}.json", text.encode())
    licences = Counter(str(row["licence"] or "not stated") for row in images)
    write_atomic(work / bundle.CARD, card(info, species, terms, licences, with_vectors=with_vectors).encode())
    files = {str(file.relative_to(work)): note_of(file) for file in sorted(work.rglob("*")) if file.is_file()}
    del files[bundle.CARD]  # the user may edit it
    manifest = Manifest(
        format=bundle.FORMAT,
        fieldmark=fieldmark_version(),
        digest=digest,
        **{name: getattr(info, name) for name in _COPIED},
        has_vectors=with_vectors,
        species=len(species),
        terms=len(terms),
        # Paths of this machine are private.
        sources={name: origin for name, origin in read_origins(ledger).items() if origin.get("kind") != "folder"},
        files=files,
    )
    write_atomic(work / bundle.MANIFEST, json.dumps(to_json(manifest), indent=1, sort_keys=True).encode())
    return Exported(
        digest=digest,
        species=len(species),
        terms=len(terms),
        images=len(images),
        files=len(files) + 2,
        bytes=sum(note.bytes for note in files.values()),
    )


def _copied_images(layout: Layout, work: Path, species: Sequence[SpeciesEntry]) -> Iterator[Row]:
    """Copy the photos into folders by species, and yield a row for each in a format that other programs read."""
    for entry in species:
        for anchor in entry.anchors:
            if anchor.sha256 is None:
                continue
            name = image_name(entry.taxon.taxon_id, anchor)
            write_atomic(work / name, layout.anchors.read(anchor.sha256), is_durable=False)
            if name.startswith("images/"):
                yield image_row(entry, anchor, name.removeprefix("images/"))


def _articles(layout: Layout, ledger: Ledger) -> Iterator[Row]:
    fetched = (page.sha256 for page in ledger.outputs("fetch", FetchOutput).values())
    distilled = (output.text_sha256 for output in ledger.outputs("distil", DistilOutput).values())
    own = (text.sha256 for addition in additions(ledger).values() for text in addition.texts)
    for sha256 in sorted({found for found in (*fetched, *distilled, *own) if found is not None}):
        yield {"sha256": sha256, "text": layout.articles.read(sha256).decode()}
