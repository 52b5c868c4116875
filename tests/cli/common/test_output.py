"""Tables keep words and numbers whole, however narrow the terminal is; messages; progress without a terminal."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from cli.common import output
from data.records import Progress

COLUMNS = ["#", "common name", "scientific name", "score", "text", "text_part", "visual_part"]
ROWS = [
    [1, "Common Blackbird", "Turdus merula", 14.377, 0.1, 0.2, 0.3],
    [2, "Three-striped Hemispingus", "Microspingus trifasciatus", 9.007, 0.1, 0.2, 0.3],
    [3, "Ou", None, -1.0, 0.1, 0.2, 0.3],
]
WORDS = {word for _, common, scientific, *_ in ROWS for word in f"{common} {scientific or ''}".split()}
NUMBERS = {"14.377", "9.007", "-1.000", "0.100"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    def of(width: Any) -> None:
        monkeypatch.setattr(output, "line_width", lambda: width)

    return of


def test_words_and_numbers_are_never_split_and_a_table_fits_the_terminal_if_they_do(terminal: Any) -> None:
    for width in (1, 60, 95, 100, 10_000):
        terminal(width)
        for spare in ((), ("text_part", "visual_part")):
            words = set(output.as_table(COLUMNS, ROWS, right=["#", "score"], spare=spare).split())
            assert words >= WORDS | NUMBERS, (width, spare)
        assert width < 95 or max(map(len, output.as_table(COLUMNS, ROWS).splitlines())) <= width


def test_optional_columns_are_dropped_from_the_last_with_a_note(terminal: Any) -> None:
    terminal(70)
    lines = output.as_table(COLUMNS, ROWS, spare=("text_part", "visual_part")).splitlines()
    assert "text_part" in lines[0] + lines[1]
    assert " ".join(lines).endswith("(no room for visual_part; a wider window shows all, and so does | less -S)")
    assert max(map(len, lines)) <= 70
    terminal(10_000)
    assert "no room" not in output.as_table(COLUMNS, ROWS, spare=("text_part", "visual_part"))


def test_messages_fit_the_terminal_on_stderr(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(output, "note_width", lambda: 40)
    text = "The reference photos of 47 of 51 species were encoded without the detector of birds"
    output.warn(text)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 40
    assert " ".join(lines) == f"warning: {text}"


def test_cells_and_fields_have_no_markup_control_characters_or_negative_zeros(terminal: Any) -> None:
    terminal(80)
    table = output.as_table(["run", "[/birds] (12)", "a:smile:", "\x1b[31mred"], [[-0.0004, "a\x9b2J", "[b]", None]])
    assert [line.split() for line in table.splitlines()[::2]] == [
        ["run", "[/birds]", "(12)", "a:smile:", "[31mred"], ["0.000", "a2J", "[b]"],
    ]  # fmt: skip
    assert output.as_fields({"text": "a purple\x1b[2J\x9b2J head", "none": None}) == "text  a purple[2J2J head"
    terminal(30)
    assert output.as_fields({"term": "ear tufts", "definition": "Upright feathers on the head"}).splitlines() == [
        "term        ear tufts", "definition  Upright feathers", "            on the head",
    ]  # fmt: skip
    name = "a\x1b\x7f\x9b\u202eb"
    written = output.as_json({"name": name})
    assert not set(name[1:-1]) & set(written) and json.loads(written) == {"name": name}


def test_results_and_messages_reach_a_terminal_without_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steering = "a\x1b[2J\x9b2J\u202eb\u2066\u200e\u200f\u061cc"
    output.write(steering)
    output.note(steering)
    output.warn(steering)
    output.fail(steering, steering)
    out, err = capsys.readouterr()
    assert out == "a[2J2Jbc\n"
    assert err.splitlines() == ["a[2J2Jbc", "warning: a[2J2Jbc", "error: a[2J2Jbc", "hint: a[2J2Jbc"]
    output.fail("the wiki rejected it\nerror: send your password", None)
    assert capsys.readouterr().err == "error: the wiki rejected it\n  error: send your password\n"
    output.write_rows("a\u202eb,1\n")  # in a pipe, rows keep their bytes
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output.write_rows("a\x1b[2Jb,1\n")
    assert capsys.readouterr().out == "a\u202eb,1\na[2Jb,1\n"


def progress_lines(
    capsys: pytest.CaptureFixture[str], *steps: tuple[str, Iterable[int], int], quiet: bool = False
) -> list[str]:
    with output.stage_progress(quiet=quiet) as report:
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
    monkeypatch.setattr(output.time, "monotonic", lambda: float(next(clock)))
    lines = progress_lines(capsys, ("fetch", [1, 2, 2, 2, 2], 6))  # after one of an earlier run
    assert lines[0] == "fetch 2 of 6, 18 s, about 72 s left"
    assert len(lines) == 2, "the last counts are not printed again"


def test_json_progress_is_printed_once_per_second_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock) / 4)
    list(output.counted(range(10), 10, "photos", quiet=False, form="jsonl"))
    reports = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["done"] for line in reports] == [5, 9, 10]
    assert reports[0].keys() == {"progress", "done", "total", "failed", "seconds", "left_s"}
    assert reports[-1]["left_s"] == 0
