"""Evaluation of runs: measures over queries with known relevant images, and paired tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final

from data.errors import BadInput, UsageError, did_you_mean
from data.frames import Columns, frame_of
from data.metrics import N_TEST_RESAMPLES
from data.metrics.lists import tie_counts
from data.metrics.ranked import Measured, PairedTest, holm, measure_all, paired_test
from data.records import Job, RankedImage
from rerank.evaluation.measures import Figures, RankedList, figures_of
from rerank.evaluation.request import ASPECT, AXES, CUTOFFS, ROUND, SUBSET_CUTOFFS, TiePolicy
from rerank.evaluation.runs import Run, Truth, ranked_list, truth_of_jobs

if TYPE_CHECKING:
    import pandas as pd


KEYS: Final[Columns] = dict.fromkeys(("run", *AXES, ROUND, ASPECT, "measure"), "text")
FIGURES: Final[Columns] = {**KEYS, "n": "integer", **dict.fromkeys(("mean", "standard_error", "low", "high"), "number")}
TESTS: Final[Columns] = {
    "baseline": "text",
    **dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"), "number"),
}
COLUMNS: Final[Columns] = {**FIGURES, **TESTS}
"""Columns of `Evaluation.to_frame`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The figures of a run over the queries with given labels; no labels: all queries."""

    labels: Mapping[str, str]
    """Axis -> label."""
    n: int
    measures: tuple[Measured, ...]

    def __getitem__(self, name: str) -> Measured:
        return next(measured for measured in self.measures if measured.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """The figures of one run. `data.metrics.ranked.DEFINITIONS` defines the measures; intervals are over queries."""

    name: str
    n_missing_queries: int
    """Queries missing from the run; they count as 0."""
    n_unknown_queries: int
    """Queries of the run that are not in the jobs or qrels; ignored."""
    n_missing_images: int
    """Candidates of ranked queries that the run leaves out; they count as not found."""
    n_missing_of_sets: int
    """Images of the sets of ranked queries of CIRR that the run leaves out; R_subset@k counts them as not found."""
    is_within_sets: bool
    """Whether the run ranks the sets of CIRR alone; then its R@k is not over the collection."""
    n_errors: int
    """Images that could not be judged."""
    n_failed_queries: int
    """Queries without any judged image; measured in first-stage order."""
    n_out_of_order: int
    """Images with a rank that contradicts their score; the score counts."""
    cost_usd: float | None
    tied_items: float
    """Share of images with the same score as another."""
    open_pairs: float
    """Share of pairs of a relevant and an irrelevant image with equal scores, which the rule for ties decides."""
    bounds: Mapping[str, tuple[float, float, float]]
    """Measure -> its mean in the worst case of all ties, expected over all orders, and in the best case."""
    strata: tuple[Stratum, ...]
    by_query: Mapping[str, Mapping[str, float]]
    """Query -> measure -> value."""

    @property
    def overall(self) -> Stratum:
        """The figures over all queries."""
        return next(stratum for stratum in self.strata if not stratum.labels)

    def __getitem__(self, name: str) -> Measured:
        """Return a measure over all queries."""
        return self.overall[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run compared with the baseline over the queries of one stratum."""

    run: str
    baseline: str
    measure: str
    labels: Mapping[str, str]
    test: PairedTest
    p_corrected: float
    """`test.p_value` with Holm's correction over all runs compared on this measure and stratum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The figures of several runs over the same queries."""

    n_queries: int
    n_without_relevant: int
    ties: TiePolicy
    cutoffs: tuple[int, ...]
    shown: tuple[str, ...]
    """Measures in the tables; the first one is tested."""
    runs: tuple[RunFigures, ...]
    comparisons: tuple[Comparison, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a row with the `COLUMNS` for each run, stratum and measure; figures are from 0 to 1."""
        figures = [
            {
                **{"run": run.name, **stratum.labels, "measure": found.name, "n": stratum.n, "mean": found.macro},
                **{"standard_error": found.macro_error},
                **dict(zip(("low", "high"), found.macro_interval, strict=True)),
            }
            for run in self.runs
            for stratum in run.strata
            for found in stratum.measures
        ]
        tests = [
            {
                **{"run": each.run, **each.labels, "measure": each.measure, "baseline": each.baseline},
                **{"difference": each.test.difference, "p": each.test.p_value, "p_holm": each.p_corrected},
                **dict(zip(("difference_low", "difference_high"), each.test.interval, strict=True)),
            }
            for each in self.comparisons
        ]
        return frame_of(figures, FIGURES).merge(frame_of(tests, {**KEYS, **TESTS}), how="left", on=list(KEYS))


def evaluate(
    runs: Iterable[Sequence[RankedImage]],
    jobs: Iterable[Job],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    n_resamples: int = N_TEST_RESAMPLES,
) -> RunFigures:
    """Return the figures of re-ranked lists.

    An image is relevant if its job's `relevant` names it; relevant images that the first stage missed count as missed.
    `AP`, `AP (INQUIRE)`, `nDCG` and `MRR` are over the whole list, the others at each cutoff. The order of a list is
    that of its ranks. Queries without relevant images are not measured.

    Args:
        runs: one ranked list for each job, in any order; `rerank.first_stage(job)` gives the one to compare with.
        jobs: the jobs, with `relevant`.
        cutoffs: the k of hit@k, P@k, R@k, AP@k and nDCG@k.
        n_resamples: bootstrap resamples.

    Raises:
        BadInput: if no job has relevant images, a job has no run, a run no job, or a run is not a permutation of its
            job's images.

    Example:
        >>> from data.records import Job, JobImage
        >>> from rerank import first_stage
        >>> images = tuple(JobImage(image_id=c, path=c, score=s) for c, s in (("a", 0.9), ("b", 0.8), ("c", 0.7)))
        >>> job = Job(query_id="q", text="red crown", candidates=images, relevant=("b",))
        >>> evaluate([first_stage(job)], [job])["MRR"].micro
        0.5
    """
    truth = truth_of_jobs(jobs)
    # Scores by rank, so that rounded scores make no ties.
    images = {run[0].query_id: tuple(replace(image, score=-float(image.rank)) for image in run) for run in runs if run}
    for query_id in images:
        if query_id not in truth.candidates:
            raise BadInput(f"The run ranks query {query_id!r}, but there is no such job.")
    for query_id, candidates in truth.candidates.items():
        if sorted(image.image_id for image in images.get(query_id, ())) != sorted(candidates):
            raise BadInput(f"The run of query {query_id!r} is not a permutation of the job's images.")
    run = Run(name="run", images=images)
    return evaluate_runs([run], truth, cutoffs=cutoffs, n_resamples=n_resamples).runs[0]


def evaluate_runs(
    runs: Sequence[Run],
    truth: Truth,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    ties: TiePolicy = "first-stage",
    by: Sequence[Sequence[str]] = (),
    baseline: str | None = None,
    shown: Sequence[str] = ("AP",),
    n_resamples: int = N_TEST_RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Return the figures of several runs over all queries with relevant images, and their differences.

    Queries and images missing from a run count as not found; their number is reported.

    Args:
        runs: at least one, with different names.
        truth: the relevant images.
        cutoffs: the k of the measures that have one.
        ties: the order of equal scores, see `rerank.evaluation.request.TIE_POLICIES`.
        by: axes to split queries by; each entry is one split, by one or several axes.
        baseline: name of the run to compare the others with; None compares nothing.
        shown: measures of the tables; the first one is compared.
        n_resamples: resamples of bootstrap and randomisation.
        seed: random seed of both.

    Raises:
        BadInput: if a run ranks an image twice or one that is not a candidate, or no query has relevant images.
        UsageError: if there is no run, names of runs repeat, or no run has the name of the baseline.
        MissingDependency: if ir-measures is not installed.
    """
    names = [run.name for run in runs]
    if not names:
        raise UsageError("No run is given.", hint="Name at least one; with --jobs the first stage is measured alone.")
    if len(set(names)) < len(names):
        raise UsageError("Two runs have the same name.", hint="NAME=FILE gives a run another name.")
    if baseline is not None and baseline not in names:
        raise UsageError(f'There is no run "{baseline}" to compare with.', hint=did_you_mean(baseline, names))
    if not truth.relevant:
        raise BadInput("No query has relevant images.", hint="Jobs need `relevant`; or use --qrels.")
    groups = _strata(truth, by)
    resampled: Any = {"n_resamples": n_resamples, "seed": seed}
    figures = tuple(_figures(run, truth, cutoffs, ties, groups, partial(measure_all, **resampled)) for run in runs)
    return Evaluation(
        n_queries=len(truth.relevant),
        n_without_relevant=truth.n_without_relevant,
        ties=ties,
        cutoffs=tuple(cutoffs),
        shown=tuple(shown),
        runs=figures,
        comparisons=_comparisons(figures, groups, baseline, shown[0], resampled) if baseline else (),
    )


def _figures(
    run: Run,
    truth: Truth,
    cutoffs: Sequence[int],
    ties: TiePolicy,
    groups: Sequence[tuple[Mapping[str, str], Sequence[str]]],
    measured: Callable[..., tuple[Measured, ...]],
) -> RunFigures:
    ranked: dict[str, RankedList] = {}
    counts: Counter[str] = Counter()
    undecided: list[str] = []
    n_missing_images = n_missing_of_sets = n_outside_sets = 0
    for query_id, relevant in truth.relevant.items():
        candidates = truth.candidates.get(query_id)
        found = ranked[query_id] = ranked_list(_counted(run, query_id, truth), candidates=candidates)
        pool = candidates if candidates is not None else truth.pools.get(query_id)
        if query_id in run.images and pool is not None:
            n_missing_images += len(pool) - len(found.image_ids)
        of_list = tie_counts(found.blocks(relevant))
        counts += of_list
        undecided += [query_id] if of_list["open"] else []
        subset = truth.subsets.get(query_id)
        if subset is not None and query_id in run.images:
            n_within = len(subset.intersection(found.image_ids))
            n_missing_of_sets += len(subset) - n_within
            n_outside_sets += len(found.image_ids) - n_within
    by_query = _by_query(ranked, truth, cutoffs, ties)
    bounds = []
    for rule in ("worst", "expected", "best"):
        # Without an undecided pair all orders of the ties give the same figures.
        of_rule = by_query | _by_query({query: ranked[query] for query in undecided}, truth, cutoffs, rule)
        of_rule = {query: {**found} for query, found in of_rule.items()}
        _add_hits(of_rule, truth.rounds, cutoffs)
        bounds.append(
            {m: sum(each[m] for each in of_rule.values()) / len(of_rule) for m in of_rule[next(iter(ranked))]}
        )
    _add_hits(by_query, truth.rounds, cutoffs)
    worst, expected, best = bounds
    return RunFigures(
        name=run.name,
        n_missing_queries=sum(query_id not in run.images for query_id in truth.relevant),
        n_unknown_queries=len(run.images.keys() - truth.known) if truth.known else 0,
        n_missing_images=n_missing_images,
        n_missing_of_sets=n_missing_of_sets,
        is_within_sets=bool(truth.subsets) and not n_outside_sets,
        n_errors=run.n_errors,
        n_failed_queries=sum(run.has_failed(query_id) for query_id in truth.relevant),
        n_out_of_order=run.n_out_of_order,
        cost_usd=run.cost_usd,
        tied_items=counts["tied"] / max(counts["items"], 1),
        open_pairs=counts["open"] / max(counts["pairs"], 1),
        bounds={m: (worst[m], expected[m], best[m]) for m in best},
        strata=tuple(
            Stratum(labels=labels, n=len(queries), measures=measured(_columns(by_query, queries), list(queries)))
            for labels, queries in groups
        ),
        by_query=by_query,
    )


def _columns(by_query: Mapping[str, Figures], queries: Sequence[str]) -> dict[str, list[float]]:
    """Return measure -> its values for these queries."""
    return {name: [by_query[query][name] for query in queries] for name in by_query[queries[0]]}


def _counted(run: Run, query_id: str, truth: Truth) -> list[RankedImage]:
    """Return the images of a query that its ranking may contain."""
    images, known = run.images.get(query_id, ()), truth.pools.get(query_id, truth.collection)
    unknown = next((image.image_id for image in images if known and image.image_id not in known), None)
    if unknown is not None:
        of = "query" if truth.pools else "data set"
        raise BadInput(
            f"{run.name} ranks {unknown!r} for query {query_id!r}, which is not an image of the {of}.",
            hint=f"Its images are named like {min(known)!r}.",
        )
    return [image for image in images if image.image_id != truth.left_out.get(query_id)]


def _by_query(
    ranked: Mapping[str, RankedList], truth: Truth, cutoffs: Sequence[int], ties: TiePolicy
) -> dict[str, Figures]:
    """Return query -> measure -> value, with those of the small sets where there are some."""
    found = figures_of(ranked, truth.relevant, cutoffs=cutoffs, ties=ties)
    subsets = {query: of.within(truth.subsets[query]) for query, of in ranked.items() if query in truth.subsets}
    if subsets:
        within = figures_of(subsets, truth.relevant, cutoffs=SUBSET_CUTOFFS, ties=ties)
        for query, of in within.items():
            found[query] |= {f"R_subset@{k}": of[f"R@{k}"] for k in SUBSET_CUTOFFS}
    return found


def _add_hits(by_query: Mapping[str, Figures], rounds: Mapping[str, Sequence[str]], cutoffs: Sequence[int]) -> None:
    """Add Hits@k, where queries are rounds of dialogues: the probability of a hit in this round or an earlier one.

    Source:
        Levy et al., NeurIPS 2023, section 4 (a dialogue that has hit once counts as found in all later rounds).
    """
    if not rounds:
        return
    for query_id, found in by_query.items():
        earlier = [by_query[each] for each in rounds.get(query_id, (query_id,)) if each in by_query]
        found |= {f"Hits@{k}": 1 - prod(1 - each[f"hit@{k}"] for each in earlier) for k in cutoffs}


def _comparisons(
    figures: Sequence[RunFigures],
    groups: Sequence[tuple[Mapping[str, str], Sequence[str]]],
    baseline: str,
    name: str,
    resampled: Mapping[str, Any],
) -> tuple[Comparison, ...]:
    base = next(run for run in figures if run.name == baseline)
    others = [run for run in figures if run is not base]
    found: list[Comparison] = []
    for labels, queries in groups:
        differences = ([run.by_query[query][name] - base.by_query[query][name] for query in queries] for run in others)
        tests = [paired_test(each, **resampled) for each in differences]
        corrected = holm([test.p_value for test in tests])
        found += [
            Comparison(run=run.name, baseline=baseline, measure=name, labels=labels, test=test, p_corrected=p)
            for run, test, p in zip(others, tests, corrected, strict=True)
        ]
    return tuple(found)


def _strata(truth: Truth, by: Sequence[Sequence[str]]) -> list[tuple[Mapping[str, str], list[str]]]:
    """Return labels and queries of each stratum: all queries first, then the labelled queries of each split."""
    groups: list[tuple[Mapping[str, str], list[str]]] = [({}, list(truth.relevant))]
    for axes in by:
        found: dict[tuple[str, ...], list[str]] = {}
        for query_id in truth.relevant:
            labels = truth.strata.get(query_id, {})
            for key in product(*(labels.get(axis, ()) for axis in axes)):
                found.setdefault(key, []).append(query_id)
        in_order = sorted(found, key=lambda key: [(len(label) if label.isdigit() else 0, label) for label in key])
        groups += [(dict(zip(axes, key, strict=True)), found[key]) for key in in_order]
    return groups
