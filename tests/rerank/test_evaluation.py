"""The figures of runs, by hand."""

import math

import pytest

from data.errors import BadInput
from data.records import Job, JobImage, RankedImage
from rerank import evaluate, first_stage


def job(query_id, ids, relevant):
    n = len(ids)
    candidates = tuple(JobImage(image_id=i, path=i, score=1 - rank / n) for rank, i in enumerate(ids))
    return Job(query_id=query_id, text="x", candidates=candidates, relevant=relevant)


def test_the_figures_of_two_queries():
    jobs = [job("q1", "abcd", ("a", "c")), job("q2", "abcd", ("d", "not retrieved"))]
    report = evaluate([first_stage(j) for j in jobs], jobs, cutoffs=(2,))
    assert (report.n, report.n_without_relevant, report.n_errors) == (2, 0, 0)
    assert report["MRR"].micro == pytest.approx((1 + 1 / 4) / 2)
    assert report["AP"].micro == pytest.approx(((1 + 2 / 3) / 2 + (1 / 4) / 2) / 2)
    assert report["P@2"].micro == pytest.approx((1 / 2 + 0) / 2)
    assert report["R@2"].micro == pytest.approx((1 / 2 + 0) / 2)
    assert report["hit@2"].micro == pytest.approx(1 / 2)
    ideal = 1 + 1 / math.log2(3)
    assert report["nDCG"].micro == pytest.approx(((1 + 1 / 2) / ideal + (1 / math.log2(5)) / ideal) / 2)


def test_the_order_is_that_of_the_ranks_not_of_the_list():
    one = job("q", "ab", ("b",))
    run = first_stage(one)[::-1]
    assert evaluate([run], [one])["MRR"].micro == 0.5


def test_queries_without_known_relevance_are_left_out_and_counted():
    jobs = [job("q1", "ab", ("a",)), job("q2", "ab", None), job("q3", "ab", ())]
    report = evaluate([first_stage(j) for j in jobs], jobs)
    assert (report.n, report.n_without_relevant) == (1, 2)


def test_error_rows_are_counted():
    one = job("q", "a", ("a",))
    run = [RankedImage(query_id="q", image_id="a", rank=1, score=-1, first_stage_rank=1, status="error", error="x")]
    assert evaluate([run], [one]).n_errors == 1


def test_a_run_that_lost_an_image_is_refused():
    one = job("q", "ab", ("a",))
    with pytest.raises(BadInput, match="not a permutation"):
        evaluate([first_stage(one)[:1]], [one])


def test_a_run_of_an_unknown_query_and_a_job_without_run_are_refused():
    one, other = job("q", "ab", ("a",)), job("p", "ab", ("a",))
    with pytest.raises(BadInput, match="no such job"):
        evaluate([first_stage(one), first_stage(other)], [one])
    with pytest.raises(BadInput, match="'p' is not a permutation"):
        evaluate([first_stage(one)], [one, other])


def test_nothing_to_measure_is_an_error():
    one = job("q", "ab", None)
    with pytest.raises(ValueError, match="at least one job"):
        evaluate([first_stage(one)], [one])
