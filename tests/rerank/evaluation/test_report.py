import math
from pathlib import Path
from typing import Any

import pytest

from data.codec import dumps
from data.errors import BadInput, UsageError
from data.records import Job, JobImage, RankedImage
from rerank import evaluate, first_stage
from rerank.evaluation.report import evaluate_runs
from rerank.evaluation.runs import Run, Truth, ranked_list, read_run, truth_of_jobs


def job(query_id: Any, ids: Any, relevant: Any) -> Job:
    n = len(ids)
    candidates = tuple(JobImage(image_id=i, path=i, score=1 - rank / n) for rank, i in enumerate(ids))
    return Job(query_id=query_id, text="x", candidates=candidates, relevant=relevant)


def row(image_id: str, rank: int, score: float, **more: Any) -> RankedImage:
    return RankedImage(
        **{"query_id": "q0", "first_stage_rank": rank, **more}, image_id=image_id, rank=rank, score=score
    )


def run_of(name: Any, lists: Any) -> Run:
    """Return a run of `query -> [(image, score)]`."""
    return Run(name=name, images={
        query: tuple(row(image, rank, score, query_id=query) for rank, (image, score) in enumerate(found, start=1))
        for query, found in lists.items()
    })  # fmt: skip


def truth(n: Any, strata: Any = None) -> Truth:
    return Truth(relevant={f"q{i}": frozenset(["b"]) for i in range(n)}, strata=strata or {})


AB, BA = [("a", 0.9), ("b", 0.8)], [("b", 0.9), ("a", 0.8)]


def test_figures_of_two_queries_match_hand_computation() -> None:
    jobs = [job("q1", "abcd", ("a", "c")), job("q2", "abcd", ("d", "not retrieved")), job("q3", "ab", None)]
    # Ranks define the order, not the positions of rows; a query without known relevance is left out.
    report = evaluate([first_stage(each)[::-1] for each in jobs], jobs, cutoffs=(2,))
    ideal = 1 + 1 / math.log2(3)
    assert (report.overall.n, report.n_errors) == (2, 0)
    assert {name: report[name].micro for name in ("MRR", "AP", "P@2", "R@2", "hit@2", "nDCG")} == pytest.approx({
        "MRR": (1 + 1 / 4) / 2, "AP": ((1 + 2 / 3) / 2 + (1 / 4) / 2) / 2, "P@2": 1 / 4, "R@2": 1 / 4, "hit@2": 1 / 2,
        "nDCG": ((1 + 1 / 2) / ideal + (1 / math.log2(5)) / ideal) / 2,
    })  # fmt: skip


def test_runs_that_do_not_fit_the_jobs_are_refused() -> None:
    one, other, bare = job("q", "ab", ("a",)), job("p", "ab", ("a",)), job("q", "ab", None)
    for runs, jobs, error in (
        ([first_stage(one)[:1]], [one], "not a permutation"),
        ([first_stage(one), first_stage(other)], [one], "no such job"),
        ([first_stage(one)], [one, other], "'p' is not a permutation"),
        ([first_stage(bare)], [bare], "No query has relevant images"),
        ([first_stage(one)], [one, one], "Two jobs share the query id 'q'"),
    ):
        with pytest.raises(BadInput, match=error):
            evaluate(runs, jobs)
    nan = tuple(JobImage(image_id=i, path=i, score=s) for i, s in (("a", 0.5), ("b", math.nan)))
    with pytest.raises(BadInput, match="expected a finite score for image 'b', got nan"):
        first_stage(Job(query_id="q", text="x", candidates=nan))


def test_runs_are_compared_query_by_query() -> None:
    runs = [
        run_of("base", {f"q{i}": AB for i in range(8)}),
        run_of("better", {f"q{i}": BA for i in range(8)}),
        run_of("half", {f"q{i}": BA if i < 4 else AB for i in range(8)}),
    ]
    found = evaluate_runs(runs, truth(8), baseline="base", shown=("AP",))
    better, half = found.comparisons
    assert (better.run, better.test.difference, better.test.n_better, better.test.n_worse) == ("better", 0.5, 8, 0)
    assert better.test.p_value == 2 / 2**8
    assert better.p_corrected == 2 * better.test.p_value  # the smaller of two
    assert (half.test.difference, half.test.n_better) == (0.25, 4)
    assert half.p_corrected == half.test.p_value == 2 / 2**4


def test_figures_are_split_by_each_axis_and_by_both() -> None:
    strata = {
        "q0": {"supercategory": ["Context"], "lingo": ["lingo"]},
        "q1": {"supercategory": ["Context"], "lingo": ["non-lingo"]},
        "q2": {"supercategory": ["Behavior"], "lingo": ["lingo"]},
    }
    run = run_of("a", {"q0": BA, "q1": AB, "q2": AB, "q3": BA})
    by = [["supercategory"], ["lingo"], ["supercategory", "lingo"]]
    (found,) = evaluate_runs([run], truth(4, strata), by=by).runs
    figures = {tuple(stratum.labels.values()): (stratum.n, stratum["AP"].macro) for stratum in found.strata}
    assert figures == {
        (): (4, 0.75),  # the query without labels counts only here
        ("Behavior",): (1, 0.5), ("Context",): (2, 0.75), ("lingo",): (2, 0.75), ("non-lingo",): (1, 0.5),
        ("Behavior", "lingo"): (1, 0.5), ("Context", "lingo"): (1, 1.0), ("Context", "non-lingo"): (1, 0.5),
    }  # fmt: skip


def test_faults_of_runs_are_counted() -> None:
    jobs = [job("q0", "ab", ("b",)), job("q1", "ab", ("b",)), job("q2", "ab", ())]  # q2 is known, without relevant ones
    assert truth_of_jobs(jobs).n_without_relevant == 1
    (found,) = evaluate_runs([run_of("a", {"q0": [("a", 1.0)], "q2": AB, "z": AB})], truth_of_jobs(jobs)).runs
    assert (found.n_missing_queries, found.n_missing_images, found.n_unknown_queries) == (1, 1, 1)
    assert found.overall["AP"].macro == 0.0
    failed = tuple(row(i, n, -1.0, status="error", error="down") for n, i in enumerate("ab", start=1))
    (found,) = evaluate_runs([Run(name="a", images={"q0": failed})], truth(1)).runs
    assert (found.n_errors, found.n_failed_queries) == (2, 1)
    contradicting = (row("a", 1, 0.1), row("b", 2, 0.9))
    (found,) = evaluate_runs([Run(name="a", images={"q0": contradicting})], truth(1)).runs
    assert (found.n_out_of_order, found.overall["MRR"].macro) == (1, 1.0), "the score counts"


def test_ties_are_measured_and_figures_have_bounds() -> None:
    run = run_of("a", {"q0": [("a", 0.5), ("b", 0.5)], "q1": BA})
    (found,) = evaluate_runs([run], truth(2)).runs
    assert (found.tied_items, found.open_pairs) == (0.5, 0.5)
    assert found.bounds["MRR"] == (0.75, 0.875, 1.0)
    assert found.overall["MRR"].macro == 0.75  # in first-stage order


def test_wrong_images_names_and_baselines_are_refused() -> None:
    run, kinds = run_of("a", {"q0": AB}), (UsageError, BadInput)
    for runs, of, more, error in (
        ([run_of("a", {"q0": [("z", 1.0)]})], truth_of_jobs([job("q0", "ab", ("b",))]), {},
         "'z', which is not a candidate of query 'q0'"),
        ([run_of("a", {"q0": [("a", 1.0), ("a", 0.5)]})], truth(1), {}, "'a' twice"),
        ([run, run], truth(1), {}, "the same name"),
        ([], truth(1), {}, "No run is given"),
        ([run], truth(1), {"baseline": "b"}, 'There is no run "b"'),
        ([run], Truth(relevant={}), {}, "No query has relevant images"),
    ):  # fmt: skip
        with pytest.raises(kinds, match=error):
            evaluate_runs(runs, of, **more)


def test_runs_are_read_from_trec_files_and_json_lines(tmp_path: Path) -> None:
    rows = [
        row("b", 1, 0.5, first_stage_rank=2, cost_usd=0.25, evaluation="one\u2028two\x85"),
        row("a", 2, 0.5, first_stage_rank=1, status="error", error="x"),
    ]
    (tmp_path / "a.jsonl").write_text("".join(dumps(each) + "\n" for each in rows), encoding="utf-8")
    (tmp_path / "b.run").write_text("q0 Q0 b 1 0.5 t\nq0 Q0 a 2 0.5 t\n")
    evidence, trec = read_run(tmp_path / "a.jsonl"), read_run(tmp_path / "b.run", name="both")
    assert evidence.images["q0"] == tuple(rows)
    assert (evidence.name, evidence.n_errors, evidence.cost_usd) == ("a", 1, 0.25)
    assert (trec.name, trec.n_errors) == ("both", 0)
    # Equal scores: error rows come last; a TREC file has only its ranks.
    assert ranked_list(evidence.images["q0"]).image_ids == ("b", "a")
    assert ranked_list(trec.images["q0"]).image_ids == ("b", "a")
    assert ranked_list(trec.images["q0"], candidates={"a": 1, "b": 2}).image_ids == ("a", "b")


def test_an_invalid_run_file_is_refused(tmp_path: Path) -> None:
    line = '{"query_id": "q", "image_id": "a", "rank": 1, "first_stage_rank": 1, "score": SCORE}\n'
    for content, why in (
        ("", r"x\.run is empty"), ("\n\n", r"x\.run is empty"), ('{"query_id": "q"}\n', r"x\.run, line 1"),
        ("not a run at all\n", r"x\.run"), (line.replace("SCORE", "NaN"), "expected a finite score, got nan"),
        (line.replace("SCORE", "0.5") * 2, "line 2: image a is listed twice"),
    ):  # fmt: skip
        (tmp_path / "x.run").write_text(content)
        with pytest.raises(BadInput, match=why):
            read_run(tmp_path / "x.run")
