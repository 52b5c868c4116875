"""Encode: the vectors of every chunk, anchor, summary and term, written to the ledger before Chroma sees them.

Source: VR-RAG section 5.1 (chunks through every text-image encoder) and 5.2 (anchors through the visual encoder).
Differs: anchors also go through the text-image encoders, since vr-rag-v2 asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from data.arrays import FloatArray, check_vectors
from data.contracts import Encoders, GivesTextVectors, ImageEncoder, TextEncoder
from data.errors import BadImage, StoreError
from data.images import read_image
from data.records import Anchor
from kb.layout import CollectionKind
from kb.ledger import Step
from kb.rows import Subject, encode_mark, items_of, subject_id, vectors_mark
from kb.stages.run import BuildRun, grouped

if TYPE_CHECKING:
    from PIL.Image import Image

GROUP = 32  # subjects a transaction; with three anchors each, about a hundred pictures in memory
DECODERS = 2


def encode(run: BuildRun, work: Sequence[Subject]) -> None:
    """Encode what is new, collection by collection; a subject whose picture cannot be read fails alone.

    Args:
        run: its encoders fill the collections of their own profile, and no others.
        work: the subjects as that profile sees them.
    """
    pending: dict[str, list[Subject]] = {}
    for collection, (kind, _) in run.collections.items():
        done = run.ledger.steps("encode", collection)
        pending[collection] = [
            subject
            for subject in work
            if items_of(subject, kind)
            and not (
                (step := done.get(subject_id(subject))) is not None
                and step.status == "done"
                and step.fingerprint == encode_mark(subject, collection, kind)
            )
        ]
    tracker = run.track("encode", sum(map(len, pending.values())))
    for collection, (kind, space) in run.collections.items():
        for group in grouped(pending[collection], GROUP):
            if kind == "anchors":
                failed = _encode_anchors(run, collection, image_encoder(run.encoders, space), group)
            else:
                _encode_texts(run, collection, kind, text_encoder(run.encoders, kind, space), group)
                failed = 0
            tracker.add(len(group), failed=failed)


def text_encoder(encoders: Encoders, kind: CollectionKind, space: str) -> TextEncoder:
    """Return the encoder of the texts of a kind of collection."""
    return encoders.sentence if kind != "chunks" else next(e for e in encoders.text_image if e.space == space)


def image_encoder(encoders: Encoders, space: str) -> ImageEncoder:
    """Return the encoder of pictures of a space."""
    candidates: tuple[ImageEncoder, ...] = (*encoders.text_image, encoders.visual)
    return next(encoder for encoder in candidates if encoder.space == space)


def _encode_texts(
    run: BuildRun, collection: str, kind: CollectionKind, encoder: TextEncoder, group: list[Subject]
) -> None:
    rows = [(subject_id(subject), item, str(text)) for subject in group for item, text in items_of(subject, kind)]
    given = _given(run, kind, encoder.space, [key for key, _, _ in rows])
    todo = [row for row in range(len(rows)) if row not in given]
    made = check_vectors(encoder.encode_texts([rows[row][2] for row in todo]), dim=encoder.dim) if todo else ()
    vectors = [
        vector for _, vector in sorted([*zip(todo, made, strict=True), *given.items()], key=lambda pair: pair[0])
    ]
    with run.ledger.transaction():
        run.ledger.put_vectors(collection, [(s, i, v) for (s, i, _), v in zip(rows, vectors, strict=True)])
        run.ledger.record(_step(run, subject, collection, kind, None) for subject in group)


def _given(run: BuildRun, kind: CollectionKind, space: str, keys: Sequence[str]) -> dict[int, FloatArray]:
    """Return position -> vector of those subjects whose text vectors the source has itself."""
    if kind != "chunks" or not isinstance(run.source, GivesTextVectors):
        return {}
    found = {row: run.source.text_vector(key, space) for row, key in enumerate(keys)}
    return {row: vector for row, vector in found.items() if vector is not None}


def _encode_anchors(run: BuildRun, collection: str, encoder: ImageEncoder, group: list[Subject]) -> int:
    errors: dict[str, str] = {}
    pictures: list[tuple[str, Anchor]] = []
    for subject in group:
        key = subject_id(subject)
        anchors = [content for _, content in items_of(subject, "anchors") if isinstance(content, Anchor)]
        pictures += [(key, anchor) for anchor in anchors if anchor.sha256 is not None]
        given = run.ledger.vectors(collection, key)
        lost = [a.anchor_id for a in anchors if a.sha256 is None and a.anchor_id not in given]
        if lost:
            errors[key] = f"anchor {lost[0]} has neither a picture nor a vector in {encoder.space}"
    with ThreadPoolExecutor(DECODERS) as pool:
        images = list(pool.map(lambda pair: _read(run, pair[1]), pictures))
    errors |= {key: image for (key, _), image in zip(pictures, images, strict=True) if isinstance(image, str)}
    good = [(*pair, image) for pair, image in zip(pictures, images, strict=True) if not isinstance(image, str)]
    vectors: FloatArray = np.zeros((0, encoder.dim), dtype=np.float32)
    if good:
        vectors = check_vectors(encoder.encode_images([image for _, _, image in good]), dim=encoder.dim)
    with run.ledger.transaction():
        run.ledger.put_vectors(
            collection, [(key, anchor.anchor_id, v) for (key, anchor, _), v in zip(good, vectors, strict=True)]
        )
        run.ledger.record(_step(run, s, collection, "anchors", errors.get(subject_id(s))) for s in group)
        # A picture that is gone or damaged is fetched again by the next build.
        run.ledger.drop_steps(errors, ["anchor"])
    return len(errors)


def _read(run: BuildRun, anchor: Anchor) -> Image | str:
    try:
        return read_image(run.layout.anchors.read(anchor.sha256 or ""))
    except (StoreError, BadImage) as error:
        return str(error)


def _step(run: BuildRun, subject: Subject, collection: str, kind: CollectionKind, error: str | None) -> Step:
    """Return the row of a subject; its output is the hash of the vectors, by which damage to them shows."""
    key, items = subject_id(subject), [item for item, _ in items_of(subject, kind)]
    return Step(
        subject_id=key,
        output=None if error else vectors_mark(run.ledger.vectors(collection, key), items),
        stage="encode",
        space=collection,
        fingerprint=encode_mark(subject, collection, kind),
        status="failed" if error else "done",
        error=error,
    )
