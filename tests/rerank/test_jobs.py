import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from data.codec import dumps
from data.errors import BadInput, NothingReadable, UsageError
from data.records import Job, JobImage, RankedImage
from rerank.jobs import check_ids, job_of_folder, read_jobs, trec_lines


def row(image_id: Any, rank: Any, score: Any) -> RankedImage:
    return RankedImage(query_id="q", image_id=image_id, rank=rank, score=score, first_stage_rank=rank)


def test_a_run_has_the_columns_of_trec_and_separates_equal_scores_by_a_millionth() -> None:
    rows = [row("a", 1, 90.0), row("b", 2, 90.0), row("c", 3, 12.5), row("d", 4, 12.5), row("e", 5, 12.499999)]
    assert list(trec_lines(rows[::-1], tag="mine")) == [
        "q Q0 a 1 90.0 mine", "q Q0 b 2 89.999999 mine", "q Q0 c 3 12.5 mine", "q Q0 d 4 12.499999 mine",
        "q Q0 e 5 12.499998 mine",
    ]  # fmt: skip


def test_jobs_read_back_are_equal_with_paths_relative_to_the_file(tmp_path: Path) -> None:
    image = JobImage(image_id="a", path=str(tmp_path / "ä.jpg"), score=0.25)
    jobs = [
        Job(query_id="1", text="a puffin", candidates=(image,), relevant=("a",)),
        Job(query_id="2", text="", candidates=(image,), reference_image=str(tmp_path / "b.jpg"), modification="older"),
    ]
    for shown in (str(tmp_path) + "/", ""):
        lines = "\n".join(dumps(job).replace(f"{tmp_path}/", shown) for job in jobs)
        (tmp_path / "jobs.jsonl").write_text(f"{lines}\n\n", encoding="utf-8")
        assert read_jobs(tmp_path / "jobs.jsonl") == jobs


LINE = {"query_id": "1", "text": "x", "candidates": [{"image_id": "a", "path": "a.jpg", "score": 1}]}


def test_errors_in_a_job_file_name_the_line(tmp_path: Path) -> None:
    cases: tuple[tuple[list[Any], str], ...] = (
        ([LINE, LINE], "line 2: query id '1' is already used in line 1"),
        ([LINE, {"query_id": "2"}], "line 2: "),
        ([{**LINE, "candidates": LINE["candidates"] * 2}], "line 1: .* image 'a' is listed twice"),  # type: ignore[operator]
        ([], "contains no job"),
    )
    for lines, message in cases:
        (tmp_path / "jobs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with pytest.raises(BadInput, match=message):
            read_jobs(tmp_path / "jobs.jsonl")


def test_a_folder_becomes_a_job_of_all_its_photos(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for name in ("z.png", "a b/x y.jpg"):
        Image.new("RGB", (20, 20), "red").save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no photo")
    job = job_of_folder(tmp_path, " A Puffin, young! ")
    assert (job.query_id, job.text) == ("a-puffin-young", "A Puffin, young!")
    assert sorted(image.image_id for image in job.candidates) == ["a%20b/x%20y.jpg", "z.png"]
    check_ids([job])
    with pytest.raises(BadInput, match="cannot be written to a TREC run"):
        check_ids([replace(job, query_id="a query")])

    assert job_of_folder(tmp_path, "?!").query_id == "query"
    assert job_of_folder(tmp_path, "синица").query_id == "синица"
    assert len(job_of_folder(tmp_path, "long " * 100).query_id) <= 60
    (tmp_path / "empty").mkdir()
    for folder, why in (("empty", "No photo found in"), ("none", "none is not a folder")):
        with pytest.raises(NothingReadable, match=why):
            job_of_folder(tmp_path / folder, "x")
    with pytest.raises(UsageError, match="The query is empty"):
        job_of_folder(tmp_path, " ")


def test_a_query_set_that_fits_only_some_queries_is_refused(tmp_path: Path) -> None:
    """Otherwise queries would vanish from the run, or end it with a defect."""
    image = {"image_id": "a", "path": "a.jpg", "score": 0.0}
    two = [{"query_id": "1", "text": "x"}, {"query_id": "2", "text": "y"}]
    collection = {"a": "a.jpg", "b": "b.jpg"}
    mixed = [{**two[0], "candidates": [image]}, {**two[1], "candidates": []}]
    bare = [{**query, "candidates": []} for query in two]
    for content, message in (
        ({"queries": mixed}, "some queries have candidates, but query '2'"),
        ({"queries": bare, "collection": collection, "subsets": {"1": ["a"]}}, "query '2' has no small set of images"),
        ({"queries": mixed[:1], "subsets": {"1": ["a"]}}, "small sets of images go with a collection"),
    ):
        (tmp_path / "set.json").write_text(json.dumps({"name": "n", **content}))
        with pytest.raises(BadInput, match=message):
            read_jobs(tmp_path / "set.json")


def test_published_data_sets_are_refused_with_the_command_that_converts_them(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    parquet, query_set = tmp_path / "data" / "test-0.parquet", tmp_path / "cap.json"
    parquet.write_bytes(b"PAR1")
    query_set.write_text('[{"pairid": 1}]')
    for path in (tmp_path, parquet, query_set):
        with pytest.raises(BadInput) as refused:
            read_jobs(path)
        assert "`python -m papers convert`, from a checkout of Fieldmark" in str(refused.value.hint), path
