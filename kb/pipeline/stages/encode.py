"""Encode: the vectors of every chunk, anchor, summary and term, written to the ledger.

Source: VR-RAG section 5.1 (chunks through every text-image encoder) and 5.2 (anchors through the visual encoder).
Differs: anchors also go through the text-image encoders, which vr-rag-v2 needs, and with a detector an anchor's vector
is that of its best bird. Anchors are encoded again when the detector or the rule of views changes. Where that cannot
be done, because a file is missing or damaged, the mark of the step keeps the views of the vector, so that readers are
warned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from data.arrays import FloatArray, check_vectors
from data.batches import grouped, grouped_by_size
from data.contracts import ImageEncoder, TextEncoder
from data.errors import BadImage, StoreError
from data.images.decode import ENCODER_SIDE, read_image
from data.images.views import Views, encode_views, views_of_anchor
from data.records import Anchor
from kb.pipeline.stages.run import BuildRun, Tracker
from kb.store.layout import CollectionKind
from kb.store.ledger import FINGERPRINT_DIGITS, Step
from kb.store.project import project
from kb.store.rows import Subject, encode_mark, items_of, subject_id

GROUP = 64  # subjects a transaction
PICTURES = 64  # a batch of a GPU; twice as many are in memory, since the next batch is decoded meanwhile
DECODERS = 2  # threads
REPLACED = "replaced"
"""Fact of the ledger: vectors of anchors were encoded again, and readers may have the old ones."""

Pictures = Mapping[tuple[str, str], "Future[Views | str]"]
"""Subject and anchor -> the views of its bird, or the error."""


def encode(run: BuildRun, subjects: Sequence[Subject]) -> None:
    """Encode new contents of the subjects; a subject with an unreadable picture fails alone."""
    by_id = {subject_id(subject): subject for subject in subjects}
    pending: dict[str, list[Subject]] = {}
    for collection, (kind, _) in run.collections.items():
        done = run.ledger.steps("encode", collection)
        marks = {
            key: _mark(run, subject, collection, kind, done.get(key))
            for key, subject in by_id.items()
            if items_of(subject, kind)
        }
        pending[collection] = [by_id[key] for key in run.todo("encode", marks, space=collection)]
    tracker = run.track("encode", sum(map(len, pending.values())))
    _encode_pictures(run, pending, tracker)
    for collection, (kind, space) in run.collections.items():
        if kind == "anchors":
            continue
        encoder: TextEncoder = run.encoders.sentence
        if kind == "chunks":
            encoder = next(each for each in run.encoders.text_image if each.space == space)
        for group in grouped(pending[collection], GROUP):
            _encode_texts(run, collection, kind, encoder, group)
            tracker.add(len(group))
    _publish_replaced(run)


def _publish_replaced(run: BuildRun) -> None:
    """Give readers the vectors that this build, or one that was killed, encoded again; their entries do not change."""
    if run.ledger.fact(REPLACED) is None:
        return
    with run.ledger.transaction():
        run.ledger.publish([])
        run.ledger.note_pending(entry.subject_id for entry in run.ledger.entries("taxon"))
        run.ledger.drop_fact(REPLACED)
    project(run.layout, run.info, run.ledger)


def _encode_pictures(run: BuildRun, pending: Mapping[str, Sequence[Subject]], tracker: Tracker) -> None:
    """Encode anchors: each picture is decoded once for all encoders, while the next batch is decoded."""
    by_space: dict[str, ImageEncoder] = {each.space: each for each in (*run.encoders.text_image, run.encoders.visual)}
    encoders = {
        collection: by_space[space] for collection, (kind, space) in run.collections.items() if kind == "anchors"
    }
    missing = {collection: {subject_id(subject) for subject in pending[collection]} for collection in encoders}
    subjects = {subject_id(subject): subject for collection in encoders for subject in pending[collection]}
    with ThreadPoolExecutor(DECODERS) as pool:

        def decode(group: Sequence[Subject]) -> Pictures:
            return {
                (subject_id(subject), anchor.anchor_id): pool.submit(_read, run, anchor)
                for subject in group
                for anchor in _anchors(subject)
                if anchor.sha256 is not None
            }

        groups = list(grouped_by_size(subjects.values(), lambda subject: len(_anchors(subject)), PICTURES))
        coming = decode(groups[0]) if groups else {}
        for number, group in enumerate(groups):
            pictures, coming = coming, decode(groups[number + 1]) if number + 1 < len(groups) else {}
            for collection, encoder in encoders.items():
                part = [subject for subject in group if subject_id(subject) in missing[collection]]
                failed = _encode_anchors(run, collection, encoder, part, pictures) if part else 0
                tracker.add(len(part), failed=failed)


def _anchors(subject: Subject) -> list[Anchor]:
    return [content for _, content in items_of(subject, "anchors") if isinstance(content, Anchor)]


def _encode_texts(
    run: BuildRun, collection: str, kind: CollectionKind, encoder: TextEncoder, group: list[Subject]
) -> None:
    rows = [(subject_id(subject), item, str(text)) for subject in group for item, text in items_of(subject, kind)]
    vectors: list[FloatArray | None] = [None] * len(rows)
    if kind == "chunks":  # the source may have these vectors
        vectors = [run.source.text_vector(key, encoder.space) for key, _, _ in rows]
    if texts := [text for (_, _, text), vector in zip(rows, vectors, strict=True) if vector is None]:
        made = iter(check_vectors(encoder.encode_texts(texts), dim=encoder.dim))
        vectors = [next(made) if vector is None else vector for vector in vectors]
    with run.ledger.transaction():
        run.ledger.put_vectors(
            collection, [(s, i, v) for (s, i, _), v in zip(rows, vectors, strict=True) if v is not None]
        )
        run.ledger.record([_step(run, subject, collection, kind, None) for subject in group])


def _encode_anchors(
    run: BuildRun, collection: str, encoder: ImageEncoder, group: Sequence[Subject], decoded: Pictures
) -> int:
    """Encode the anchors of a group in one space and return the number of failed subjects."""
    errors: dict[str, str] = {}
    pictures: list[tuple[str, Anchor]] = []
    for subject in group:
        key, anchors = subject_id(subject), _anchors(subject)
        pictures += [(key, anchor) for anchor in anchors if anchor.sha256 is not None]
        bare = [anchor.anchor_id for anchor in anchors if anchor.sha256 is None]
        given = run.ledger.vectors(collection, key) if bare else {}
        lost = [anchor_id for anchor_id in bare if anchor_id not in given]
        if lost:
            errors[key] = f"Reference photo {lost[0]} has neither a file nor a vector in {encoder.space}."
    images = [decoded[key, anchor.anchor_id].result() for key, anchor in pictures]
    errors |= {key: image for (key, _), image in zip(pictures, images, strict=True) if isinstance(image, str)}
    good = [(*pair, image) for pair, image in zip(pictures, images, strict=True) if not isinstance(image, str)]
    vectors: FloatArray = np.zeros((0, encoder.dim), dtype=np.float32)
    if good:
        vectors = check_vectors(encode_views(encoder, [image for _, _, image in good]), dim=encoder.dim)
    rows = [(key, anchor.anchor_id, v) for (key, anchor, _), v in zip(good, vectors, strict=True)]
    with run.ledger.transaction():
        if any(anchor_id in run.ledger.vectors(collection, key) for key, anchor_id, _ in rows):
            run.ledger.set_fact(REPLACED, "anchors")
        run.ledger.put_vectors(collection, rows)
        run.ledger.record([_step(run, s, collection, "anchors", errors.get(subject_id(s))) for s in group])
        # The next build downloads a missing or damaged picture again.
        run.ledger.drop_steps(errors, ["anchor"])
    return len(errors)


def _read(run: BuildRun, anchor: Anchor) -> Views | str:
    try:
        picture = read_image(run.layout.anchors.read(anchor.sha256 or ""), min_side=ENCODER_SIDE)  # as photos
    except (StoreError, BadImage) as error:
        return str(error)
    return views_of_anchor(picture, run.encoders.detector)


def _step(run: BuildRun, subject: Subject, collection: str, kind: CollectionKind, error: str | None) -> Step:
    key = subject_id(subject)
    before = run.ledger.step(key, "encode", collection)
    mark = _mark(run, subject, collection, kind, before)
    if error and before is not None:
        mark = before.fingerprint  # the vectors remain
    return Step(
        subject_id=key,
        stage="encode",
        space=collection,
        fingerprint=mark,
        status="failed" if error else "done",
        error=error,
    )


def _mark(run: BuildRun, subject: Subject, collection: str, kind: CollectionKind, before: Step | None) -> str:
    """Return the mark of the encoded subject; one with anchors without files ends with their views and the new ones."""
    mark = encode_mark(subject, collection, kind, run.views)
    if before is None or all(anchor.sha256 is not None for anchor in _anchors(subject)):
        return mark
    items, views = mark[:FINGERPRINT_DIGITS], mark[FINGERPRINT_DIGITS:]
    given = before.fingerprint[FINGERPRINT_DIGITS:].partition("+")[0]
    return mark if given == views else f"{items}{given}+{views}"
