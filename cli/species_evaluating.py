"""What `kb eval species` is asked for, what it measures, and its tables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli import output, wiring
from data.errors import BadInput, NothingReadable, UsageError

if TYPE_CHECKING:
    from data.benchmarks.species import LabelledPhoto
    from data.metrics import Measured
    from kb.reconciling import UnmatchedName
    from kb.store import KnowledgeBase
    from recognize.species_evaluation import Setup, SetupFigures, SpeciesEvaluation

N_NAMED = 10  # of what did not match, in tables and warnings
SHOWN = ("top-1", "top-5", "hit@30", "MRR@5", "MRR@10", "genus")
CSV_COLUMNS = (
    *("vocabulary", "texts", "preset", "encoders", "measure", "n_photos", "n_species", "n_searched"),
    *("micro", "micro_low", "micro_high", "macro", "macro_low", "macro_high"),
    *("baseline", "difference", "difference_low", "difference_high", "p", "p_holm"),
)
CHUNKS = ("chunk MRR@1", "chunk MRR@5", "chunk MRR@10")


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
    """Way of looking -> photos that it found to be anchors, or nearly; one photo may be found in several ways."""
    leaks_kept: bool


def check(order: Order, *, has_presets: bool) -> None:
    """Raise `UsageError` if arguments contradict each other."""
    if order.ablation and has_presets:
        raise UsageError("--ablation has presets of its own", hint="leave out --preset")
    if order.photos is not None and order.dataset.suffix != ".json":
        raise UsageError(f"--photos goes with an iNaturalist list, not with {order.dataset}")


def asked(order: Order, known: Sequence[str]) -> Asked:
    """Return the photos of the dataset whose species the knowledge base holds.

    Raises:
        BadInput: if the dataset cannot be read.
        NothingReadable: if no photo is left.
    """
    kind, found = _read(order)
    labels = list(dict.fromkeys(photo.label for photo in found))
    reconciled = wiring.reconciled(labels)
    taxon_of = {match.name: match.taxon for match in reconciled.matched}
    held = frozenset(known)
    matched = [(photo, taxon_of[photo.label]) for photo in found if photo.label in taxon_of]
    kept = [(photo, taxon.taxon_id) for photo, taxon in matched if taxon.taxon_id in held]
    if not kept:
        names = ", ".join(labels[:3])
        raise NothingReadable(
            f"no photo of {order.dataset} has a species of the knowledge base ({len(matched):,} of {len(found):,} "
            f"labels are species' names; the first labels are {names})"
        )
    if order.limit is not None and order.limit < len(kept):
        kept = [kept[i * len(kept) // order.limit] for i in range(order.limit)]
    absent = {taxon.scientific_name for taxon in taxon_of.values() if taxon.taxon_id not in held}
    return Asked(
        kind=kind,
        n_photos=len(found),
        photos=tuple(photo for photo, _ in kept),
        labels=tuple(label for _, label in kept),
        unmatched=reconciled.unmatched,
        absent=tuple(sorted(absent)),
        n_unmatched=len(found) - len(matched),
        n_absent=sum(taxon.taxon_id not in held for _, taxon in matched),
    )


def evaluated(order: Order, store: KnowledgeBase, given: Asked, progress: Callable[[int, int], None]) -> Report:
    """Return the figures on the photos that can be read and do not leak.

    Raises:
        NothingReadable: if there are none.
    """
    from recognize.encoded import encode_photos, find_leaks
    from recognize.species_evaluation import compare_setups

    encoders = wiring.load_encoders(store.info.profile)
    store.check_space(encoders.spaces)
    photos = encode_photos(encoders, [photo.path for photo in given.photos], on_progress=lambda n: progress(n, 0))
    digests = sorted({a.sha256 for e in store.species(store.taxon_ids) for a in e.anchors if a.sha256 is not None})
    leaks = find_leaks(
        photos,
        store.anchor_vectors(encoders.visual.space).vectors,
        digests=digests,
        pictures=map(store.anchor_path, digests),
    )
    measured = photos if order.keep_leaks else photos.only(~leaks.any)
    if not len(measured):
        raise NothingReadable(
            f"none of {output.plural(len(given.photos), 'photo')} is left: {len(photos.errors):,} cannot be read, "
            f"{int(leaks.any.sum()):,} are anchors of the knowledge base or nearly",
            hint=None if not leaks.any.any() else "--keep-leaks measures these too",
        )
    evaluation = compare_setups(
        store,
        encoders,
        measured,
        [given.labels[at] for at in measured.positions],
        _setups(order, len(encoders.text_image)),
        n_resamples=order.n_resamples,
        seed=order.seed,
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
    )


def warnings(report: Report) -> Iterator[str]:
    """Yield what was left out, and what makes figures doubtful."""
    given = report.asked
    if given.unmatched:
        names = _few([_named(name) for name in given.unmatched])
        yield (
            f"{output.plural(len(given.unmatched), 'label')} ({output.plural(given.n_unmatched, 'photo')}) matched no "
            f"species: {names}"
        )
    if given.absent:
        yield (
            f"{output.plural(len(given.absent), 'species', 'species')} ({output.plural(given.n_absent, 'photo')}) not "
            f"in the knowledge base: {_few(given.absent)}"
        )
    if report.n_leaks:
        done = "measured all the same" if report.leaks_kept else "left out"
        ways = ", ".join(f"{n:,} {way}" for way, n in report.leaks.items())
        are = "photo is an anchor" if report.n_leaks == 1 else "photos are anchors"
        yield f"{report.n_leaks:,} {are} of the knowledge base, or nearly ({ways}): {done}"
    if report.unreadable:
        first = next(iter(report.unreadable.items()))
        yield f"{output.plural(len(report.unreadable), 'photo')} could not be read; the first is {first[0]}: {first[1]}"


def payload(report: Report) -> dict[str, object]:
    """Return the report as JSON values, with the definition of each measure."""
    from data.codec import to_json
    from recognize.species_evaluation import DEFINITIONS

    given = report.asked
    return {
        "kb": report.kb,
        "dataset": given.kind,
        "photos": {
            "of_dataset": given.n_photos,
            "label_unmatched": given.n_unmatched,
            "species_not_in_kb": given.n_absent,
            "asked": len(given.photos),
            "unreadable": report.unreadable,
            "leaks": {"n": report.n_leaks, "kept": report.leaks_kept, **report.leaks},
        },
        "unmatched": [to_json(name) for name in given.unmatched],
        "not_in_kb": list(given.absent),
        **to_json(report.evaluation),
        "definitions": dict(DEFINITIONS),
    }


def as_csv(report: Report) -> str:
    """Return one row for each way of ranking and measure; figures from 0 to 1."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    evaluation = report.evaluation
    tests = {(test.setup, test.measure): test for test in evaluation.tests}
    names = _names(evaluation)
    for figures in evaluation.figures:
        setup = figures.setup
        for found in figures.measures:
            test = tests.get((setup, found.name))
            writer.writerow(
                [setup.vocabulary, setup.texts, setup.preset, "+".join(figures.encoder_names), found.name]
                + [evaluation.n, evaluation.n_species, figures.n_searched]
                + [found.micro, *found.micro_interval, found.macro, *found.macro_interval]
                + ([names[test.baseline], test.test.difference, *test.test.interval] if test else [""] * 4)
                + ([test.test.p_value, test.p_corrected] if test else [""] * 2)
            )
    return out.getvalue()


def as_text(report: Report) -> str:
    """Return the tables for people, in percent, and what the words in them mean."""
    from recognize.species_evaluation import DEFINITIONS

    evaluation, given = report.evaluation, report.asked
    parts = [
        f"{given.kind}: {output.plural(evaluation.n, 'photo')} of "
        f"{output.plural(evaluation.n_species, 'species', 'species')}; knowledge base {report.kb}"
    ]
    for vocabulary in dict.fromkeys(figures.setup.vocabulary for figures in evaluation.figures):
        rows = [figures for figures in evaluation.figures if figures.setup.vocabulary == vocabulary]
        head = f"{vocabulary}, {output.plural(rows[0].n_searched, 'species', 'species')} can be the answer"
        parts.append(f"{head}; by photo (micro), percent\n{_table(rows, 'micro')}")
        parts.append(f"{head}; by species (macro), percent\n{_table(rows, 'macro')}")
        if tests := _tests_table(evaluation, vocabulary):
            parts.append(tests)
    parts.append("\n".join(f"{word}: {meaning}" for word, meaning in DEFINITIONS.items()))
    return "\n\n".join(parts)


def _read(order: Order) -> tuple[str, list[LabelledPhoto]]:
    from data.benchmarks.species import read_class_folders, read_cub, read_inaturalist

    if order.dataset.suffix == ".json":
        kind, found = "iNaturalist", read_inaturalist(order.dataset, root=order.photos)
    elif (order.dataset / "images.txt").is_file():
        kind, found = "CUB-200-2011", read_cub(order.dataset)
    elif order.dataset.is_dir():
        kind, found = "class folders", read_class_folders(order.dataset)
    else:
        raise BadInput(f"{order.dataset}: expected a folder, or a .json list of iNaturalist")
    splits = Counter(photo.split for photo in found)
    wanted = order.split or ("test" if splits["test"] else "all")
    if wanted != "all":
        found = [photo for photo in found if photo.split == wanted]
        kind += f", {wanted}"
    if not found:
        there = ", ".join(sorted(split for split in splits if split)) or "no splits"
        raise NothingReadable(f"{order.dataset} has no photo of the split {wanted!r}; there: {there}")
    return kind, found


def _setups(order: Order, n_encoders: int) -> list[Setup]:
    from recognize.species_evaluation import Setup, Texts, Vocabulary, ablation

    vocabularies: tuple[Vocabulary, ...] = ("open", "bounded")
    texts: tuple[Texts, ...] = ("descriptions", "names")
    setups = []
    for vocabulary in vocabularies:
        for kind in texts:
            if order.vocabulary not in {"both", vocabulary} or order.texts not in {"both", kind}:
                continue
            if order.ablation:
                setups += ablation(n_encoders, vocabulary=vocabulary, texts=kind)
            else:
                # anchors-only reads no texts: beside its row with descriptions another one would be the same.
                presets = [p for p in order.presets if p != "anchors-only" or (order.texts, kind) != ("both", "names")]
                setups += [Setup(preset=preset, vocabulary=vocabulary, texts=kind) for preset in presets]
    return setups


def _table(rows: Sequence[SetupFigures], mean: str) -> str:
    columns = [*SHOWN, *(CHUNKS if any(_has_chunks(row) for row in rows) else ())]
    return output.as_table(
        ["", *columns],
        [[_name(row), *(_cell(row, name, mean, wide=name == "top-1") for name in columns)] for row in rows],
        right=columns,
    )


def _tests_table(evaluation: SpeciesEvaluation, vocabulary: str) -> str:
    tests = [test for test in evaluation.tests if test.setup.vocabulary == vocabulary]
    if not tests:
        return ""
    names = _names(evaluation)
    columns = ["measure", "difference", "its interval", "better/worse", "p", "p (Holm)"]
    rows = []
    for test in tests:
        found = test.test
        low, high = (f"{100 * bound:+.1f}" for bound in found.interval)
        figures = [f"{100 * found.difference:+.1f}", f"{low} to {high}", f"{found.n_better}/{found.n_worse}"]
        rows.append([names[test.setup], test.measure, *figures, _p(found.p_value), _p(test.p_corrected)])
    head = f"{vocabulary}, less {names[tests[0].baseline]!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns[1:])


def _names(evaluation: SpeciesEvaluation) -> dict[Setup, str]:
    return {figures.setup: _name(figures) for figures in evaluation.figures}


def _name(figures: SetupFigures) -> str:
    """Return what a row is called; the encoders are named where a row says which take part."""
    setup = figures.setup
    name = setup.preset
    if setup.encoders is not None:
        name = "+".join(figures.encoder_names) + (", re-ranked" if setup.preset == "vr-rag-v1" else "")
    return f"{name}, names" if setup.texts == "names" else name


def _has_chunks(figures: SetupFigures) -> bool:
    return any(found.name in CHUNKS for found in figures.measures)


def _cell(figures: SetupFigures, name: str, mean: str, *, wide: bool) -> str:
    found: Measured | None = next((found for found in figures.measures if found.name == name), None)
    if found is None:
        return ""
    value, (low, high) = (found.micro, found.micro_interval) if mean == "micro" else (found.macro, found.macro_interval)
    return f"{100 * value:.1f}" + (f" ({100 * low:.1f} to {100 * high:.1f})" if wide else "")


def _named(name: UnmatchedName) -> str:
    like = f", like {' or '.join(name.suggestions)}" if name.suggestions else ""
    return f"{name.name} ({name.why}{like})"


def _few(names: Sequence[str]) -> str:
    rest = len(names) - N_NAMED
    return "; ".join(names[:N_NAMED]) + (f"; and {rest:,} more (--format json has all)" if rest > 0 else "")


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
