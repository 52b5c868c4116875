"""Encode: the vectors of every chunk, anchor, summary and term, kept in the ledger until they are published.

Source: VR-RAG section 5.1 (chunks through every text-image encoder) and 5.2 (anchors through the visual encoder).
Differs: anchors also go through the text-image encoders, which vr-rag-v2 needs, and with a detector an anchor's vector
is that of its best bird. Anchors are encoded again when the detector or the rule of views changes. Where that cannot
be done, for want of a file, the mark of the step keeps the views of the vector, so that readers are warned.
"""

from __future__ import annotations

import logging
import socket
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from data.arrays import FloatArray, check_vectors
from data.batches import grouped, grouped_by_size
from data.contracts import Encoders, ImageEncoder, TextEncoder, TrainedOnSpecies
from data.engines.contract import Loaders, Recipe, ShardTask, pack, unpack
from data.errors import BadImage, FieldmarkError, MissingRequirement, SpaceMismatch, StoreError
from data.images.decode import ENCODER_SIDE, read_image
from data.images.views import Views, encode_views, views_mark, views_of_anchor
from data.records import Anchor, SpeciesEntry, taxon_id
from data.starter.knowledge import ShippedVectors, read_vectors
from kb import reasons
from kb.checklist.avilist import BIRDS
from kb.pipeline.stages.index import IN_MEMORY, KnownSubjects, Subjects
from kb.pipeline.stages.run import BuildRun, Tracker, is_current
from kb.store.generations import lost_collections, publishing
from kb.store.layout import CollectionKind, Layout
from kb.store.ledger import FINGERPRINT_DIGITS, Step, StepStatus
from kb.store.rows import Subject, encode_mark, entry_of, items_of, subject_id

_log = logging.getLogger(__name__)
GROUP = 64  # subjects a transaction
PICTURES = 64  # a batch of a GPU; twice as many are in memory, since the next batch is decoded meanwhile


def encode(run: BuildRun, subjects: Subjects) -> set[str]:
    """Encode new contents of the subjects, and return the ids of those with an unreadable picture, which fail alone.

    Lost vectors are encoded again.
    """
    if lost := lost_collections(run.layout, run.info, run.ledger):
        _restore(run, lost)
    return _encode(run, subjects, *_outdated(run, subjects))


def _restore(run: BuildRun, lost: Sequence[str]) -> None:
    """Encode and publish what readers know again, without the reference photos that cannot be read any more.

    These are failures of their species. Vectors that wait in the ledger for the publication of other contents would
    take the place of those of the known contents; they are deleted.
    """
    _log.warning("The vectors in %s are lost. Texts and photos are encoded again.", ", ".join(lost))
    ledger, unpublished = run.ledger, set[str]()
    known = KnownSubjects(run=run, ids=sorted(key for key, _ in ledger.items()), added={}, pages={})
    for group in grouped(known, IN_MEMORY):
        ids = [subject_id(subject) for subject in group]
        for name, (kind, _) in run.collections.items():
            steps, marks = ledger.steps("encode", name, ids=ids), [encode_mark(each, name, kind) for each in group]
            given = [steps[key].fingerprint[:FINGERPRINT_DIGITS] if key in steps else None for key in ids]
            unpublished.update(key for key, one, mark in zip(ids, given, marks, strict=True) if one not in (None, mark))
    with ledger.transaction():
        ledger.encoded.drop(unpublished)
        ledger.drop_steps(unpublished, ["encode"])
        ledger.drop_encoding(lost)
    outdated, kept = _outdated(run, known)
    pending = {name: keys if name in lost else [] for name, keys in outdated.items()}
    failed = _encode(run, known, pending, kept, lost=lost)
    photos = [name for name in lost if run.collections[name][0] == "anchors"]
    with publishing(run.layout, run.info, ledger, track=lambda n: run.track("index", n).add):
        for group in grouped(known, GROUP):
            ledger.publish([entry_of(_readable(run, s, photos) if subject_id(s) in failed else s) for s in group])


def _readable(run: BuildRun, subject: Subject, collections: Sequence[str]) -> Subject:
    """Return a species with the anchors that have been encoded in some collections."""
    if not isinstance(subject, SpeciesEntry):
        return subject
    encoded = [run.ledger.encoded.of_subject(name, subject_id(subject)) for name in collections]
    anchors = tuple(anchor for anchor in subject.anchors if all(anchor.anchor_id in held for held in encoded))
    return replace(subject, anchors=anchors, marks=(*subject.marks, *([] if anchors else [reasons.NO_ANCHORS])))


def _encode(
    run: BuildRun,
    subjects: Subjects,
    pending: Mapping[str, Sequence[str]],
    kept: Mapping[str, int],
    *,
    lost: Sequence[str] = (),
) -> set[str]:
    failed = _encode_pictures(run, pending, kept, subjects, lost)
    # A failed one stays as it was, unless that is lost.
    wanted = {
        name: [key for key in pending[name] if lost or key not in failed]
        for name, (kind, _) in run.collections.items()
        if kind != "anchors"
    }
    # A count of its own: the time of photos says nothing about that of texts.
    tracker = run.track("encode", sum(map(len, wanted.values())), kept=sum(kept[name] for name in wanted))
    for name, keys in wanted.items():
        kind, space = run.collections[name]
        _encode_texts(run, name, kind, space, subjects.of(keys), tracker)
    return failed


def _outdated(run: BuildRun, subjects: Subjects) -> tuple[dict[str, list[str]], Counter[str]]:
    """Return collection -> the subjects with new, changed or failed items in it, and the number of others."""
    found: dict[str, list[str]] = {collection: [] for collection in run.collections}
    kept = Counter[str]()
    for group in grouped(subjects, IN_MEMORY):
        ids = [subject_id(subject) for subject in group]
        for collection, (kind, _) in run.collections.items():
            done = run.ledger.steps("encode", collection, ids=ids)
            for key, subject in zip(ids, group, strict=True):
                if items_of(subject, kind):
                    mark = _mark(run, subject, collection, kind, done.get(key))
                    is_kept = is_current(done.get(key), mark)
                    kept[collection] += is_kept
                    found[collection] += [] if is_kept else [key]
    return found, kept


def _encode_pictures(
    run: BuildRun,
    pending: Mapping[str, Sequence[str]],
    kept: Mapping[str, int],
    subjects: Subjects,
    lost: Sequence[str],
) -> set[str]:
    collections = {name: space for name, (kind, space) in run.collections.items() if kind == "anchors"}
    missing = {name: set(pending[name]) for name in collections}
    tracker = run.track("encode", sum(map(len, missing.values())), kept=sum(kept[name] for name in missing))
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
            failed = _store_anchors(run, collection, space, part, found, is_lost=collection in lost) if part else set()
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
            if kind == "chunks":
                vectors = [_text_vector(run, key, space) for key, _, _ in rows]
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


def _text_vector(run: BuildRun, key: str, space: str) -> FloatArray | None:
    """Return the text vector of a species that the source has, else the one that ships; None: encode the text.

    One ships of each species that the starter models were trained on, of longer descriptions, which do not ship. It
    names more photos right than any other text does, as the prototype of the species does beside reference photos.
    """
    given, look = run.source.text_vector(key, space), run.encoders.visual
    if given is not None or run.encoders.profile != BIRDS or not isinstance(look, TrainedOnSpecies):
        return given
    known, vectors = _shipped(look)
    return vectors.text_vector(key, space) if key in known else None


@lru_cache(maxsize=1)
def _shipped(look: TrainedOnSpecies) -> tuple[frozenset[str], ShippedVectors]:
    """Return the species that the starter models were trained on, and the vectors that ship."""
    return frozenset(map(taxon_id, look.prototypes()[0])), read_vectors()


def _store_anchors(
    run: BuildRun,
    collection: str,
    space: str,
    group: Sequence[Subject],
    found: Mapping[tuple[str, str], str | Mapping[str, FloatArray]],
    *,
    is_lost: bool,
) -> set[str]:
    """Store the vectors of a group's anchors in one space, and return the subjects that lack some."""
    errors: dict[str, str] = {}
    rows: list[tuple[str, str, FloatArray]] = []
    published = {} if is_lost else run.ledger.entries_of([subject_id(subject) for subject in group])
    for subject in group:
        key, anchors = subject_id(subject), _anchors(subject)
        if bare := {anchor.anchor_id for anchor in anchors if anchor.sha256 is None}:
            bare -= run.ledger.encoded.of_subject(collection, key).keys()
            bare -= set(published[key].items.get("anchors", ()) if key in published else ())
        if bare:
            errors[key] = f"Reference photo {min(bare)} has neither a file nor a vector in {space}."
        for anchor in anchors:
            made = found.get((key, anchor.anchor_id)) if anchor.sha256 is not None else None
            if isinstance(made, str):
                errors[key] = made
            elif made is not None:
                rows.append((key, anchor.anchor_id, made[space]))
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


DECODERS = 2  # threads

Texts = Sequence[str]
Pictures = Sequence[tuple[str, Sequence[str]]]
"""Hash of each anchor, and the spaces to encode it in. Twice as many are in memory: the next ones are decoded."""
Made = list[str | dict[str, FloatArray]]
"""For each anchor its vector in each space, or the reason why it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeTexts(ShardTask[Texts, FloatArray]):
    """Texts in groups -> `(n, dim)` vectors of each group."""

    encoders: Encoders
    space: str
    shard_size: int = 4

    @property
    def recipe(self) -> Recipe:
        """Profile and space."""
        return Recipe(
            make="kb.pipeline.stages.encode:texts_on_node",
            arguments={"profile": self.encoders.profile, "space": self.space},
        )

    @property
    def encoder(self) -> TextEncoder:
        """The encoder of the space."""
        every = (*self.encoders.text_image, self.encoders.sentence)
        return next(each for each in every if each.space == self.space)

    def stream(self, items: Iterable[Texts]) -> Iterator[FloatArray]:
        """Yield the vectors of each group; without texts none are loaded."""
        for texts in items:
            encoder = self.encoder
            none: FloatArray = np.zeros((0, encoder.dim), dtype=np.float32)
            yield check_vectors(encoder.encode_texts(texts), dim=encoder.dim) if texts else none

    def pack(self, results: Sequence[FloatArray]) -> bytes:
        """Return vectors in bytes."""
        return pack(None, results)

    def unpack(self, packed: bytes) -> list[FloatArray]:
        """Return the vectors."""
        return unpack(packed)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeAnchors(ShardTask[Pictures, Made]):
    """Groups of reference photos in a knowledge base -> their vectors; each is decoded once for all encoders."""

    layout: Layout
    encoders: Encoders
    shard_size: int = 2

    @property
    def recipe(self) -> Recipe:
        """Folder of the knowledge base, which nodes must see, profile, spaces and the rule of views."""
        return Recipe(
            make="kb.pipeline.stages.encode:anchors_on_node",
            arguments={
                "kb": str(self.layout.root.absolute()),
                "kb_id": self.layout.require().id,
                "profile": self.encoders.profile,
                "spaces": list(self.encoders.anchor_spaces),
                "views": views_mark(self.encoders.detector),
            },
        )

    def stream(self, items: Iterable[Pictures]) -> Iterator[Made]:
        """Yield the vectors of each group while the next one is decoded."""
        waiting: deque[tuple[Pictures, list[Any]]] = deque()
        with ThreadPoolExecutor(DECODERS) as pool:
            for item in items:
                waiting.append((item, [pool.submit(self._read, sha256) for sha256, _ in item]))
                if len(waiting) > 1:
                    pictures, views = waiting.popleft()
                    yield self._encode(pictures, [each.result() for each in views])
            while waiting:
                pictures, views = waiting.popleft()
                yield self._encode(pictures, [each.result() for each in views])

    def is_final(self, results: Sequence[Made]) -> bool:
        """Return whether every photo was read: one that is missing or damaged is downloaded again."""
        return not any(isinstance(each, str) for made in results for each in made)

    def pack(self, results: Sequence[Made]) -> bytes:
        """Return vectors and errors in bytes."""
        values = [[each if isinstance(each, str) else list(each) for each in made] for made in results]
        rows = [vector for made in results for each in made if not isinstance(each, str) for vector in each.values()]
        return pack(values, rows)

    def unpack(self, packed: bytes) -> list[Made]:
        """Return vectors and errors."""
        values, rows = unpack(packed)
        vector = iter(rows)
        return [
            [each if isinstance(each, str) else {space: next(vector) for space in each} for each in made]
            for made in values
        ]

    def _read(self, sha256: str) -> Views | str:
        try:
            picture = read_image(self.layout.anchors.read(sha256), min_side=ENCODER_SIDE)  # as photos
        except (StoreError, BadImage) as error:
            return str(error)
        return views_of_anchor(picture, self.encoders.detector)

    def _encode(self, pictures: Pictures, views: Sequence[Views | str]) -> Made:
        made: Made = [each if isinstance(each, str) else {} for each in views]
        by_space: dict[str, ImageEncoder] = {
            each.space: each for each in (*self.encoders.text_image, self.encoders.visual)
        }
        for space, encoder in by_space.items():
            good = [
                (each, birds)
                for each, birds, (_, wanted) in zip(made, views, pictures, strict=True)
                if not isinstance(each, str) and not isinstance(birds, str) and space in wanted
            ]
            if good:
                vectors = check_vectors(encode_views(encoder, [birds for _, birds in good]), dim=encoder.dim)
                for (each, _), vector in zip(good, vectors, strict=True):
                    each[space] = vector
        return made


def texts_on_node(loaders: Loaders, *, profile: str, space: str) -> EncodeTexts:
    """Return the task on a node."""
    encoders: Encoders = loaders["encoders"](profile)
    if space not in encoders.spaces:
        raise SpaceMismatch(expected=[space], given=encoders.spaces, hint="Install the same version on all nodes.")
    return EncodeTexts(encoders=encoders, space=space)


def anchors_on_node(
    loaders: Loaders, *, kb: str, kb_id: str, profile: str, spaces: list[str], views: str
) -> EncodeAnchors:
    """Return the task on a node."""
    layout = Layout(Path(kb))
    try:
        is_same = layout.require().id == kb_id
    except FieldmarkError:
        is_same = False
    if not is_same:
        raise MissingRequirement(
            f"The knowledge base {kb} does not exist on node {socket.gethostname()}.",
            hint="All nodes need it at the same path, for example on a shared file system.",
        )
    encoders: Encoders = loaders["encoders"](profile)
    given = [*encoders.anchor_spaces, views_mark(encoders.detector)]
    if given != [*spaces, views]:
        raise SpaceMismatch(expected=[*spaces, views], given=given, hint="Install the same version on all nodes.")
    return EncodeAnchors(layout=layout, encoders=encoders)
