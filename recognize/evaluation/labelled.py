"""Evaluation of recognition on a labelled dataset: selection of photos, leaks, setups and readers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final, get_args

from data.contracts import Encoders, KnowledgeStore
from data.errors import MissingRequirement, NothingReadable
from data.labelled_photos import LabelledPhoto
from data.records import Taxon
from recognize.evaluation.comparison import SpeciesEvaluation, compare_setups
from recognize.evaluation.datasets import Dataset
from recognize.evaluation.encoded_photos import EncodedPhotos, encode_photos
from recognize.evaluation.leaks import find_leaks, find_trained
from recognize.evaluation.picture_hash import hash_pictures
from recognize.evaluation.reader_comparison import ReaderEvaluation, ReaderResources, compare_readers
from recognize.evaluation.reader_setups import K_PAPER, ReaderSetup, comparisons
from recognize.evaluation.setups import KB_ANCHORS, AnchorSet, Setup, Texts, Vocabulary, ablation
from recognize.reader.candidate_context import CONTEXTS, CandidateContext, SourceTexts
from recognize.settings import EvaluationSettings

WITHOUT_ANCHORS: Final = ("text-only", "direct-rag")
"""Presets that use no reference photos."""
K_OF_PRESET: Final = {"vr-rag-v2": 5}  # the constant of the authors' code; all others take the paper's
COMPARED: Final = "vr-rag-v1"
"""Preset of the paper's comparisons of readers."""

ProgressMeter = Callable[[str, int], AbstractContextManager[Callable[[int, int], None]]]
"""(noun, total) -> context that gives a function of (done, failed)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRequest:
    """Rankings to measure on a dataset."""

    presets: tuple[str, ...]
    anchors: tuple[str, ...] = (KB_ANCHORS,)
    """Anchor sets to compare."""
    ablation: bool = False
    """Single encoders, pairs and all instead of the presets."""
    comparisons: bool = False
    """The paper's comparisons of readers instead of the contexts and candidates of the settings."""
    settings: EvaluationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedPhotos:
    """Photos of a dataset with species of the knowledge base, and counts of the others."""

    kind: str
    """Kind of the dataset."""
    n_photos: int
    """Photos of the split."""
    photos: tuple[LabelledPhoto, ...]
    labels: tuple[str, ...]
    """Taxon id of each photo."""
    n_unmatched: int
    """Photos with a label that matches no species."""
    absent: tuple[str, ...]
    """Species of the labels outside the knowledge base."""
    n_absent: int
    anchors: Mapping[str, tuple[tuple[LabelledPhoto, str], ...]]
    """Name of an anchor set -> its photos, each with its taxon id."""
    covered: tuple[str, ...]
    """Taxon ids of the species that the anchor sets cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledReport:
    """Figures on a dataset, and counts of skipped photos."""

    evaluation: SpeciesEvaluation
    readers: ReaderEvaluation | None
    unreadable: dict[str, str]
    """Path -> reason."""
    n_leaks: int
    leaks: dict[str, int]
    """Test -> photos that are anchors, or nearly; several tests may find the same photo."""
    n_trained: int
    """Photos that the encoders were trained on, or nearly, as far as the encoders record it."""
    n_anchors: dict[str, int]
    """Name of an anchor set -> its readable photos."""


def select_photos(
    dataset: Dataset, taxa: Mapping[str, Taxon], held: Collection[str], *, limit: int | None = None
) -> SelectedPhotos:
    """Return the photos of a dataset with species of the knowledge base.

    Args:
        dataset: the dataset.
        taxa: label -> species; a label without one is unmatched.
        held: taxon ids of the knowledge base.
        limit: number of photos, evenly spread over the dataset.
    """
    matched = [(photo, taxa[photo.label]) for photo in dataset.photos if photo.label in taxa]
    kept = [(photo, taxon.taxon_id) for photo, taxon in matched if taxon.taxon_id in held]
    absent = {taxon.scientific_name for _, taxon in matched if taxon.taxon_id not in held}
    n_absent = len(matched) - len(kept)
    if limit is not None and limit < len(kept):
        kept = [kept[i * len(kept) // limit] for i in range(limit)]
    return SelectedPhotos(
        kind=dataset.kind,
        n_photos=len(dataset.photos),
        photos=tuple(photo for photo, _ in kept),
        labels=tuple(label for _, label in kept),
        n_unmatched=len(dataset.photos) - len(matched),
        absent=tuple(sorted(absent)),
        n_absent=n_absent,
        anchors={
            name: tuple((photo, taxa[photo.label].taxon_id) for photo in photos if photo.label in taxa)
            for name, photos in dataset.anchors.items()
        },
        covered=tuple(dict.fromkeys(taxa[label].taxon_id for label in dataset.covered if label in taxa)),
    )


# Long: a quarter of it documents the parameters; the steps share the photos and splits.
def evaluate_photos(
    store: KnowledgeStore,
    encoders: Encoders,
    selected: SelectedPhotos,
    request: LabelledRequest,
    *,
    anchor_path: Callable[[str], Path],
    progress: ProgressMeter,
    resources: ReaderResources | None = None,
) -> LabelledReport:
    """Return the figures on the photos that are readable and do not leak.

    Args:
        store: the knowledge base.
        encoders: its encoders.
        selected: the photos.
        request: the rankings to measure.
        anchor_path: SHA-256 of a reference photo of the knowledge base -> its file.
        progress: shows the number of photos done.
        resources: the model, if readers are measured.

    Raises:
        NothingReadable: if no photo is left.
        CostStop: before the cost limit is passed; cached replies stay.
    """
    store.check_space(encoders.spaces)
    settings = request.settings

    def encode(noun: str, photos: Sequence[LabelledPhoto]) -> EncodedPhotos:
        with progress(noun, len(photos)) as show:
            return encode_photos(encoders, [photo.path for photo in photos], on_progress=lambda n: show(n, 0))

    photos = encode("photos", selected.photos)
    sets: dict[str, AnchorSet] = {}
    for name in request.anchors:
        if name != KB_ANCHORS:
            anchors = selected.anchors[name]
            read = encode(f"anchors {name}", [photo for photo, _ in anchors])
            labels = tuple(anchors[at][1] for at in read.positions)
            sets[name] = AnchorSet(covered=selected.covered, photos=read, labels=labels)
    digests = sorted({a.sha256 for e in store.species(store.taxon_ids) for a in e.anchors if a.sha256 is not None})
    hashes = hash_pictures(map(anchor_path, digests))
    leaks = find_leaks(photos, store.anchor_vectors(encoders.visual.space).vectors, digests=digests, hashes=hashes)
    for other in (anchor_set.photos for anchor_set in sets.values()):
        leaks |= find_leaks(photos, other.queries.visual, digests=other.digests, hashes=other.hashes)
    trained = find_trained(photos, encoders)
    measured = photos if settings.keep_leaks else photos.only(~(leaks.any | trained))
    if not len(measured):
        raise NothingReadable(
            f"None of {len(selected.photos):,} photos is left: {len(photos.errors):,} unreadable, "
            f"{int(leaks.any.sum()):,} equal or nearly equal to reference photos, {int(trained.sum()):,} among the "
            "training photos of the encoders.",
            hint="Use --set keep_leaks=true to measure them too." if leaks.any.any() or trained.any() else None,
        )
    labels_of = [selected.labels[at] for at in measured.positions]
    setups = setups_of(request, len(encoders.text_image))
    evaluation = compare_setups(
        store,
        encoders,
        measured,
        labels_of,
        setups,
        anchor_sets=sets,
        n_resamples=settings.resamples,
        seed=settings.seed,
    )
    setups = [figures.setup for figures in evaluation.figures]  # without presets that the knowledge base cannot serve
    readers = None
    if resources is not None:
        reader_setups = reader_setups_of(request, setups, store, resources.sources)
        with progress("read", len(measured) * len(reader_setups)) as show:
            readers = compare_readers(
                store,
                encoders,
                measured,
                [selected.photos[at].path for at in measured.positions],
                labels_of,
                reader_setups,
                resources,
                anchor_sets=sets,
                n_resamples=settings.resamples,
                seed=settings.seed,
                on_progress=lambda n: show(n, 0),
            )
    return LabelledReport(
        evaluation=evaluation,
        readers=readers,
        unreadable={str(selected.photos[at].path): why for at, why in photos.errors.items()},
        n_leaks=int(leaks.any.sum()),
        leaks={
            "same file": int(leaks.same_file.sum()),
            "near by perceptual hash": int(leaks.near_hash.sum()),
            "near by embedding": int(leaks.near_vector.sum()),
        },
        n_trained=int(trained.sum()),
        n_anchors={name: len(anchor_set.photos) for name, anchor_set in sets.items()},
    )


_TEXTS: Mapping[str, tuple[Texts, ...]] = {
    **{texts: (texts,) for texts in get_args(Texts)},
    "both": ("descriptions", "names"),
}
"""Setting -> texts."""


def setups_of(request: LabelledRequest, n_encoders: int) -> list[Setup]:
    """Return the setups of a request; a setup that repeats an earlier one is left out."""
    settings, setups = request.settings, []
    vocabularies: tuple[Vocabulary, ...] = ("open", "bounded")
    kinds: tuple[Texts, ...] = get_args(Texts)
    for vocabulary, texts, anchors in product(vocabularies, kinds, request.anchors):
        if settings.vocabulary not in ("both", vocabulary) or texts not in _TEXTS[settings.texts]:
            continue
        presets = [Setup(preset=preset, vocabulary=vocabulary, texts=texts) for preset in request.presets]
        every = ablation(n_encoders, vocabulary=vocabulary, texts=texts) if request.ablation else presets
        for setup in every:
            if setup.preset == "anchors-only":  # it reads no texts
                is_new = (settings.texts, texts) != ("both", "names")
            else:
                is_new = setup.preset not in WITHOUT_ANCHORS or anchors == request.anchors[0]
            if is_new:
                setups.append(replace(setup, anchors=anchors))
    return setups


def reader_setups_of(
    request: LabelledRequest, setups: Sequence[Setup], store: KnowledgeStore, sources: SourceTexts
) -> list[ReaderSetup]:
    """Return every context and number of candidates for each ranking, or the paper's comparisons.

    Contexts of the paper that the knowledge base lacks are left out with a warning.
    """
    _warn_of_unrefined(store)
    settings = request.settings
    # One vocabulary, since each answer of a model costs; the paper's is open.
    vocabulary = "bounded" if settings.vocabulary == "bounded" else "open"
    setups = [setup for setup in setups if setup.vocabulary == vocabulary]
    if request.comparisons:
        kept = []
        for setup in comparisons(next(setup for setup in setups if setup.preset == COMPARED)):
            try:
                CandidateContext(store, setup.context, sources)
            except MissingRequirement as error:
                _log.warning("The context %s is left out: %s", setup.context, error)
            else:
                kept.append(setup)
        return kept
    contexts = [context for context in CONTEXTS if context in settings.reader_contexts]
    ks = tuple(dict.fromkeys(settings.reader_candidates))
    found = [
        ReaderSetup(retrieval=setup, context=context, k=k, forced=settings.reader_forced)
        for setup in setups
        for context in contexts
        for k in ks or (K_OF_PRESET.get(setup.preset, K_PAPER),)
    ]
    return [*found, ReaderSetup(retrieval=None)] if settings.reader_alone else found


def _warn_of_unrefined(store: KnowledgeStore) -> None:
    """Warn if no summary is refined, since the context `refined` then shows other summaries."""
    summaries = [entry.summary for entry in store.species(store.taxon_ids) if entry.summary is not None]
    if summaries and all(summary.stage != "refined" for summary in summaries):
        made_by = summaries[0].distiller.split(" ")[0]
        _log.warning("No summary of the knowledge base is refined: the context refined shows those of %s.", made_by)
