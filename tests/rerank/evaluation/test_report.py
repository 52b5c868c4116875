"""Figures of runs, computed by hand."""

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


def test_figures_of_two_queries_match_hand_computation() -> None:
    jobs = [job("q1", "abcd", ("a", "c")), job("q2", "abcd", ("d", "not retrieved"))]
    report = evaluate([first_stage(j) for j in jobs], jobs, cutoffs=(2,))
    assert (report.overall.n, report.n_errors) == (2, 0)
    assert report["MRR"].micro == pytest.approx((1 + 1 / 4) / 2)
    assert report["AP"].micro == pytest.approx(((1 + 2 / 3) / 2 + (1 / 4) / 2) / 2)
    assert report["P@2"].micro == pytest.approx((1 / 2 + 0) / 2)
    assert report["R@2"].micro == pytest.approx((1 / 2 + 0) / 2)
    assert report["hit@2"].micro == pytest.approx(1 / 2)
    ideal = 1 + 1 / math.log2(3)
    assert report["nDCG"].micro == pytest.approx(((1 + 1 / 2) / ideal + (1 / math.log2(5)) / ideal) / 2)


def test_ranks_define_the_order_not_row_positions() -> None:
    one = job("q", "ab", ("b",))
    run = first_stage(one)[::-1]
    assert evaluate([run], [one])["MRR"].micro == 0.5


def test_queries_without_known_relevance_are_left_out() -> None:
    jobs = [job("q1", "ab", ("a",)), job("q2", "ab", None), job("q3", "ab", ())]
    report = evaluate([first_stage(j) for j in jobs], jobs)
    assert report.overall.n == 1


def test_a_run_with_a_missing_image_is_refused() -> None:
    one = job("q", "ab", ("a",))
    with pytest.raises(BadInput, match="not a permutation"):
        evaluate([first_stage(one)[:1]], [one])


def test_a_run_of_an_unknown_query_and_a_job_without_run_are_refused() -> None:
    one, other = job("q", "ab", ("a",)), job("p", "ab", ("a",))
    with pytest.raises(BadInput, match="no such job"):
        evaluate([first_stage(one), first_stage(other)], [one])
    with pytest.raises(BadInput, match="'p' is not a permutation"):
        evaluate([first_stage(one)], [one, other])


def test_a_job_without_relevant_images_is_an_error() -> None:
    one = job("q", "ab", None)
    with pytest.raises(BadInput, match="No query has relevant images"):
        evaluate([first_stage(one)], [one])


# --- several runs ------------------------------------------------------------------------------------------------


def run_of(name: Any, lists: Any) -> Run:
    """Return a run of `query -> [(image, score)]`."""
    images = {
        query: tuple(
            RankedImage(query_id=query, image_id=image, rank=rank, score=score, first_stage_rank=rank)
            for rank, (image, score) in enumerate(found, start=1)
        )
        for query, found in lists.items()
    }
    return Run(name=name, images=images)


def truth(n: Any, strata: Any = None) -> Truth:
    return Truth(relevant={f"q{i}": frozenset(["b"]) for i in range(n)}, strata=strata or {})


AB, BA = [("a", 0.9), ("b", 0.8)], [("b", 0.9), ("a", 0.8)]


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
        ("Behavior",): (1, 0.5),
        ("Context",): (2, 0.75),
        ("lingo",): (2, 0.75),
        ("non-lingo",): (1, 0.5),
        ("Behavior", "lingo"): (1, 0.5),
        ("Context", "lingo"): (1, 1.0),
        ("Context", "non-lingo"): (1, 0.5),
    }


def test_missing_queries_and_images_are_counted_and_score_zero() -> None:
    jobs = [job("q0", "ab", ("b",)), job("q1", "ab", ("b",))]
    run = run_of("a", {"q0": [("a", 1.0)]})
    (found,) = evaluate_runs([run], truth_of_jobs(jobs)).runs
    assert (found.n_missing_queries, found.n_missing_images) == (1, 1)
    assert found.overall["AP"].macro == 0.0


def test_fully_failed_queries_are_counted() -> None:
    rows = tuple(
        RankedImage(query_id="q0", image_id=i, rank=n, score=-1.0, first_stage_rank=n, status="error", error="down")
        for n, i in enumerate("ab", start=1)
    )
    (found,) = evaluate_runs([Run(name="a", images={"q0": rows})], truth(1)).runs
    assert (found.n_errors, found.n_failed_queries) == (2, 1)


def test_ties_are_measured_and_figures_have_bounds() -> None:
    run = run_of("a", {"q0": [("a", 0.5), ("b", 0.5)], "q1": BA})
    (found,) = evaluate_runs([run], truth(2)).runs
    assert (found.tied_items, found.open_pairs) == (0.5, 0.5)
    assert found.bounds["MRR"] == (0.75, 0.875, 1.0)
    assert found.overall["MRR"].macro == 0.75  # in first-stage order


def test_contradicting_ranks_are_counted_and_scores_decide() -> None:
    images = tuple(
        RankedImage(query_id="q0", image_id=i, rank=rank, score=score, first_stage_rank=rank)
        for i, rank, score in (("a", 1, 0.1), ("b", 2, 0.9))
    )
    (found,) = evaluate_runs([Run(name="a", images={"q0": images})], truth(1)).runs
    assert found.n_out_of_order == 1
    assert found.overall["MRR"].macro == 1.0


def test_unknown_and_duplicate_images_are_refused() -> None:
    with pytest.raises(BadInput, match="'z', which is not a candidate of query 'q0'"):
        evaluate_runs([run_of("a", {"q0": [("z", 1.0)]})], truth_of_jobs([job("q0", "ab", ("b",))]))
    with pytest.raises(BadInput, match="'a' twice"):
        evaluate_runs([run_of("a", {"q0": [("a", 1.0), ("a", 0.5)]})], truth(1))


def test_duplicate_run_names_and_unknown_baselines_are_refused() -> None:
    run = run_of("a", {"q0": AB})
    with pytest.raises(UsageError, match="the same name"):
        evaluate_runs([run, run], truth(1))
    with pytest.raises(UsageError, match='There is no run "b"'):
        evaluate_runs([run], truth(1), baseline="b")
    with pytest.raises(BadInput, match="No query has relevant images"):
        evaluate_runs([run], Truth(relevant={}))


def test_runs_are_read_from_trec_files_and_json_lines(tmp_path: Path) -> None:
    rows = [
        RankedImage(query_id="q", image_id="b", rank=1, score=0.5, first_stage_rank=2, cost_usd=0.25),
        RankedImage(query_id="q", image_id="a", rank=2, score=0.5, first_stage_rank=1, status="error", error="x"),
    ]
    (tmp_path / "a.jsonl").write_text("".join(dumps(row) + "\n" for row in rows))
    (tmp_path / "b.run").write_text("q Q0 b 1 0.5 t\nq Q0 a 2 0.5 t\n")
    evidence, trec = read_run(tmp_path / "a.jsonl"), read_run(tmp_path / "b.run", name="both")
    assert (evidence.name, evidence.n_errors, evidence.cost_usd) == ("a", 1, 0.25)
    assert (trec.name, trec.n_errors) == ("both", 0)
    # Equal scores: error rows come last; a TREC file has only its ranks.
    assert ranked_list(evidence.images["q"]).image_ids == ("b", "a")
    assert ranked_list(trec.images["q"]).image_ids == ("b", "a")
    assert ranked_list(trec.images["q"], candidates={"a": 1, "b": 2}).image_ids == ("a", "b")


@pytest.mark.parametrize("content", ["", "\n\n", '{"query_id": "q"}\n', "not a run at all\n"])
def test_an_invalid_run_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.run").write_text(content)
    with pytest.raises(BadInput, match=r"x\.run"):
        read_run(tmp_path / "x.run")


def test_json_lines_may_contain_unicode_line_separators(tmp_path: Path) -> None:
    row = RankedImage(query_id="q", image_id="a", rank=1, score=0.5, first_stage_rank=1, evaluation="one\u2028two\x85")
    (tmp_path / "a.jsonl").write_text(dumps(row) + "\n", encoding="utf-8")
    assert read_run(tmp_path / "a.jsonl").images["q"] == (row,)


@pytest.mark.parametrize(
    ("scores", "why"),
    [(("NaN",), "expected a finite score, got nan"), (("0.5", "0.4"), "line 2: image a is listed twice")],
)
def test_json_lines_are_validated_like_trec_files(
    tmp_path: Path, scores: tuple[str, str] | tuple[str], why: str
) -> None:
    row = '{"query_id": "q", "image_id": "a", "rank": 1, "first_stage_rank": 1, "score": SCORE}\n'
    (tmp_path / "a.jsonl").write_text("".join(row.replace("SCORE", score) for score in scores))
    with pytest.raises(BadInput, match=why):
        read_run(tmp_path / "a.jsonl")


def test_a_job_with_a_nan_score_is_refused() -> None:
    candidates = tuple(JobImage(image_id=i, path=i, score=s) for i, s in (("a", 0.5), ("b", math.nan)))
    with pytest.raises(BadInput, match="expected a finite score for image 'b', got nan"):
        first_stage(Job(query_id="q", text="x", candidates=candidates))


def test_unknown_queries_of_a_run_are_counted() -> None:
    run = run_of("a", {"q0": AB, "q1": AB, "z": AB})
    jobs = [job("q0", "ab", ("b",)), job("q1", "ab", ())]  # q1 is known, but has no relevant image
    (found,) = evaluate_runs([run], truth_of_jobs(jobs)).runs
    assert found.n_unknown_queries == 1
