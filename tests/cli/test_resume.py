"""Rows of a run that was cut off, went wrong in places, or was made with other parameters."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.resume import ResumableOutput
from data.errors import KnowledgeBaseLocked, UsageError

PARAMETERS = {"preset": "default", "n": 5}


def output(folder: Path, **changed: object) -> ResumableOutput:
    return ResumableOutput(
        folder / "out.csv",
        folder=folder / "journals",
        parameters={**PARAMETERS, **changed},
        header="image,rank\n",
        image_of=lambda line: line.split(",")[0],
    )


@pytest.fixture
def photos(tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("a.jpg", "b.jpg", "c.jpg")]
    for path in paths:
        path.write_bytes(b"a photo")
    return [str(path) for path in paths]


def test_a_second_run_finds_the_rows_of_the_first_and_appends(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n{photos[0]},2\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photos[0]}
        second.add(photos[1], f"{photos[1]},1\n", ok=True)
    assert (tmp_path / "out.csv").read_text() == f"image,rank\n{photos[0]},1\n{photos[0]},2\n{photos[1]},1\n"


def test_a_photo_that_failed_is_tried_again_and_has_one_row_in_the_end(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},error\n", ok=False)
        first.add(photos[1], f"{photos[1]},1\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photos[1]}
        second.add(photos[0], f"{photos[0]},1\n", ok=True)
    assert (tmp_path / "out.csv").read_text() == f"image,rank\n{photos[1]},1\n{photos[0]},1\n"


def test_a_file_name_that_is_no_utf8_keeps_its_bytes(tmp_path: Path) -> None:
    photo = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg")
    Path(photo).write_bytes(b"a photo")
    with output(tmp_path) as first:
        first.add(photo, f"{photo},1\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photo}
    assert (tmp_path / "out.csv").read_bytes() == b"image,rank\n" + os.fsencode(photo) + b",1\n"


@pytest.mark.parametrize("lost", range(1, 40, 3))
def test_rows_cut_off_at_any_byte_are_made_again(tmp_path: Path, photos: list[str], lost: int) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    whole = (tmp_path / "out.csv").read_text()
    half = f"{photos[1]},1\n{photos[1]},2\n"
    with (tmp_path / "out.csv").open("a") as out:
        out.write(half[:-lost])
    with output(tmp_path) as second:
        assert second.done == {photos[0]}
    assert (tmp_path / "out.csv").read_text() == whole


def test_a_torn_last_line_of_the_journal_costs_one_photo(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        for photo in photos:
            first.add(photo, f"{photo},1\n", ok=True)
    first.journal.write_text(first.journal.read_text()[:-9])
    with output(tmp_path) as second:
        assert second.done == set(photos[:2])


def test_another_photo_under_the_same_name_is_identified_anew(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    Path(photos[0]).write_bytes(b"quite another photo")
    with output(tmp_path) as second:
        assert second.done == frozenset()


def test_other_parameters_are_refused_and_named(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    before = (tmp_path / "out.csv").read_bytes()
    with pytest.raises(UsageError, match="preset 'default' -> 'vr-rag-v1'"), output(tmp_path, preset="vr-rag-v1"):
        pass
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("my notes\n")
    with pytest.raises(UsageError, match="not from an earlier run"), output(tmp_path):
        pass
    assert (tmp_path / "out.csv").read_text() == "my notes\n"


def test_two_runs_do_not_write_one_file_at_a_time(tmp_path: Path) -> None:
    with output(tmp_path), pytest.raises(KnowledgeBaseLocked), output(tmp_path):
        pass


def test_the_journal_names_the_file_and_what_made_it(tmp_path: Path) -> None:
    with output(tmp_path) as first:
        pass
    head = json.loads(first.journal.read_text().splitlines()[0])
    assert head == {"output": str(tmp_path / "out.csv"), "parameters": PARAMETERS}
