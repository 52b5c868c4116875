"""Encode: the vectors of every chunk, anchor, summary and term, written to the ledger before Chroma sees them.

Source: VR-RAG section 5.1 (chunks through every text-image encoder) and 5.2 (anchors through the visual encoder).
Differs: anchors also go through the text-image encoders, since vr-rag-v2 asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from data.arrays import FloatArray, check_vectors
from data.contracts import Encoders, ImageEncoder, TextEncoder
from data.errors import BadImage, StoreError
from data.images.decode import read_image
from data.records import Anchor
from kb.pipeline.stages.run import BuildRun, Tracker, grouped
from kb.store.layout import CollectionKind
from kb.store.ledger import Step
from kb.store.rows import Subject, encode_mark, items_of, subject_id

if TYPE_CHECKING:
    from PIL.Image import Image

GROUP = 64  # subjects a transaction
# Pictures that are decoded at a time, as many as a batch on a GPU; twice as many are in memory, since the next ones are
# decoded while a model looks at those before.
PICTURES = 64
DECODERS = 2

Pictures = Mapping[tuple[str, str], "Future[Image | str]"]
"""Subject and anchor -> the picture that is being decoded, or what is wrong with it."""


def encode(run: BuildRun, work: Sequence[Subject]) -> None:
    """Encode what is new; a subject whose picture cannot be read fails alone.

    Args:
        run: the build.
        work: the subjects that are distilled.
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
    _encode_pictures(run, pending, tracker)
    for collection, (kind, space) in run.collections.items():
        if kind == "anchors":
            continue
        for group in grouped(pending[collection], GROUP):
            _encode_texts(run, collection, kind, text_encoder(run.encoders, kind, space), group)
            tracker.add(len(group))


def _encode_pictures(run: BuildRun, pending: Mapping[str, Sequence[Subject]], tracker: Tracker) -> None:
    """Encode anchors: each picture is decoded once and shown to all encoders, while the next ones are decoded."""
    encoders = {
        collection: image_encoder(run.encoders, space)
        for collection, (kind, space) in run.collections.items()
        if kind == "anchors"
    }
    lacking = {collection: {subject_id(subject) for subject in pending[collection]} for collection in encoders}
    subjects = {subject_id(subject): subject for collection in encoders for subject in pending[collection]}
    with ThreadPoolExecutor(DECODERS) as pool:

        def begun(group: Sequence[Subject]) -> Pictures:
            return {
                (subject_id(subject), anchor.anchor_id): pool.submit(_read, run, anchor)
                for subject in group
                for anchor in _anchors(subject)
                if anchor.sha256 is not None
            }

        groups = list(_groups(subjects.values()))
        coming = begun(groups[0]) if groups else {}
        for number, group in enumerate(groups):
            pictures, coming = coming, begun(groups[number + 1]) if number + 1 < len(groups) else {}
            for collection, encoder in encoders.items():
                part = [subject for subject in group if subject_id(subject) in lacking[collection]]
                failed = _encode_anchors(run, collection, encoder, part, pictures) if part else 0
                tracker.add(len(part), failed=failed)


def _groups(subjects: Iterable[Subject]) -> Iterator[list[Subject]]:
    """Yield the subjects in groups of at most `PICTURES` anchors, or of one that has more."""
    group: list[Subject] = []
    n_pictures = 0
    for subject in subjects:
        n = len(_anchors(subject))
        if group and n_pictures + n > PICTURES:
            yield group
            group, n_pictures = [], 0
        group.append(subject)
        n_pictures += n
    if group:
        yield group


def _anchors(subject: Subject) -> list[Anchor]:
    return [content for _, content in items_of(subject, "anchors") if isinstance(content, Anchor)]


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
        run.ledger.record(_step(subject, collection, kind, None) for subject in group)


def _given(run: BuildRun, kind: CollectionKind, space: str, keys: Sequence[str]) -> dict[int, FloatArray]:
    """Return position -> vector of those subjects whose text vectors the source has itself."""
    if kind != "chunks":
        return {}
    found = {row: run.source.text_vector(key, space) for row, key in enumerate(keys)}
    return {row: vector for row, vector in found.items() if vector is not None}


def _encode_anchors(
    run: BuildRun, collection: str, encoder: ImageEncoder, group: Sequence[Subject], decoded: Pictures
) -> int:
    """Encode the anchors of a group in one space, and return how many subjects failed."""
    errors: dict[str, str] = {}
    pictures: list[tuple[str, Anchor]] = []
    for subject in group:
        key, anchors = subject_id(subject), _anchors(subject)
        pictures += [(key, anchor) for anchor in anchors if anchor.sha256 is not None]
        bare = [anchor.anchor_id for anchor in anchors if anchor.sha256 is None]
        given = run.ledger.vectors(collection, key) if bare else {}
        lost = [anchor_id for anchor_id in bare if anchor_id not in given]
        if lost:
            errors[key] = f"anchor {lost[0]} has neither a picture nor a vector in {encoder.space}"
    images = [decoded[key, anchor.anchor_id].result() for key, anchor in pictures]
    errors |= {key: image for (key, _), image in zip(pictures, images, strict=True) if isinstance(image, str)}
    good = [(*pair, image) for pair, image in zip(pictures, images, strict=True) if not isinstance(image, str)]
    vectors: FloatArray = np.zeros((0, encoder.dim), dtype=np.float32)
    if good:
        vectors = check_vectors(encoder.encode_images([image for _, _, image in good]), dim=encoder.dim)
    with run.ledger.transaction():
        run.ledger.put_vectors(
            collection, [(key, anchor.anchor_id, v) for (key, anchor, _), v in zip(good, vectors, strict=True)]
        )
        run.ledger.record(_step(s, collection, "anchors", errors.get(subject_id(s))) for s in group)
        # A picture that is gone or damaged is fetched again by the next build.
        run.ledger.drop_steps(errors, ["anchor"])
    return len(errors)


def _read(run: BuildRun, anchor: Anchor) -> Image | str:
    try:
        return read_image(run.layout.anchors.read(anchor.sha256 or ""))
    except (StoreError, BadImage) as error:
        return str(error)


def _step(subject: Subject, collection: str, kind: CollectionKind, error: str | None) -> Step:
    return Step(
        subject_id=subject_id(subject),
        stage="encode",
        space=collection,
        fingerprint=encode_mark(subject, collection, kind),
        status="failed" if error else "done",
        error=error,
    )
