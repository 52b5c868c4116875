"""Progress of a long run on a stderr that is not a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from cli.common import progress
from data.records import Progress


def progress_lines(
    capsys: pytest.CaptureFixture[str], *steps: tuple[str, Iterable[int], int], quiet: bool = False
) -> list[str]:
    with progress.stage_progress(quiet=quiet) as report:
        for stage, counts, total in steps:
            for done in counts:
                report(Progress(stage=stage, done=done, total=total, failed=done // 3))
    out = capsys.readouterr()
    assert out.out == ""
    return out.err.splitlines()


def test_a_finished_stage_is_one_line_and_an_empty_one_none(capsys: pytest.CaptureFixture[str]) -> None:
    stages = (("fetch", range(4), 3), ("distil", [2], 2), ("resolve", range(2), 0), ("anchor", [0], 0))
    assert progress_lines(capsys, *stages) == ["fetch 3 of 3, 1 failed, 0 s", "distil 2 of 2, 0 s", "resolve 1, 0 s"]
    assert progress_lines(capsys, *stages, quiet=True) == []


def test_a_long_stage_prints_its_progress_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    lines = progress_lines(capsys, ("fetch", [1, 2, 2, 2, 2], 6))
    assert lines[0] == "fetch 2 of 6, 18 s, about 36 s left"
    assert len(lines) == 3


def test_counted_yields_every_item_and_counts_the_failed_ones(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(progress.counted(iter([1, -1, 2, -2]), 4, "photos", quiet=False, failed=lambda item: item < 0))
    assert found == [1, -1, 2, -2]
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
