"""What `kb eval rerank` is asked for, and its tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from data.errors import BadInput, UsageError
from data.records import Job

if TYPE_CHECKING:
    from data.metrics.ranked import Measured
    from rerank.evaluation.report import Comparison, Evaluation, RunFigures, Stratum
    from rerank.evaluation.runs import Run, Truth

AXES = ("supercategory", "lingo")
FIRST_STAGE = "first stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The arguments of `kb eval rerank`."""

    runs: tuple[str, ...]
    jobs: Path | None
    split: str | None
    qrels: Path | None
    cutoffs: tuple[int, ...]
    measures: tuple[str, ...]
    ties: str
    baseline: str | None
    strata: str
    without: tuple[str, ...]
    n_resamples: int
    seed: int

    @property
    def shown(self) -> tuple[str, ...]:
        """The measures that tables show; the first is the one of strata and tests."""
        if self.measures:
            return self.measures
        low, high = self.cutoffs[0], self.cutoffs[-1]
        return (f"AP@{high} (INQUIRE)", f"AP@{high}", f"nDCG@{high}", "MRR", f"P@{low}", f"R@{low}")


def evaluated(order: Order) -> Evaluation:
    """Return the evaluation that was asked for.

    Raises:
        UsageError: if arguments contradict each other, or name what is not there.
    """
    from rerank.evaluation.figures import TIE_POLICIES
    from rerank.evaluation.report import evaluate_runs
    from rerank.evaluation.runs import first_stage_run

    if (order.jobs is None) == (order.qrels is None):
        raise UsageError("something must say what is relevant", hint="either --jobs FILE or --qrels FILE")
    runs = _runs(order.runs)
    jobs = _jobs(order.jobs, order.split) if order.jobs else []
    truth = _left_out(_truth(order, jobs), order.without)
    if jobs:
        # The first stage is always shown: a re-ranked list says little without the list it was made of.
        runs.insert(0, first_stage_run(jobs, name=FIRST_STAGE))
    if not runs:
        raise UsageError("no run is given", hint="name at least one; with --jobs the first stage is measured alone")
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise UsageError("two runs have one name", hint="NAME=FILE gives a run another one")
    baseline = order.baseline or names[0]
    if baseline not in names:
        raise UsageError(f"there is no run {baseline!r} to compare with", hint=f"one of: {', '.join(names)}")
    _check_measures(order)
    (ties,) = (policy for policy in TIE_POLICIES if policy == order.ties)
    return evaluate_runs(
        runs,
        truth,
        cutoffs=order.cutoffs,
        ties=ties,
        by=[[axis] for axis in AXES] + [list(AXES)],
        baseline=baseline if len(runs) > 1 else None,
        tested=order.shown[:1],
        n_resamples=order.n_resamples,
        seed=order.seed,
    )


def warnings(order: Order, evaluation: Evaluation) -> Iterator[str]:
    """Yield what a reader must know before trusting the figures."""
    if order.jobs and order.jobs.suffix == ".json":
        yield f"{order.jobs.name} has no scores: {FIRST_STAGE!r} is the order of the file, not of a search"
    for run in evaluation.runs:
        if run.n_missing_queries:
            n = output.plural(run.n_missing_queries, "query", "queries")
            yield f"{run.name} does not rank {n} of {evaluation.n_queries}; they count as 0"
        if run.n_unknown_queries:
            n = output.plural(run.n_unknown_queries, "query", "queries")
            yield f"{run.name} ranks {n} that {'no job' if order.jobs else 'no judgement'} names; left out"
        if run.n_missing_images:
            yield f"{run.name} leaves out {output.plural(run.n_missing_images, 'candidate')}; they count as not found"
        if run.n_errors:
            yield f"{run.name}: {output.plural(run.n_errors, 'image')} could not be judged"
        if run.n_failed_queries:
            n = output.plural(run.n_failed_queries, "query", "queries")
            yield f"{run.name}: {n} of {evaluation.n_queries} failed as a whole; they are measured in first-stage order"
        if run.n_out_of_order:
            n = output.plural(run.n_out_of_order, "image")
            yield f"{run.name}: the rank of {n} contradicts the score; the score counts"
    if evaluation.n_without_relevant:
        n = output.plural(evaluation.n_without_relevant, "query", "queries")
        yield f"{n} without a relevant image: not measured"


def as_text(evaluation: Evaluation, shown: Sequence[str]) -> str:
    """Return the tables for people; figures are in percent, but for MRR."""
    from rerank.evaluation.figures import TIE_POLICIES

    main = shown[0]
    parts = [
        f"{output.plural(evaluation.n_queries, 'query', 'queries')}: mean, standard error; "
        "MRR from 0 to 1, the others in percent\n" + _measures_table(evaluation, shown),
        f"{main}: mean with 95 % interval; difference to {evaluation.comparisons[0].baseline!r}, paired\n"
        + _tests_table(evaluation, main)
        if evaluation.comparisons
        else "",
        _strata_text(evaluation, main),
        f"Ties: {TIE_POLICIES[evaluation.ties]}\n" + _ties_table(evaluation, main),
    ]
    return "\n\n".join(part for part in parts if part)


def as_csv(evaluation: Evaluation) -> str:
    """Return one row for each run, stratum and measure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        f"run {' '.join(AXES)} measure n mean standard_error low high "
        "baseline difference difference_low difference_high p p_holm".split()
    )
    tests = {(test.run, test.measure, tuple(test.labels.items())): test for test in evaluation.comparisons}
    for run in evaluation.runs:
        for stratum in run.strata:
            for found in stratum.measures:
                test = tests.get((run.name, found.name, tuple(stratum.labels.items())))
                writer.writerow(
                    [run.name, *(stratum.labels.get(axis, "") for axis in AXES), found.name, stratum.n]
                    + [found.macro, found.macro_error, *found.macro_interval]
                    + ([test.baseline, test.test.difference, *test.test.interval] if test else [""] * 4)
                    + ([test.test.p_value, test.p_corrected] if test else [""] * 2)
                )
    return out.getvalue()


def _runs(named: Sequence[str]) -> list[Run]:
    from rerank.evaluation.runs import read_run

    runs = []
    for given in named:
        # A file whose own name has a `=` is taken as it is.
        name, equals, path = ("", "", given) if Path(given).is_file() else given.partition("=")
        file = Path(path if equals else given)
        if not file.is_file():
            raise BadInput(f"there is no file {file}")
        runs.append(read_run(file, name=name if equals else None))
    return runs


def _jobs(path: Path, split: str | None) -> list[Job]:
    from data.benchmarks import inquire
    from rerank.job import read_jobs

    if path.is_dir() or path.suffix == ".parquet":
        return inquire.read_rerank(path, split=split)
    if split is not None:
        raise UsageError(f"--split goes with INQUIRE-Rerank as published, not with {path.name}")
    return inquire.read_hard(path) if path.suffix == ".json" else read_jobs(path)


def _truth(order: Order, jobs: Sequence[Job]) -> Truth:
    from data.benchmarks.inquire_labels import label_by_id, label_of
    from rerank.evaluation.runs import truth_of_jobs, truth_of_qrels

    if order.qrels:
        truth = truth_of_qrels(order.qrels)
        labels = {query: label_by_id(query) if order.strata == "inquire" else None for query in truth.relevant}
    else:
        truth = truth_of_jobs(jobs)
        texts = {job.query_id: job.text for job in jobs}
        labels = {
            query: (label_by_id(query) if order.strata == "inquire" else None)
            or (label_of(texts[query]) if order.strata != "none" else None)
            for query in truth.relevant
        }
    return replace(truth, strata={query: label.strata for query, label in labels.items() if label})


def _left_out(truth: Truth, labels: Sequence[str]) -> Truth:
    known = {label for of_query in truth.strata.values() for label in of_query.values()}
    for label in labels:
        if label not in known:
            hint = f"there are: {', '.join(sorted(known))}" if known else "no query is labelled; see --strata"
            raise UsageError(f"no query is labelled {label!r}", hint=hint)
    kept = {
        query: images
        for query, images in truth.relevant.items()
        if not set(labels) & set(truth.strata.get(query, {}).values())
    }
    if truth.relevant and not kept:
        raise UsageError("--without leaves no query to measure", hint=f"{len(truth.relevant)} have relevant images")
    return replace(truth, relevant=kept)


def _check_measures(order: Order) -> None:
    from rerank.evaluation.figures import RankedList, figures_of

    known = list(figures_of(RankedList(), frozenset(), cutoffs=order.cutoffs))
    for name in order.shown:
        if name not in known:
            raise UsageError(f"there is no measure {name!r}", hint=f"one of: {', '.join(known)}; -k adds cutoffs")


def _measures_table(evaluation: Evaluation, shown: Sequence[str]) -> str:
    rows = [[run.name, *(_cell(run.overall[name]) for name in shown)] for run in evaluation.runs]
    return output.as_table(["run", *shown], rows, right=shown)


def _tests_table(evaluation: Evaluation, main: str) -> str:
    tests = {test.run: test for test in evaluation.comparisons if not test.labels and test.measure == main}
    columns = ["run", "mean", "interval", "difference", "its interval", "better/worse", "p", "p (Holm)"]
    rows = []
    for run in evaluation.runs:
        found, test = run.overall[main], tests.get(run.name)
        low, high = found.macro_interval
        scale = _scale(main)
        rows.append(
            [run.name, _number(found.macro, scale), f"{_number(low, scale)} to {_number(high, scale)}"]
            + (_test_cells(test, scale) if test else [""] * 5)
        )  # fmt: skip
    return output.as_table(columns, rows, right=columns[1:])


def _test_cells(comparison: Comparison, scale: float) -> list[str]:
    test = comparison.test
    low, high = test.interval
    return [
        f"{_number(test.difference, scale, sign='+')}",
        f"{_number(low, scale, sign='+')} to {_number(high, scale, sign='+')}",
        f"{test.n_better}/{test.n_worse}",
        _p(test.p_value),
        _p(comparison.p_corrected),
    ]


def _strata_text(evaluation: Evaluation, main: str) -> str:
    """Return the tables by supercategory, by words of the trade, and by both, of the queries that have labels."""
    tables = []
    first = evaluation.runs[0]
    for axes in ((AXES[0],), (AXES[1],), AXES):
        columns = [stratum for stratum in first.strata if tuple(stratum.labels) == axes]
        if not columns:
            continue
        heads = [f"{' '.join(stratum.labels.values())} ({stratum.n})" for stratum in columns]
        rows = [[run.name, *(_in_stratum(run, stratum.labels, main) for stratum in columns)] for run in evaluation.runs]
        tables.append(
            f"{main} by {' and '.join(axes)}: mean, standard error\n"
            + output.as_table(["run", *heads], rows, right=heads)
        )
    return "\n\n".join(tables)


def _in_stratum(run: RunFigures, labels: Mapping[str, str], measure: str) -> str:
    stratum: Stratum = next(stratum for stratum in run.strata if stratum.labels == labels)
    return _cell(stratum[measure])


def _ties_table(evaluation: Evaluation, main: str) -> str:
    columns = ["run", "images tied", "pairs left open", f"{main} at worst", "on average", "at best"]
    scale = _scale(main)
    rows = [
        [run.name, f"{100 * run.tied_items:.1f} %", f"{100 * run.open_pairs:.1f} %"]
        + [_number(bound, scale) for bound in run.bounds[main]]
        for run in evaluation.runs
    ]
    return output.as_table(columns, rows, right=columns[1:])


def _cell(found: Measured) -> str:
    scale = _scale(found.name)
    error = "" if found.macro_error is None else f" ± {_number(found.macro_error, scale)}"
    return _number(found.macro, scale) + error


def _scale(measure: str) -> float:
    return 1.0 if measure == "MRR" else 100.0


def _number(value: float, scale: float, *, sign: str = "") -> str:
    return f"{value * scale:{sign}.{1 if scale == 100 else 3}f}"


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
