"""Encode: the vectors of every chunk, anchor, summary and term, kept in the ledger until they are published.

Source: VR-RAG section 5.1 (chunks through every text-image encoder) and 5.2 (anchors through the visual encoder).
Differs: anchors also go through the text-image encoders, which vr-rag-v2 needs, and with a detector an anchor's vector
is that of its best bird. Anchors are encoded again when the detector or the rule of views changes. Where that cannot
be done, for want of a file, the mark of the step keeps the views of the vector, so that readers are warned.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from data.arrays import FloatArray
from data.batches import grouped, grouped_by_size
from data.records import Anchor
from kb.pipeline.stages.assemble import IN_MEMORY, Subjects
from kb.pipeline.stages.encode_tasks import EncodeAnchors, EncodeTexts, Pictures, Texts
from kb.pipeline.stages.run import BuildRun, Tracker, is_current
from kb.store.generations import lost_collections
from kb.store.layout import CollectionKind
from kb.store.ledger import FINGERPRINT_DIGITS, Step, StepStatus
from kb.store.rows import Subject, encode_mark, items_of, subject_id

_log = logging.getLogger(__name__)
GROUP = 64  # subjects a transaction
PICTURES = 64  # a batch of a GPU; twice as many are in memory, since the next batch is decoded meanwhile


def encode(run: BuildRun, subjects: Subjects) -> set[str]:
    """Encode new contents of the subjects, and return the ids of those with an unreadable picture, which fail alone.

    Lost vectors are encoded again.
    """
    if lost := lost_collections(run.layout, run.info, run.ledger):
        _log.warning("The vectors in %s are lost. Texts and photos are encoded again.", ", ".join(lost))
        run.ledger.drop_encoding(lost)
    pending = _outdated(run, subjects)
    tracker = run.track("encode", sum(map(len, pending.values())))
    failed = _encode_pictures(run, pending, subjects, tracker)
    for collection, (kind, space) in run.collections.items():
        if kind != "anchors":
            wanted = [key for key in pending[collection] if key not in failed]  # a failed one stays as it was
            n_left = len(pending[collection]) - len(wanted)
            tracker.add(n_left, failed=n_left)
            _encode_texts(run, collection, kind, space, subjects.of(wanted), tracker)
    return failed


def _outdated(run: BuildRun, subjects: Subjects) -> dict[str, list[str]]:
    """Return collection -> the subjects whose items in it are new, changed or failed, sorted by id."""
    found: dict[str, list[str]] = {collection: [] for collection in run.collections}
    for group in grouped(subjects, IN_MEMORY):
        ids = [subject_id(subject) for subject in group]
        for collection, (kind, _) in run.collections.items():
            done = run.ledger.steps("encode", collection, ids=ids)
            for key, subject in zip(ids, group, strict=True):
                if items_of(subject, kind):
                    mark = _mark(run, subject, collection, kind, done.get(key))
                    found[collection] += [] if is_current(done.get(key), mark) else [key]
    return found


def _encode_pictures(
    run: BuildRun, pending: Mapping[str, Sequence[str]], subjects: Subjects, tracker: Tracker
) -> set[str]:
    collections = {name: space for name, (kind, space) in run.collections.items() if kind == "anchors"}
    missing = {name: set(pending[name]) for name in collections}
    wanted = subjects.of(sorted(set().union(*missing.values())))
    waiting: deque[tuple[list[Subject], list[tuple[str, str]]]] = deque()
    all_failed: set[str] = set()

    def pictures() -> Iterator[Pictures]:
        for group in grouped_by_size(wanted, lambda subject: len(_anchors(subject)), PICTURES):
            photos = [(subject_id(subject), each) for subject in group for each in _anchors(subject) if each.sha256]
            waiting.append((group, [(key, each.anchor_id) for key, each in photos]))
            yield tuple(
                (each.sha256 or "", tuple(space for name, space in collections.items() if key in missing[name]))
                for key, each in photos
            )

    for made in run.engine.map(EncodeAnchors(layout=run.layout, encoders=run.encoders), pictures()):
        group, keys = waiting.popleft()
        found = dict(zip(keys, made, strict=True))
        for collection, space in collections.items():
            part = [subject for subject in group if subject_id(subject) in missing[collection]]
            failed = _store_anchors(run, collection, space, part, found) if part else set()
            all_failed |= failed
            tracker.add(len(part), failed=len(failed))
    return all_failed


def _anchors(subject: Subject) -> list[Anchor]:
    return [content for _, content in items_of(subject, "anchors") if isinstance(content, Anchor)]


def _encode_texts(
    run: BuildRun, collection: str, kind: CollectionKind, space: str, subjects: Iterable[Subject], tracker: Tracker
) -> None:
    waiting: deque[tuple[list[Subject], list[tuple[str, str]], list[FloatArray | None]]] = deque()

    def texts() -> Iterator[Texts]:
        for group in grouped(subjects, GROUP):
            rows = [
                (subject_id(subject), item, str(text)) for subject in group for item, text in items_of(subject, kind)
            ]
            vectors: list[FloatArray | None] = [None] * len(rows)
            if kind == "chunks":  # the source may have these vectors
                vectors = [run.source.text_vector(key, space) for key, _, _ in rows]
            waiting.append((group, [(key, item) for key, item, _ in rows], vectors))
            yield tuple(text for (_, _, text), vector in zip(rows, vectors, strict=True) if vector is None)

    for encoded in run.engine.map(EncodeTexts(encoders=run.encoders, space=space), texts()):
        group, keys, vectors = waiting.popleft()
        made = iter(encoded)
        with run.ledger.transaction():
            run.ledger.encoded.put(
                collection,
                [(*key, next(made) if given is None else given) for key, given in zip(keys, vectors, strict=True)],
            )
            run.ledger.record([_step(run, subject, collection, kind, None) for subject in group])
        tracker.add(len(group))


def _store_anchors(
    run: BuildRun,
    collection: str,
    space: str,
    group: Sequence[Subject],
    found: Mapping[tuple[str, str], str | Mapping[str, FloatArray]],
) -> set[str]:
    """Store the vectors of a group's anchors in one space, and return the failed subjects, of which none is stored."""
    errors: dict[str, str] = {}
    rows: list[tuple[str, str, FloatArray]] = []
    for subject in group:
        key, anchors = subject_id(subject), _anchors(subject)
        bare = [anchor.anchor_id for anchor in anchors if anchor.sha256 is None]
        given = run.ledger.given.of_subject(collection, key) if bare else {}
        lost = [anchor_id for anchor_id in bare if anchor_id not in given]
        if lost:
            errors[key] = f"Reference photo {lost[0]} has neither a file nor a vector in {space}."
        for anchor in anchors:
            made = found.get((key, anchor.anchor_id)) if anchor.sha256 is not None else None
            if isinstance(made, str):
                errors[key] = made
            elif made is not None:
                rows.append((key, anchor.anchor_id, made[space]))
        rows += [(key, anchor_id, given[anchor_id]) for anchor_id in bare if anchor_id in given]
    rows = [row for row in rows if row[0] not in errors]
    with run.ledger.transaction():
        run.ledger.encoded.put(collection, rows)
        run.ledger.record([_step(run, s, collection, "anchors", errors.get(subject_id(s))) for s in group])
        # The next build downloads a missing or damaged picture again.
        run.ledger.outdate_steps(list(errors), "anchor")
    return set(errors)


def _step(run: BuildRun, subject: Subject, collection: str, kind: CollectionKind, error: str | None) -> Step:
    key = subject_id(subject)
    before = run.ledger.step(key, "encode", collection)
    mark = _mark(run, subject, collection, kind, before)
    if error and before is not None:
        mark = before.fingerprint  # the vectors remain
    status: StepStatus = "failed" if error else "done"
    return Step(subject_id=key, stage="encode", space=collection, fingerprint=mark, status=status, error=error)


def _mark(run: BuildRun, subject: Subject, collection: str, kind: CollectionKind, before: Step | None) -> str:
    """Return the mark of the encoded subject; one with anchors without files ends with their views and the new ones."""
    mark = encode_mark(subject, collection, kind, run.views)
    if before is None or all(anchor.sha256 is not None for anchor in _anchors(subject)):
        return mark
    items, views = mark[:FINGERPRINT_DIGITS], mark[FINGERPRINT_DIGITS:]
    given = before.fingerprint[FINGERPRINT_DIGITS:].partition("+")[0]
    return mark if given == views else f"{items}{given}+{views}"
