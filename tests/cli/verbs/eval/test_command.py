"""`kb eval rerank`: tables, data, and warnings about incomplete runs."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.verbs.eval.cells import difference_cells, p_text
from data.codec import dumps
from data.records import Job, JobImage, RankedImage
from rerank.jobs import QuerySet
from tests.cli.conftest import documented_keys
from tests.conftest import CommandLine

TEXTS = {"128": "a pale thrush", "269": "two frogs", "19": "cross orbweaver"}
LABELS = {"128": ("Appearance", "non-lingo"), "269": ("Behavior", "lingo"), "19": ("Species", "non-lingo")}


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    jobs = []
    for query_id, text in TEXTS.items():
        candidates = tuple(JobImage(image_id=f"{query_id}-{n}", path="x.jpg", score=1 - n / 10) for n in range(4))
        jobs.append(Job(query_id=query_id, text=text, candidates=candidates, relevant=(f"{query_id}-3",)))
    (tmp_path / "jobs.jsonl").write_text("".join(dumps(job) + "\n" for job in jobs))
    labels = {q: {"supercategory": (first,), "lingo": (second,)} for q, (first, second) in LABELS.items()}
    (tmp_path / "set.json").write_text(dumps(QuerySet(name="a set", queries=tuple(jobs), labels=labels)))
    lines = [f"{q} Q0 {q}-{n} {4 - n} {n / 10} t" for q in TEXTS for n in (3, 2, 1, 0)]
    (tmp_path / "turned.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {q}-3 1\n" for q in TEXTS))
    return tmp_path


def data(outcome: Any) -> Any:
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def test_the_table_shows_the_first_stage_tests_strata_and_ties(cli: CommandLine, folder: Any) -> None:
    done = cli.call("eval", "rerank", "both=turned.run", "--jobs", "set.json", check=True)
    assert "3 queries: mean ± standard error" in done.stdout
    assert "paired difference from 'first stage'" in done.stdout
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "first stage 25.0 ± 0.0 25.0 ± 0.0 43.1 ± 0.0 0.250 ± 0.000 10.0 ± 0.0 100.0 ± 0.0" in lines
    # Three queries: 2 of 2**3 sign patterns are as large.
    assert "both 100.0 100.0 to 100.0 +75.0 +75.0 to +75.0 3/0 .250 .250" in lines
    assert "both 0.0 % 0.0 % 100.0 100.0 100.0" in lines
    assert done.stderr == ""


def test_json_and_csv_have_the_measures_of_each_query_and_stratum(cli: CommandLine, folder: Any) -> None:
    given = ("eval", "rerank", "turned.run", "--jobs", "set.json", "--format")
    found = data(cli.call(*given, "json"))
    assert set(found) == documented_keys("kb eval rerank --format json")
    assert [run["name"] for run in found["runs"]] == ["first stage", "turned"]
    assert found["runs"][1]["by_query"]["128"]["AP@100"] == 1.0
    tested = {comparison["labels"].get("supercategory") for comparison in found["comparisons"]}
    assert tested == {None, "Appearance", "Behavior", "Species"}
    rows = list(csv.DictReader(io.StringIO(cli.call(*given, "csv", "-k", "5", check=True).stdout)))
    by = ("run", "supercategory", "lingo", "measure")
    (row,) = [row for row in rows if [row[key] for key in by] == ["turned", "", "", "AP@5 (INQUIRE)"]]
    assert (row["n"], row["mean"], row["difference"], row["baseline"]) == ("3", "1.0", "0.75", "first stage")
    assert len(rows) == 2 * 9 * 12  # runs, strata (1 + 3 + 2 + 3), measures (4 + 8)
    (folder / "flat.run").write_text("".join(f"{q} Q0 {q}-{n} {n + 1} 0.5 t\n" for q in TEXTS for n in range(4)))
    flat = ("eval", "rerank", "flat.run", "--qrels", "qrels.txt", "--format", "json")
    for more, ties, mrr in (((), "first-stage", 0.25), (("--ties", "trec"), "trec", 1)):  # TREC: by falling id
        found = data(cli.call(*flat, *more))
        assert (found["ties"], found["runs"][0]["by_query"]["128"]["MRR"]) == (ties, mrr)


def test_options_choose_strata_judgements_baseline_measures_and_resamples(cli: CommandLine, folder: Any) -> None:
    def found(*given: str) -> Any:
        return data(cli.call("eval", "rerank", *given, "--format", "json"))

    assert found("--jobs", "set.json", "--without", "Species")["n_queries"] == 2
    (folder / "turned.run").rename(folder / "k=5.run")  # an equals sign in a file name is no label
    plain = found("k=5.run", "--qrels", "qrels.txt")
    assert [run["name"] for run in plain["runs"]] == ["k=5"] and plain["comparisons"] == []
    compared = found("k=5.run", "--jobs", "jobs.jsonl", "--baseline", "k=5")["comparisons"]
    assert {comparison["baseline"] for comparison in compared} == {"k=5"}
    done = cli.call("eval", "rerank", "k=5.run", "--jobs", "jobs.jsonl", "-m", "P@10", "--measure", "MRR", check=True)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "run P@10 MRR" in lines and any(line.startswith("P@10: mean with 95 % interval") for line in lines)
    # Eight queries with the relevant image at rank 1 to 8, so that the resamples differ.
    (folder / "mixed.qrels").write_text("".join(f"q{i} 0 x{i} 1\n" for i in range(8)))
    lines = [f"q{i} Q0 x{n} {n + 1} {8 - n} t" for i in range(8) for n in range(8)]
    (folder / "mixed.run").write_text("\n".join(lines) + "\n")

    def intervals(*more: str) -> Any:
        measures = found("mixed.run", "--qrels", "mixed.qrels", *more)["runs"][0]["strata"][0]["measures"]
        return [measured["macro_interval"] for measured in measures]

    first = intervals("--resamples", "101", "--seed", "1")
    assert first == intervals("--resamples", "101", "--seed", "1") != intervals("--resamples", "101", "--seed", "2")
    assert first != intervals("--seed", "1", "--resamples", "1000")


def test_a_query_set_has_its_own_measures(cli: CommandLine, folder: Any) -> None:
    jobs = tuple(Job(query_id=q, text=text, candidates=(), relevant=(f"{q}-3",)) for q, text in TEXTS.items())
    collection = {f"{q}-{n}": "x.jpg" for q in TEXTS for n in range(4)}
    queries = QuerySet(name="a set", queries=jobs, collection=collection, measures=("R@1", "hit@2"))
    (folder / "own.json").write_text(dumps(queries))
    found = data(cli.call("eval", "rerank", "turned.run", "--jobs", "own.json", "--format", "json"))
    assert (found["shown"], found["cutoffs"]) == (["R@1", "R@2", "hit@1", "hit@2"], [1, 2])
    alone = cli.call("eval", "rerank", "--jobs", "own.json")
    assert alone.exit_code == 2 and "a set has no first stage to measure" in alone.stderr
    (folder / "own.json").write_text(dumps(replace(queries, queries=(jobs[0], jobs[0]))))
    for content, message in (("", "two queries with the id '128'"), ('{"name": "a", "queries": []}', "contains no")):
        (folder / "own.json").write_text(content or (folder / "own.json").read_text())
        refused = cli.call("eval", "rerank", "turned.run", "--jobs", "own.json")
        assert refused.exit_code == 5 and message in refused.stderr, message


def test_problems_of_runs_are_printed_as_warnings(cli: CommandLine, folder: Any) -> None:
    (folder / "part.run").write_text("128 Q0 128-3 1 0.5 t\n")
    (folder / "more.run").write_text((folder / "turned.run").read_text() + "130 Q0 x 1 0.5 t\n")
    done = cli.call("eval", "rerank", "part.run", "more.run", "--jobs", "jobs.jsonl", check=True)
    assert done.stderr.splitlines() == [
        "warning: part: 2 queries of 3 missing; counted as 0",
        "warning: part: 3 candidates missing; counted as not found",
        "warning: more: 1 query is not in the jobs; ignored",
    ]
    rows = [
        RankedImage(query_id=q, image_id=f"{q}-{n}", rank=n + 1, score=-1.0, first_stage_rank=n + 1, status="error")
        for q in ("128", "269")
        for n in range(4)
    ]
    rows[4] = replace(rows[4], status="ok", score=-2.0)  # ranked first, with the least score
    (folder / "down.jsonl").write_text("".join(dumps(row) + "\n" for row in rows))
    (folder / "qrels.txt").write_text("128 0 128-3 1\n269 0 269-3 1\n19 0 19-3 0\n")
    done = cli.call("eval", "rerank", "down.jsonl", "--qrels", "qrels.txt", "--quiet", check=True)
    assert done.stderr.splitlines() == [
        "warning: down: 7 images could not be judged",
        "warning: down: 1 query of 2 failed as a whole; measured in first-stage order",
        "warning: down: 1 rank contradicts its score; the score counts",
        "warning: 1 query has no relevant image; not measured",
    ]


def test_invalid_arguments_are_refused(cli: CommandLine, folder: Any) -> None:
    qrels = ["--qrels", "qrels.txt"]
    unlabelled = ["--without", "Species", "--without", "non-lingo", "--without", "lingo"]
    for arguments, code, message in (
        (["turned.run"], 2, "Specify the relevant images"),
        (["turned.run", "--jobs", "jobs.jsonl", *qrels], 2, "Specify the relevant images"),
        (["turned.run", *qrels, "-m", "AP@7"], 2, 'Unknown measure "AP@7"'),
        (["turned.run", *qrels, "--without", "Plants"], 2,
         'error: No query has the label "Plants".\nhint: Labels come with a query set.'),
        (["--jobs", "set.json", *unlabelled], 2, "leaves no query to measure"),
    ):  # fmt: skip
        done = cli.call("eval", "rerank", *arguments)
        assert (done.exit_code, done.stdout, message in done.stderr) == (code, "", True), (arguments, done.stderr)


def test_cells_are_in_percent_with_signs_and_counts() -> None:
    assert difference_cells(0.012, (-0.004, 0.03), 7, 2) == ["+1.2", "-0.4 to +3.0", "7/2"]
    assert [p_text(p) for p in (0.0009, 0.001, 0.25, 1.0)] == ["< .001", ".001", ".250", "1.000"]
