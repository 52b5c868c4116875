"""Effect of a list of expected species: the right list of a region, a wrong one, and random ones.

    python -m benchmarks.species_lists --data ../shared/birds --work work [--temperatures]

`--work` is the work folder of `training.starter.train`. The photos are the queries of the starter protocol, with up to
three anchors per species and all 1,407 species in the vocabulary, ranked by `default` without and with a list.
*Unseen*: all queries, with models and weights trained without their species. *Seen*: the hidden half, with the shipped
model. The lists are the species of three collections, of North America, Denmark and Nepal; photos of Europe use that of
Denmark. `--temperatures` fits the unit of the boost, without the hidden half.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from data.arrays import IntArray
from data.metrics.ranked import measure
from recognize.confidence.calibration import SHIPPED, Chances, chances_of, read_calibration
from recognize.confidence.labelled import fit_temperature
from recognize.confidence.prior import ListPrior, SpeciesList, judged, temperature_of
from recognize.scoring.knowledge import Knowledge, Queries
from recognize.scoring.presets import WEIGHTS, FusionWeights, default
from recognize.scoring.ranking import Ranking
from recognize.scoring.vr_rag import anchors_only, text_only, vr_rag_v1, vr_rag_v2
from recognize.settings import OFF_LIST_SHARE, UNKNOWN_PRIOR
from training.starter.confidence.cases import Case, ask, lineages_of
from training.starter.fitting import calibration_error
from training.starter.measure import MODES
from training.starter.protocol import N_FOLDS
from training.starter.study import Study, rank_of, read_study
from training.tables import decimals, markdown

SHARES = (0.01, 0.05, 0.1, 0.2)
SHOWN = OFF_LIST_SHARE  # the share with intervals and confidences
SIZES = (100, 300, 700)
LISTS = {"North America": "wikipedia_lead_na", "Denmark": "danish_birds", "Nepal": "nepal_thumbs"}
"""List -> its collection."""
PHOTOS = {
    "North America": ("nabirds33", "vbet", "cub_singles36"),
    "Europe": ("euro30_cc", "oiseaux_fr"),
    "Nepal": ("nepal_thumbs",),
}
PAIRS = (
    ("North America", "North America"), ("North America", "Denmark"), ("Europe", "Denmark"),
    ("Europe", "North America"), ("Nepal", "Nepal"), ("Nepal", "North America"),
)  # fmt: skip


Cases = Mapping[int, Case]
"""Photo -> its ranking."""


def rank_photos(study: Study, setting: str, weights: Sequence[FusionWeights], photos: IntArray) -> dict[int, Case]:
    """Return the rankings of photos by `default`."""
    labels, folds = study.collection.labels, study.collection.folds
    cases: dict[int, Case] = {}
    for fold in range(N_FOLDS):
        mine = photos[folds[labels[photos]] == fold]
        model = study.seen if setting == "seen" else study.folds[fold]
        found = ask(study, model, "three", mine, weights[fold])
        cases |= zip(mine.tolist(), found, strict=True)
    return cases


def prior_of(study: Study, listed: set[str], share: float) -> ListPrior:
    """Return the prior of a list of scientific names over the protocol's vocabulary."""
    names = frozenset(listed & set(study.collection.vocabulary))
    temperature, _ = temperature_of("starter", "default", "several")
    return ListPrior(
        SpeciesList(taxon_ids=names, off_list_share=share), study.collection.vocabulary, temperature=temperature
    )


def compare(cases: Cases, prior_for: Callable[[int, float], ListPrior]) -> list[str]:
    """Return the cells of a row: top-1 without and with the list, the difference, top-5."""
    plain = [rank_of(case.ranking, case.truth) for case in cases.values()]
    listed = {
        share: [rank_of(prior_for(photo, share).apply(case.ranking, None), case.truth) for photo, case in cases.items()]
        for share in SHARES
    }
    gains = [
        float(with_list == 1) - float(without == 1) for with_list, without in zip(listed[SHOWN], plain, strict=True)
    ]
    gain = measure("gain", gains, [str(case.truth) for case in cases.values()])
    low, high = gain.micro_interval
    return [
        decimals(hits(plain, 1)),
        *(decimals(hits(listed[share], 1)) for share in SHARES),
        f"{gain.micro:+.3f} ({low:+.3f} to {high:+.3f})",
        f"{decimals(hits(plain, 5))} -> {decimals(hits(listed[SHOWN], 5))}",
    ]


def hits(ranks: Sequence[int], k: int) -> float:
    """Return the share of ranks within the first k."""
    return float(np.mean([rank <= k for rank in ranks]))


HEAD = [
    *("photos", "list", "n", "species on it", "photos on it", "top-1 without", *(f"share {s}" for s in SHARES)),
    *(f"gain at {SHOWN}", "top-5 without -> with"),
]


def regions(study: Study, setting: str, cases: Cases) -> list[str]:
    """Return the table of regional lists."""
    rows: list[list[object]] = []
    lists, source = species_of_lists(study), sources(study)
    for photos, name in PAIRS:
        some = {photo: case for photo, case in cases.items() if source[photo] in PHOTOS[photos]}
        priors = {share: prior_of(study, lists[name], share) for share in SHARES}
        on_it = np.mean([study.collection.vocabulary[case.truth] in lists[name] for case in some.values()])
        n_listed = len(lists[name] & set(study.collection.vocabulary))
        cells = compare(some, lambda _photo, share, priors=priors: priors[share])  # type: ignore[misc]
        rows.append([photos, name, len(some), n_listed, decimals(float(on_it)), *cells])
    return ["", f"**lists of regions, {setting}**", "", *markdown(HEAD, rows)]


def at_random(study: Study, setting: str, cases: Cases) -> list[str]:
    """Return the table of random lists, with and without the species of the photo."""
    rows: list[list[object]] = []
    names = np.array(study.collection.vocabulary)
    for size in SIZES:
        for is_on in (True, False):
            rng = np.random.default_rng(size)
            drawn: dict[int, set[str]] = {}
            for photo, case in cases.items():
                others = rng.choice(np.delete(np.arange(len(names)), case.truth), size - is_on, replace=False)
                drawn[photo] = {*names[others], *([names[case.truth]] if is_on else [])}
            cells = compare(cases, lambda photo, share, drawn=drawn: prior_of(study, drawn[photo], share))  # type: ignore[misc]
            rows.append(["all", "at random", len(cases), size, "1.000" if is_on else ".000", *cells])
    return ["", f"**lists at random, {setting}**", "", *markdown(HEAD, rows)]


def confidences(study: Study, setting: str, cases: Cases) -> list[str]:
    """Return the table of calibration errors without and with a list, on photos that were never used for fitting."""
    rows: list[list[object]] = []
    lists, source = species_of_lists(study), sources(study)
    parameters = read_calibration(SHIPPED).parameters["default"]["several"]
    lineages = lineages_of(study.collection.vocabulary)
    for photos, name in PAIRS:
        prior = prior_of(study, lists[name], SHOWN)
        some = [case for photo, case in cases.items() if source[photo] in PHOTOS[photos]]
        sure: tuple[list[float], list[float]] = ([], [])
        right: tuple[list[bool], list[bool]] = ([], [])
        for case in some:
            rows_of_case = case.evidence(parameters.temperature)[None]
            chances: Chances = chances_of(rows_of_case, parameters, unknown_prior=UNKNOWN_PRIOR)[0]
            after = prior.apply(case.ranking, None)
            found = prior.chances(
                case.ranking, after, chances, [lineages[int(i)] for i in judged(case.ranking, after)], None
            )
            for at, (ranking, made) in enumerate(((case.ranking, chances), (after, found))):
                sure[at].append(made.held["species"])
                right[at].append(int(ranking.species[0]) == case.truth)
        cells = []
        for confidence, is_right in zip(sure, right, strict=True):
            error = calibration_error(np.array(confidence), np.array(is_right), min(10, max(1, len(some) // 10)))
            cells += [decimals(float(np.mean(is_right))), decimals(float(np.mean(confidence))), decimals(error)]
        rows.append([photos, name, len(some), *cells])
    head = ["photos", "list", "n", "correct", "mean confidence", "calibration error"]
    head += ["correct with the list", "mean", "error"]
    title = f"**confidence of the species, {setting}, hidden half, `off_list_share={SHOWN}`**"
    return ["", title, "", *markdown(head, rows)]


def species_of_lists(study: Study) -> dict[str, set[str]]:
    """Return list -> its species."""
    return {
        name: {photo.species for photo in study.collection.photos if photo.source == source}
        for name, source in LISTS.items()
    }


def sources(study: Study) -> Mapping[int, str]:
    """Return photo -> its collection."""
    return {i: photo.source for i, photo in enumerate(study.collection.photos)}


Run = Callable[[Knowledge, Queries], list[Ranking]]


def temperatures(study: Study) -> list[str]:
    """Return the fitted temperature of each preset; new and known species have equal weight."""
    rows: list[list[object]] = []
    labels, folds = study.collection.labels, study.collection.folds
    lineages = lineages_of(study.collection.vocabulary)
    for name, mode in MODES.items():
        weights = WEIGHTS["starter"][mode]
        runs: dict[str, Run] = {
            "default": lambda k, q, w=weights: default(k, q, weights=w),  # type: ignore[misc]
            "vr-rag-v1": vr_rag_v1,
            "vr-rag-v2": vr_rag_v2,
            "text-only": text_only,
            "anchors-only": anchors_only,
        }
        for preset, run in runs.items():
            groups: tuple[list[Case], list[Case]] = ([], [])
            for fold, model in enumerate(study.folds):
                new = np.setdiff1d(study.fold_queries(fold), study.collection.hidden)
                held = study.held[folds[labels[study.held]] != fold]
                knowledge = model.knowledge(name, study.everything)
                for group, photos in zip(groups, (new, held), strict=True):
                    group += [
                        Case(truth=int(labels[photo]), ranking=ranking, queries=model.queries(photos[[row]]),
                             knowledge=knowledge, vocabulary=study.everything, lineages=lineages)
                        for row, (photo, ranking) in enumerate(
                            zip(photos, run(knowledge, model.queries(photos)), strict=True)
                        )
                    ]  # fmt: skip
            scored = [(*case.scores(), 1 / len(group)) for group in groups for case in group]
            rows.append([preset, mode, f"{fit_temperature(scored):.3f}"])
    return markdown(["preset", "anchors", "temperature"], rows)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of photos.csv")
    parser.add_argument("--work", type=Path, required=True, help="folder of the trained models")
    parser.add_argument("--temperatures", action="store_true", help="only fit the temperatures")
    args = parser.parse_args()
    study = read_study(args.data, args.work)
    lines = temperatures(study) if args.temperatures else []
    if not args.temperatures:
        ships = [WEIGHTS["starter"]["several"]] * N_FOLDS
        for setting in ("unseen", "seen"):
            weights = study.nested_weights("three") if setting == "unseen" else ships
            cases = rank_photos(study, setting, weights, study.queries_of(setting))
            lines += regions(study, setting, cases) + at_random(study, setting, cases)
            hidden = rank_photos(study, setting, ships, study.hidden)
            lines += confidences(study, setting, hidden)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
