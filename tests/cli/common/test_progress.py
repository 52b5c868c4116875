"""Progress of a long run on a stderr that is not a terminal."""

from __future__ import annotations

import json

import pytest

from cli.common import progress
from data.records import Progress


def progress_lines(capsys: pytest.CaptureFixture[str], *steps: Progress, quiet: bool = False) -> list[str]:
    with progress.stage_progress(quiet=quiet) as report:
        for step in steps:
            report(step)
    out = capsys.readouterr()
    assert out.out == ""
    return out.err.splitlines()


def test_a_finished_stage_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    fetched = [Progress(stage="fetch", done=done, total=3, failed=done // 3) for done in range(4)]
    assert progress_lines(capsys, *fetched, Progress(stage="distil", done=2, total=2)) == [
        "fetch 3 of 3, 1 failed, 0 s",
        "distil 2 of 2, 0 s",
    ]


def test_an_unknown_total_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_lines(capsys, *(Progress(stage="resolve", done=done, total=0) for done in range(5))) == [
        "resolve 4, 0 s"
    ]


def test_an_empty_stage_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_lines(capsys, Progress(stage="fetch", done=0, total=0)) == []


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_lines(capsys, Progress(stage="fetch", done=1, total=1), quiet=True) == []


def test_a_long_stage_prints_its_progress_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    lines = progress_lines(capsys, *(Progress(stage="fetch", done=done, total=6) for done in range(1, 6)))
    assert lines[0] == "fetch 3 of 6, 18 s, about 18 s left"
    assert len(lines) >= 2


def test_counted_yields_every_item(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress.counted(iter("abc"), 3, "photos", quiet=False)) == ["a", "b", "c"]
    assert capsys.readouterr().err == "photos 3 of 3, 0 s\n"


def test_counted_reports_the_number_of_failed_items(capsys: pytest.CaptureFixture[str]) -> None:
    list(progress.counted([1, -1, 2, -2], 4, "photos", quiet=False, failed=lambda item: item < 0))
    assert capsys.readouterr().err == "photos 4 of 4, 2 failed, 0 s\n"


def test_json_progress_is_printed_once_per_second_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock) / 4)
    list(progress.counted(range(10), 10, "photos", quiet=False, form="jsonl"))
    reports = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["done"] for line in reports] == [5, 9, 10]
    assert reports[0].keys() == {"progress", "done", "total", "failed", "seconds", "left_s"}
    assert reports[-1]["left_s"] == 0
