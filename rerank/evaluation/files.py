"""Evaluation of runs in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from data.errors import BadInput, UsageError, did_you_mean
from data.words import plural
from rerank.evaluation.measures import names_of
from rerank.evaluation.report import Evaluation, evaluate_runs
from rerank.evaluation.request import ASPECT, AXES, HITS, ROUND, SUBSET_CUTOFFS, EvaluationRequest
from rerank.evaluation.runs import (
    Run,
    Truth,
    first_stage_run,
    read_run,
    truth_of,
    truth_of_qrels,
)
from rerank.jobs import read_queries


def evaluate_files(request: EvaluationRequest) -> Evaluation:
    """Return the evaluation of runs in files.

    Raises:
        BadInput: if a file is missing or invalid.
        UsageError: if the request is contradictory, or names an unknown run, measure or label.
    """
    if (request.jobs is None) == (request.qrels is None):
        raise UsageError("Specify the relevant images.", hint="Use either --jobs FILE or --qrels FILE.")
    runs = [read_named_run(given) for given in request.runs]
    queries = None if request.jobs is None else read_queries(request.jobs)
    if queries is None:
        assert request.qrels is not None
        truth = truth_of_qrels(request.qrels)
    else:
        truth = truth_of(queries)
        if queries.is_of_candidates:  # a re-ranked list says little without its first stage
            runs.insert(0, first_stage_run(queries.queries))
        elif not runs:
            hint = f"Name at least one; {queries.name} has no first stage to measure."
            raise UsageError("No run is given.", hint=hint)
    own = queries.measures if queries and queries.measures else HITS if truth.rounds else ()
    rounds = {query_id: {ROUND: (str(len(of) - 1),)} for query_id, of in truth.rounds.items()}
    strata = {query_id: {**truth.strata.get(query_id, {}), **rounds.get(query_id, {})} for query_id in truth.relevant}
    truth = _without(replace(truth, strata=strata), request.without)
    baseline = request.baseline or (runs[0].name if len(runs) > 1 else None)
    cutoffs, shown = request.cutoffs_for(own), request.shown_for(own)
    _check_measures(shown, cutoffs, truth)
    return evaluate_runs(
        runs,
        truth,
        cutoffs=cutoffs,
        ties=request.ties,
        by=[[axis] for axis in AXES] + [list(AXES), [ROUND], [ASPECT]],
        baseline=baseline,
        shown=shown,
        n_resamples=request.n_resamples,
        seed=request.seed,
    )


def evaluation_warnings(request: EvaluationRequest, evaluation: Evaluation) -> Iterator[str]:
    """Yield the faults of runs that affect the figures."""
    of_all = f"of {evaluation.n_queries}"
    for run in evaluation.runs:
        in_sets = run.n_missing_of_sets if not run.is_within_sets else 0
        for n, one, many, what in (
            (run.n_missing_queries, "query", "queries", f" {of_all} missing; counted as 0"),
            (run.n_unknown_queries, "query is", "queries are",
             f" not in the {'jobs' if request.jobs else 'qrels'}; ignored"),
            (run.n_missing_images, "candidate", "candidates", " missing; counted as not found"),
            (in_sets, "image", "images", " of the sets missing; R_subset@k counts them as not found"),
            (run.n_errors, "image", "images", " could not be judged"),
            (run.n_failed_queries, "query", "queries", f" {of_all} failed as a whole; measured in first-stage order"),
            (run.n_out_of_order, "rank contradicts its score", "ranks contradict their scores", "; the score counts"),
        ):  # fmt: skip
            if n:
                yield f"{run.name}: {plural(n, one, many)}{what}"
        if run.is_within_sets:
            yield f"{run.name} ranks the sets of CIRR alone: R_subset@k can be compared, R@k is not over the collection"
    if evaluation.n_without_relevant:
        queries = plural(evaluation.n_without_relevant, "query has", "queries have")
        yield f"{queries} no relevant image; not measured"


def read_named_run(given: str) -> Run:
    """Return the run in `FILE` or `NAME=FILE`.

    Raises:
        BadInput: if there is no such file, or it is no run.
    """
    # A file with "=" in its own name is taken literally.
    name, equals, path = ("", "", given) if Path(given).is_file() else given.partition("=")
    file = Path(path if equals else given)
    if not file.is_file():
        raise BadInput(f"{file} does not exist")
    return read_run(file, name=name if equals else None)


def _without(truth: Truth, labels: Sequence[str]) -> Truth:
    """Return the truth without the queries that have one of the labels."""
    known = sorted({label for of_query in truth.strata.values() for label in chain(*of_query.values())})
    for label in labels:
        if label not in known:
            hint = did_you_mean(label, known) if known else "Labels come with a query set."
            raise UsageError(f'No query has the label "{label}".', hint=hint)
    relevant = {
        query: images
        for query, images in truth.relevant.items()
        if not set(labels) & set(chain(*truth.strata.get(query, {}).values()))
    }
    if truth.relevant and not relevant:
        raise UsageError("--without leaves no query to measure.", hint=f"{len(truth.relevant)} have relevant images.")
    return replace(truth, relevant=relevant)


def _check_measures(shown: Sequence[str], cutoffs: Sequence[int], truth: Truth) -> None:
    known = names_of(cutoffs)
    known += [f"R_subset@{k}" for k in SUBSET_CUTOFFS] if truth.subsets else []
    known += [f"Hits@{k}" for k in cutoffs] if truth.rounds else []
    for name in shown:
        if name not in known:
            raise UsageError(f'Unknown measure "{name}".', hint=f"{did_you_mean(name, known)} -k adds cutoffs.")
