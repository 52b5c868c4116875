"""Request and measurement of `kb eval species`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output, wiring
from cli.verbs.eval.species import readers as reader_evaluating
from cli.verbs.eval.species.readers import WITHOUT_ANCHORS, ReaderOrder
from data.errors import NothingReadable, UsageError
from recognize.evaluation.datasets import read_dataset

if TYPE_CHECKING:
    from data.benchmarks.species import LabelledPhoto
    from kb.checklist.reconcile import UnmatchedName
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.comparison import SpeciesEvaluation
    from recognize.evaluation.encoded_photos import EncodedPhotos
    from recognize.evaluation.reader_comparison import ReaderEvaluation, ReaderResources
    from recognize.evaluation.setups import Setup

N_NAMED = 10  # of what did not match, in tables and warnings
NAMES_HINT = "labels are to be scientific or English names of species; `kb taxa --file FILE` shows what names stand for"
KB = "kb"  # the anchors of the knowledge base


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The arguments of `kb eval species`."""

    dataset: Path
    kb: str
    """What the knowledge base is called in reports."""
    photos: Path | None
    presets: tuple[str, ...]
    ablation: bool
    vocabulary: str
    texts: str
    split: str | None
    limit: int | None
    keep_leaks: bool
    n_resamples: int
    seed: int
    anchors: tuple[str, ...]
    """The anchor sets that stand side by side."""
    train: Path | None
    readers: ReaderOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The photos to measure with the taxon id of each, and what of the dataset is not among them."""

    kind: str
    n_photos: int
    """Of the split, before anything was left out."""
    photos: tuple[LabelledPhoto, ...]
    labels: tuple[str, ...]
    unmatched: tuple[UnmatchedName, ...]
    absent: tuple[str, ...]
    """Species that the labels stand for and the knowledge base does not hold."""
    n_unmatched: int
    n_absent: int
    anchors: Mapping[str, tuple[tuple[LabelledPhoto, str], ...]]
    """Name of an anchor set -> its photos, each with its taxon id."""
    covered: tuple[str, ...]
    """The taxon ids whose anchors the sets replace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The evaluation and what a reader must know of the photos behind it."""

    kb: str
    asked: Asked
    evaluation: SpeciesEvaluation
    unreadable: dict[str, str]
    """Path -> what is wrong with it."""
    n_leaks: int
    leaks: dict[str, int]
    """Test -> photos that it found to be anchors, or nearly; one photo may be found by several."""
    leaks_kept: bool
    n_trained: int
    """Photos that the encoders were trained on, or nearly, as far as these can tell."""
    n_anchors: dict[str, int]
    """Name of an anchor set -> its photos that could be read."""
    readers: ReaderEvaluation | None = None


def check(order: Order, *, has_presets: bool) -> None:
    """Raise `UsageError` if arguments contradict each other."""
    if order.ablation and has_presets:
        raise UsageError("--ablation has presets of its own", hint="leave out --preset")
    if order.photos is not None and order.dataset.suffix != ".json":
        raise UsageError(f"--photos goes with an iNaturalist list, not with {order.dataset}")
    if order.train is not None and "train" not in order.anchors:
        raise UsageError("--train names the photos of --anchors train, which is not asked for")
    if order.readers.comparisons and (has_presets or order.ablation):
        raise UsageError("--comparisons has presets of its own", hint="leave out --preset and --ablation")
    if order.readers.comparisons and (len(order.anchors) > 1 or order.texts != "descriptions"):
        raise UsageError("--comparisons are made with one set of anchors, and with candidates found by descriptions")
    if "chunks" in order.readers.contexts and order.texts != "descriptions":
        raise UsageError("--reader-context chunks goes with --texts descriptions: names are in no chunks")
    if order.readers.is_asked and order.ablation:
        raise UsageError("--ablation is about ranking alone", hint="--preset goes with --reader")
    reader_evaluating.check(order.readers)


def asked(order: Order, known: Sequence[str]) -> Asked:
    """Return the photos of the dataset whose species the knowledge base holds.

    Raises:
        BadInput: if the dataset cannot be read.
        NothingReadable: if no photo is left.
    """
    dataset = read_dataset(
        order.dataset, split=order.split, photos=order.photos, train=order.train, anchors=order.anchors
    )
    found = dataset.photos
    labels = list(dict.fromkeys(photo.label for photo in found))
    reconciled = wiring.reconciled(labels)
    others = wiring.reconciled(list(dict.fromkeys(dataset.covered)))
    covered = {match.name: match.taxon.taxon_id for match in others.matched}
    taxon_of = {match.name: match.taxon for match in reconciled.matched}
    held = frozenset(known)
    matched = [(photo, taxon_of[photo.label]) for photo in found if photo.label in taxon_of]
    kept = [(photo, taxon.taxon_id) for photo, taxon in matched if taxon.taxon_id in held]
    absent = tuple(sorted({taxon.scientific_name for taxon in taxon_of.values() if taxon.taxon_id not in held}))
    n_unmatched, n_absent = len(found) - len(matched), len(matched) - len(kept)
    if not kept:
        why = "; ".join(_left_out(reconciled.unmatched, n_unmatched, absent, n_absent, rest=""))
        raise NothingReadable(
            f"no photo of {order.dataset} has a species of the knowledge base: {output.steady(why)}",
            hint=NAMES_HINT if reconciled.unmatched else "--kb chooses a knowledge base that holds them",
        )
    if order.limit is not None and order.limit < len(kept):
        kept = [kept[i * len(kept) // order.limit] for i in range(order.limit)]
    return Asked(
        kind=dataset.kind,
        n_photos=len(found),
        photos=tuple(photo for photo, _ in kept),
        labels=tuple(label for _, label in kept),
        unmatched=reconciled.unmatched,
        absent=absent,
        n_unmatched=n_unmatched,
        n_absent=n_absent,
        anchors={
            name: tuple((photo, covered[photo.label]) for photo in dataset.anchors[name] if photo.label in covered)
            for name in order.anchors
            if name != KB
        },
        covered=tuple(dict.fromkeys(covered.values())),
    )


def evaluated(
    order: Order,
    store: KnowledgeBase,
    given: Asked,
    counts: Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]],
    asking: ReaderResources | None = None,
) -> Report:
    """Return the figures on the photos that can be read and do not leak.

    Args:
        order: what is asked for.
        store: the knowledge base.
        given: the photos.
        counts: what is done and how often -> what shows how many are done, and in vain.
        asking: the model, if readers are measured.

    Raises:
        NothingReadable: if there are no such photos.
        CostStop: if the reader could cost more than it may; its replies are kept.
    """
    from recognize.evaluation.comparison import compare_setups
    from recognize.evaluation.encoded_photos import encode_photos
    from recognize.evaluation.leaks import find_leaks, find_trained
    from recognize.evaluation.picture_hash import hash_pictures
    from recognize.evaluation.setups import AnchorSet

    encoders = wiring.load_encoders(store.info.profile)
    store.check_space(encoders.spaces)

    def encode(name: str, photos: Sequence[LabelledPhoto]) -> EncodedPhotos:
        with counts(name, len(photos)) as progress:
            paths = [photo.path for photo in photos]
            return encode_photos(encoders, paths, on_progress=lambda n: progress(n, 0))

    photos = encode("photos", given.photos)
    sets: dict[str, AnchorSet] = {}
    for name, anchors in given.anchors.items():
        read = encode(f"anchors {name}", [photo for photo, _ in anchors])
        labels = tuple(anchors[at][1] for at in read.positions)
        sets[name] = AnchorSet(covered=given.covered, photos=read, labels=labels)
    digests = sorted({a.sha256 for e in store.species(store.taxon_ids) for a in e.anchors if a.sha256 is not None})
    leaks = find_leaks(
        photos,
        store.anchor_vectors(encoders.visual.space).vectors,
        digests=digests,
        hashes=hash_pictures(map(store.anchor_path, digests)),
    )
    for anchor_set in sets.values():
        anchor_photos = anchor_set.photos
        leaks |= find_leaks(
            photos, anchor_photos.queries.visual, digests=anchor_photos.digests, hashes=anchor_photos.hashes
        )
    trained = find_trained(photos, encoders)
    measured = photos if order.keep_leaks else photos.only(~(leaks.any | trained))
    if not len(measured):
        raise NothingReadable(
            f"none of {output.plural(len(given.photos), 'photo')} is left: {len(photos.errors):,} cannot be read, "
            f"{int(leaks.any.sum()):,} are anchors or nearly, on {int(trained.sum()):,} the encoders were trained",
            hint="Use --set keep_leaks=true to measure them too." if leaks.any.any() or trained.any() else None,
        )
    labels_of = [given.labels[at] for at in measured.positions]
    setups = _setups(order, len(encoders.text_image))
    evaluation = compare_setups(
        store,
        encoders,
        measured,
        labels_of,
        setups,
        anchor_sets=sets,
        n_resamples=order.n_resamples,
        seed=order.seed,
    )
    readers = None
    if asking is not None:
        from recognize.evaluation.reader_comparison import compare_readers

        # Readers are asked in one vocabulary: a model costs, and the paper's is open.
        vocabulary = "bounded" if order.vocabulary == "bounded" else "open"
        read_setups = [setup for setup in setups if setup.vocabulary == vocabulary]
        reader_setups = reader_evaluating.reader_setups_of(order.readers, read_setups, store, asking)
        with counts("read", len(measured) * len(reader_setups)) as progress:
            readers = compare_readers(
                store,
                encoders,
                measured,
                [given.photos[at].path for at in measured.positions],
                labels_of,
                reader_setups,
                asking,
                anchor_sets=sets,
                n_resamples=order.n_resamples,
                seed=order.seed,
                on_progress=lambda n: progress(n, 0),
            )
    return Report(
        kb=order.kb,
        asked=given,
        evaluation=evaluation,
        unreadable={str(given.photos[at].path): why for at, why in photos.errors.items()},
        n_leaks=int(leaks.any.sum()),
        leaks={
            "same file": int(leaks.same_file.sum()),
            "near by perceptual hash": int(leaks.near_hash.sum()),
            "near by embedding": int(leaks.near_vector.sum()),
        },
        leaks_kept=order.keep_leaks,
        n_trained=int(trained.sum()),
        n_anchors={name: len(anchor_set.photos) for name, anchor_set in sets.items()},
        readers=readers,
    )


def warnings(report: Report) -> Iterator[str]:
    """Yield what was left out, and what makes figures doubtful."""
    given = report.asked
    lines = list(
        _left_out(given.unmatched, given.n_unmatched, given.absent, given.n_absent, rest=" (--format json has all)")
    )
    if given.unmatched:
        lines[0] += f"; {NAMES_HINT}"
    yield from lines
    if report.n_leaks:
        done = "measured all the same" if report.leaks_kept else "left out"
        tests = ", ".join(f"{n:,} {test}" for test, n in report.leaks.items())
        are = "photo is an anchor" if report.n_leaks == 1 else "photos are anchors"
        whose = "" if report.n_anchors else " of the knowledge base"
        yield f"{report.n_leaks:,} {are}{whose}, or nearly ({tests}): {done}"
    if report.n_trained:
        done = "measured all the same, so figures are too high" if report.leaks_kept else "left out"
        are = "photo is one" if report.n_trained == 1 else "photos are among those"
        yield f"{report.n_trained:,} {are} that the encoders were trained on, or nearly: {done}"
    if report.unreadable:
        first = next(iter(report.unreadable.items()))
        yield f"{output.plural(len(report.unreadable), 'photo')} could not be read; the first is {first[0]}: {first[1]}"


def _left_out(
    unmatched: Sequence[UnmatchedName], n_unmatched: int, absent: Sequence[str], n_absent: int, *, rest: str
) -> Iterator[str]:
    """Yield which labels are no species, and which species are not in the knowledge base; `rest` says where all are."""
    if unmatched:
        names = _few([_named(name) for name in unmatched], rest)
        yield (
            f"{output.plural(len(unmatched), 'label')} ({output.plural(n_unmatched, 'photo')}) matched no species: "
            f"{names}"
        )
    if absent:
        yield (
            f"{output.plural(len(absent), 'species', 'species')} ({output.plural(n_absent, 'photo')}) not in the "
            f"knowledge base: {_few(absent, rest)}"
        )


def _setups(order: Order, n_encoders: int) -> list[Setup]:
    from recognize.evaluation.setups import Setup, Texts, Vocabulary, ablation

    vocabularies: tuple[Vocabulary, ...] = ("open", "bounded")
    texts: tuple[Texts, ...] = ("descriptions", "names")
    setups: list[Setup] = []
    for vocabulary, kind, anchors in product(vocabularies, texts, order.anchors):
        if order.vocabulary not in {"both", vocabulary} or order.texts not in {"both", kind}:
            continue
        if order.ablation:
            setups += [
                replace(setup, anchors=anchors)
                for setup in ablation(n_encoders, vocabulary=vocabulary, texts=kind)
                if _differs(setup.preset, order, kind, anchors)
            ]
        else:
            setups += [
                Setup(preset=preset, vocabulary=vocabulary, texts=kind, anchors=anchors)
                for preset in order.presets
                if _differs(preset, order, kind, anchors)
            ]
    return setups


def _differs(preset: str, order: Order, texts: str, anchors: str) -> bool:
    """Return whether a row is another than those before it: `anchors-only` reads no texts, and others no anchors."""
    if preset == "anchors-only":
        return (order.texts, texts) != ("both", "names")
    return preset not in WITHOUT_ANCHORS or anchors == order.anchors[0]


def _named(name: UnmatchedName) -> str:
    like = f", like {' or '.join(name.suggestions)}" if name.suggestions else ""
    return f"{name.name} ({name.why}{like})"


def _few(names: Sequence[str], rest: str) -> str:
    n = len(names) - N_NAMED
    return "; ".join(names[:N_NAMED]) + (f"; and {n:,} more{rest}" if n > 0 else "")
