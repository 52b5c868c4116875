"""Export: a knowledge base as a bundle, which `kb.bundle.manifest` describes."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path

from data.codec import loads, to_json
from data.errors import BadInput, KnowledgeBaseLocked, UsageError
from data.files import write_atomic, writer_lock
from data.records import Exported, SpeciesEntry, Term
from kb.bundle import manifest as bundle
from kb.bundle.card import card
from kb.bundle.manifest import Manifest, note_of
from kb.bundle.tables import (
    ARTICLES,
    IMAGES,
    LEFT_OUT,
    SPECIES,
    STEPS,
    SUBJECTS,
    TERMS,
    VECTORS,
    Row,
    image_name,
    image_row,
    species_row,
    term_row,
    write_table,
)
from kb.store.additions import additions
from kb.store.calibrations import calibration_files
from kb.store.layout import KnowledgeBaseInfo, Layout, collection_names
from kb.store.ledger import Ledger
from kb.store.stage_outputs import DistilOutput, FetchOutput, read_origins
from kb.store.verify import verify

MADE_ANEW = ("encode", "index")  # stages that say nothing without the vectors


def export_bundle(path: str | Path, out: str | Path, *, with_vectors: bool = True) -> Exported:
    """Write a knowledge base as a bundle and return its contents.

    The bundle is a dataset that pandas, pyarrow and Hugging Face's `datasets` read without Fieldmark, every photo with
    author and licence; `import_bundle` makes the same knowledge base of it again. It is made beside `out` and renamed
    when it is whole.

    Args:
        path: the knowledge base.
        out: a folder that does not exist yet, or an empty one.
        with_vectors: without them whoever imports it must encode all texts and photos again.

    Raises:
        MissingKnowledgeBase: if there is none.
        UsageError: if something lies at `out` already.
        StoreError: if articles or photos of it are lost.
        BadInput: without vectors, if it has anchors that are vectors alone.
        KnowledgeBaseLocked: if another process is writing to it.

    Example:
        >>> import tempfile, kb, recognize
        >>> from kb.sources.starter import StarterSource
        >>> source, encoders = StarterSource(with_vectors=False), recognize.load_encoders("starter")
        >>> owls = [taxon for taxon in source.taxa() if taxon.common_name == "Snowy Owl"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = kb.build(f"{folder}/owls.kb", owls, source, encoders)
        ...     exported = kb.export_bundle(f"{folder}/owls.kb", f"{folder}/owls")
        ...     imported = kb.import_bundle(f"{folder}/owls", f"{folder}/again.kb", encoders)
        >>> exported.species, exported.images, imported.digest == exported.digest
        (1, 3, True)
    """
    layout, target = Layout(Path(path)), Path(out)
    info = layout.require()
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise UsageError(f"{target} is there already", hint="name a folder that is new or empty")
    generation = _generation(layout)
    digest = verify(path).digest
    work = target.parent / f".{target.name}.exporting"
    with writer_lock(layout.lock), closing(Ledger(layout.ledger, read_only=True)) as ledger:
        if ledger.generation() != generation:
            raise KnowledgeBaseLocked(f"{layout.root} has changed meanwhile", hint="run the same command again")
        shutil.rmtree(work, ignore_errors=True)  # of an export that was killed
        try:
            exported = _export(layout, info, ledger, work, digest, with_vectors=with_vectors)
            if target.is_dir():
                target.rmdir()
            work.rename(target)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    return exported


def _generation(layout: Layout) -> str:
    with closing(Ledger(layout.ledger, read_only=True)) as ledger:
        return ledger.generation()


def _export(
    layout: Layout, info: KnowledgeBaseInfo, ledger: Ledger, work: Path, digest: str, *, with_vectors: bool
) -> Exported:
    species = [loads(SpeciesEntry, entry.record) for entry in ledger.entries("taxon")]
    terms = [loads(Term, entry.record) for entry in ledger.entries("term")]
    if not with_vectors and any(anchor.sha256 is None for entry in species for anchor in entry.anchors):
        raise BadInput(
            f"{layout.root} has anchors that are vectors without a picture: nobody could encode them again",
            hint="export it with its vectors",
        )
    images = list(_copied_images(layout, work, species))
    write_table(work / bundle.IMAGES, images, IMAGES)
    write_table(work / bundle.SPECIES, map(species_row, species), SPECIES)
    write_table(work / bundle.TERMS, map(term_row, terms), TERMS)
    write_table(work / bundle.ARTICLES, _articles(layout, ledger), ARTICLES)
    write_table(work / bundle.SUBJECTS, ledger.rows("subjects"), SUBJECTS)
    write_table(work / bundle.LEFT_OUT, ledger.rows("left_out"), LEFT_OUT)
    steps = ledger.rows("steps")
    write_table(work / bundle.STEPS, (r for r in steps if with_vectors or r["stage"] not in MADE_ANEW), STEPS)
    if with_vectors:
        for name in collection_names(info):
            rows = (
                {"subject_id": subject, "item_id": item, "vector": vector}
                for subject, vectors in ledger.all_vectors(name)
                for item, vector in vectors.items()
            )
            write_table(work / f"{bundle.VECTORS}{name}.parquet", rows, VECTORS)
    for file in calibration_files(layout):
        write_atomic(work / f"{bundle.CALIBRATION}{file.name}", file.read_bytes())
    licences = Counter(str(row["licence"] or "not stated") for row in images)
    write_atomic(work / bundle.CARD, card(info, species, terms, licences, with_vectors=with_vectors).encode())
    files = {str(file.relative_to(work)): note_of(file) for file in sorted(work.rglob("*")) if file.is_file()}
    del files[bundle.CARD]  # whoever publishes it may edit the card
    manifest = Manifest(
        format=bundle.FORMAT,
        fieldmark=metadata.version("fieldmark"),
        digest=digest,
        profile=info.profile,
        source=info.source,
        languages=info.languages,
        text_image=info.text_image,
        visual=info.visual,
        sentence=info.sentence,
        has_vectors=with_vectors,
        species=len(species),
        terms=len(terms),
        # The path of a folder on this machine is nobody else's business.
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
    """Copy the pictures into folders by species, and yield the row of each that other programs can read."""
    for entry in species:
        for anchor in entry.anchors:
            if anchor.sha256 is None:
                continue
            name = image_name(entry.taxon.taxon_id, anchor)
            write_atomic(work / name, layout.anchors.read(anchor.sha256), is_durable=False)
            if name.startswith("images/"):
                yield image_row(entry, anchor, name.removeprefix("images/"))


def _articles(layout: Layout, ledger: Ledger) -> Iterator[Row]:
    """Yield every page body and plain text that the ledger names, each once."""
    fetched = (loads(FetchOutput, step.output).sha256 for step in ledger.steps("fetch").values() if step.output)
    distilled = (
        loads(DistilOutput, step.output).text_sha256 for step in ledger.steps("distil").values() if step.output
    )
    own = (text.sha256 for addition in additions(ledger).values() for text in addition.texts)
    for sha256 in sorted({found for found in (*fetched, *distilled, *own) if found is not None}):
        yield {"sha256": sha256, "text": layout.articles.read(sha256).decode()}
