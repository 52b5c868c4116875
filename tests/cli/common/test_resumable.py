"""Resumable output files: rows of runs that were interrupted, failed in part, or had other parameters."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet
import pytest

from cli.common.csv_and_parquet import ParquetTable
from cli.common.resumable import Encounter, ResumableOutput
from cli.verbs import identify_rows as rows
from cli.verbs.identify_files import sink_for
from data.errors import BadInput, KnowledgeBaseLocked, MissingRequirement, UsageError
from data.records import Identification
from tests.damaged import damaged
from tests.small_files import files_of_at_most

PARAMETERS = {"preset": "default", "n": 5}


def output(
    folder: Path,
    *,
    retry_failed: bool = False,
    wanted: Iterable[Encounter] = (),
    start_over: bool = False,
    **changed: object,
) -> ResumableOutput:
    return ResumableOutput(
        folder / "out.csv",
        folder=folder / "journals",
        parameters={**PARAMETERS, **changed},
        header="image,rank\n",
        image_of=lambda line: line.split(",")[0],
        retry_failed=retry_failed,
        wanted=wanted,
        start_over=start_over,
    )


def packed(folder: Path, *, start_over: bool = False, **columns: str) -> ResumableOutput:
    return ResumableOutput(
        folder / "out.parquet.part",
        folder=folder / "journals",
        parameters=PARAMETERS,
        header="",
        image_of=lambda line: json.loads(line)["image"],
        start_over=start_over,
        table=ParquetTable(folder / "out.parquet", {"image": "text", "rank": "integer", "score": "number", **columns}),
    )


def row(image: str, rank: int, score: float | None = 0.5) -> str:
    return json.dumps({"image": image, "rank": rank, "score": score}, ensure_ascii=False) + "\n"


def test_a_full_disk_is_reported_with_the_file_and_the_rows_resume(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirement, match=r"out\.csv cannot be written"), output(tmp_path) as out:
        out.add("a", "a,1\n", ok=True)
        with files_of_at_most((tmp_path / "out.csv").stat().st_size + 2):
            out.add("b", "b,1\n", ok=True)
    with output(tmp_path) as out:
        assert out.done == {"a"}
        out.add("b", "b,1\n", ok=True)
    assert (tmp_path / "out.csv").read_text() == "image,rank\na,1\nb,1\n"


def test_a_disk_that_stays_full_is_reported_with_the_file(tmp_path: Path) -> None:
    """The rows that could not be written are still in a buffer when the file is closed."""
    with output(tmp_path) as out:
        out.add("a", "a,1\n", ok=True)
    with (
        files_of_at_most(10_000),
        pytest.raises(MissingRequirement, match=r"out\.csv cannot be written"),
        output(tmp_path) as out,
    ):
        out.add("b", "b,1\n" * 5_000, ok=True)


def table(folder: Path) -> list[dict[str, Any]]:
    return pandas.read_parquet(folder / "out.parquet").to_dict("records")


@pytest.fixture
def photos(tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("a.jpg", "b.jpg", "c.jpg")]
    for path in paths:
        path.write_bytes(b"a photo")
    return [str(path) for path in paths]


def test_a_second_run_appends_to_the_rows_of_the_first(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n{photos[0]},2\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photos[0]}
        second.add(photos[1], f"{photos[1]},1\n", ok=True)
    assert (tmp_path / "out.csv").read_text() == f"image,rank\n{photos[0]},1\n{photos[0]},2\n{photos[1]},1\n"


def test_a_failed_photo_keeps_its_row_until_it_is_retried(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},error\n", ok=False)
        first.add(photos[1], f"{photos[1]},1\n", ok=True)
    with output(tmp_path) as second:
        assert (second.done, second.failed) == ({photos[0], photos[1]}, {photos[0]})
    with output(tmp_path, retry_failed=True) as third:
        assert (third.done, third.failed) == ({photos[1]}, set())
        third.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path, retry_failed=True) as fourth:
        assert fourth.done == {photos[0], photos[1]}
    assert (tmp_path / "out.csv").read_text() == f"image,rank\n{photos[1]},1\n{photos[0]},1\n"


def test_a_photo_with_incomplete_rows_is_done_until_it_is_retried(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True, missing="reader")
        first.add(photos[1], f"{photos[1]},1\n", ok=True, missing="samples")
        first.add(photos[2], f"{photos[2]},1\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == set(photos)
        assert (second.failed, second.missing) == (set(), {photos[0]: "reader", photos[1]: "samples"})
    with output(tmp_path, retry_failed=True) as third:
        assert (third.done, third.missing) == ({photos[2]}, {})
        third.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path) as fourth:
        assert fourth.done == {photos[0], photos[2]}


def test_a_retry_keeps_rows_of_deleted_and_unrequested_photos(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True, missing="samples")
        first.add(photos[1], f"{photos[1]},1\n", ok=True, missing="samples")
        first.add(photos[2], f"{photos[2]},error\n", ok=False)
    Path(photos[0]).unlink()
    with output(tmp_path, retry_failed=True, wanted=[Encounter(photos=(photos[0],))]) as second:
        assert (second.done, second.failed) == (set(photos), {photos[2]})
    assert (tmp_path / "out.csv").read_text().count("\n") == 4
    with output(tmp_path, retry_failed=True) as third:
        assert third.done == {photos[0]}


def test_starting_over_replaces_own_rows_but_not_a_foreign_file(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path, start_over=True, preset="vr-rag-v1") as second:
        assert second.done == frozenset()
    assert (tmp_path / "out.csv").read_text() == "image,rank\n"
    second.journal.unlink()
    (tmp_path / "out.csv").write_text("my notes\n")
    for again in (True, False):
        with pytest.raises(UsageError, match="was not written by kb identify"), output(tmp_path, start_over=again):
            pass
    assert (tmp_path / "out.csv").read_text() == "my notes\n"


def test_a_photo_with_missing_rows_is_identified_again(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        for photo in photos:
            first.add(photo, f"{photo},1\n{photo},2\n", ok=True)
    file = tmp_path / "out.csv"
    file.write_text(file.read_text().replace(f"{photos[1]},2\n", ""))
    with output(tmp_path) as second:
        assert second.done == {photos[0], photos[2]}
    assert photos[1] not in file.read_text()


def test_resuming_with_other_parameters_is_refused(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    before = (tmp_path / "out.csv").read_bytes()
    with pytest.raises(UsageError, match="preset default -> vr-rag-v1"), output(tmp_path, preset="vr-rag-v1"):
        pass
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_parquet_file_is_written_at_the_end_of_the_run(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1) + row(photos[0], 2, None), ok=True)
        assert not (tmp_path / "out.parquet").exists()
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert [str(kind) for kind in found.schema.types] == ["string", "int64", "double"]
    assert found.to_pylist() == [
        {"image": photos[0], "rank": 1, "score": 0.5},
        {"image": photos[0], "rank": 2, "score": None},
    ]
    assert json.loads(found.schema.metadata[b"fieldmark"]) == PARAMETERS
    assert sorted(path.name for path in tmp_path.glob("*out*")) == ["out.parquet"]


def test_a_parquet_file_is_resumed(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    before = (tmp_path / "out.parquet").stat()
    with packed(tmp_path) as second:
        assert second.done == {photos[0]}
    assert (tmp_path / "out.parquet").stat().st_ino == before.st_ino, "nothing new, so the file is not rewritten"
    with packed(tmp_path) as third:
        third.add(photos[1], row(photos[1], 1), ok=True)
    assert [each["image"] for each in table(tmp_path)] == photos[:2]


def test_rows_of_a_killed_run_are_added_to_the_parquet_file(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    with pytest.raises(KeyboardInterrupt), packed(tmp_path) as killed:
        killed.add(photos[1], row(photos[1], 1), ok=True)
        raise KeyboardInterrupt
    assert [each["image"] for each in table(tmp_path)] == photos[:1], "the file of the first run is whole meanwhile"
    with (tmp_path / "out.parquet.part").open("a") as out:
        out.write('{"image": "torn')
    with packed(tmp_path) as third:
        assert third.done == set(photos[:2])
    assert [each["image"] for each in table(tmp_path)] == photos[:2]


def test_rows_of_a_changed_photo_are_removed_from_the_parquet_file(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        for photo in photos:
            first.add(photo, row(photo, 1), ok=True)
    Path(photos[1]).write_bytes(b"quite another photo")
    with packed(tmp_path) as second:
        assert second.done == {photos[0], photos[2]}
    assert [each["image"] for each in table(tmp_path)] == [photos[0], photos[2]]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_photos_of_any_name_are_done_once(tmp_path: Path, form: rows.Form) -> None:
    names = [
        "two\nlines.png", "cr\r.png", "crlf\r\n.png", '"quoted.png', '"a" b.png', "'a.png", "=1.png", "a,b.png",
        "u\u2028.png",        "nel\x85.png", " blank.png", "\t.png", os.fsdecode(b"latin\xe9.png"),
    ]  # fmt: skip
    photos = [str(tmp_path / name) for name in names]

    def sink() -> Any:
        return sink_for(
            form, tmp_path / f"out.{form}", tmp_path / "home", PARAMETERS, retry_failed=False, start_over=False
        )

    with sink() as out:
        for photo in photos:
            row = Identification(image=photo, preset="default", kb="a.kb")
            out.add(photo, rows.lines(form, row), ok=True)
    with sink() as out:
        assert out.done == set(photos)


def test_a_parquet_file_with_other_columns_needs_start_over(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    with pytest.raises(BadInput, match="columns of another version"), packed(tmp_path, place="text"):
        pass
    with packed(tmp_path, start_over=True, place="text") as anew:
        anew.add(photos[1], row(photos[1], 1), ok=True)
    assert [found["image"] for found in table(tmp_path)] == [photos[1]]


def test_two_runs_cannot_write_the_same_file_at_once(tmp_path: Path) -> None:
    with output(tmp_path), pytest.raises(KnowledgeBaseLocked), output(tmp_path):
        pass


def test_a_pipe_is_refused_as_output(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"pipe\.csv is not a regular file"):
        sink_for("csv", pipe, tmp_path / "home", {}, retry_failed=False, start_over=False)
    assert pipe.is_fifo()


def test_a_symlink_is_kept_and_shares_the_journal_of_its_target(tmp_path: Path, photos: list[str]) -> None:
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "link.csv", tmp_path / "disk" / "rows.csv"
    link.symlink_to(file)
    with sink_for("csv", link, tmp_path / "home", {}, retry_failed=False, start_over=False) as first:
        first.add(photos[0], f"{photos[0]},ok\n", ok=True)
    with sink_for("csv", file, tmp_path / "home", {}, retry_failed=False, start_over=False) as second:
        assert second.done == {photos[0]}
    assert link.is_symlink()
    assert file.read_text().endswith(f"{photos[0]},ok\n")


def test_an_invalid_parquet_file_is_not_overwritten(tmp_path: Path, photos: list[str]) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    (tmp_path / "out.parquet").write_bytes(b"PAR1 not quite")
    with pytest.raises(BadInput, match="not a readable Parquet file"), packed(tmp_path):
        pass
    assert (tmp_path / "out.parquet").read_bytes() == b"PAR1 not quite"


def test_output_with_other_columns_is_not_resumed(tmp_path: Path, photos: list[str]) -> None:
    def sink() -> Any:
        return sink_for("csv", tmp_path / "rows.csv", tmp_path / "home", {}, retry_failed=False, start_over=False)

    with sink() as first:
        first.add(photos[0], f"{photos[0]},ok\n", ok=True)
    head, *lines = first.journal.read_text().splitlines(keepends=True)
    before = json.loads(head)
    del before["parameters"]["columns"]
    first.journal.write_text("".join([json.dumps(before) + "\n", *lines]))
    with pytest.raises(UsageError, match="was written with another version of Fieldmark"), sink():
        pass


def test_a_changed_photo_and_an_encounter_with_other_photos_are_made_again(tmp_path: Path, photos: list[str]) -> None:
    a, b, c = photos
    for changed in ((a, b, c), (b, c), (a,), (b,), (c,), (a, b)):
        with output(tmp_path, wanted=[Encounter(photos=(a, b))], start_over=True) as first:
            first.add(a, f"{a},1\n", ok=True)
        if changed == (a, b):
            Path(b).write_bytes(b"quite another photo")
        with output(tmp_path, wanted=[Encounter(photos=changed)]) as second:
            assert second.done == ({a} if changed == (c,) else frozenset()), changed


def write_many(folder: Path) -> dict[str, str]:
    """Write the rows of twenty photos, and return photo -> row."""
    folder.mkdir()
    paths = [folder / f"bird {n}.jpg" for n in range(20)]
    rows = {str(path): f"{path},{n}\n" for n, path in enumerate(paths)}
    with output(folder) as out:
        for path in paths:
            path.write_bytes(b"a photo")
            out.add(str(path), rows[str(path)], ok=True)
    return rows


def test_damaged_and_truncated_rows_are_made_again(tmp_path: Path) -> None:
    for seed in range(10):
        folder = tmp_path / str(seed)
        rows = write_many(folder)
        file = folder / "out.csv"
        file.write_bytes(file.read_bytes()[: -3 * seed] if seed > 7 else damaged(file.read_bytes(), seed))
        with output(folder) as out:
            for photo in rows.keys() - out.done:
                out.add(photo, rows[photo], ok=True)
        assert sorted(file.read_text().splitlines(keepends=True)[1:]) == sorted(rows.values()), seed


def test_a_damaged_journal_costs_its_photos_or_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for seed in range(10):
        folder = tmp_path / str(seed)
        rows = write_many(folder)
        (journal,) = (folder / "journals").glob("*.jsonl")
        journal.write_bytes(damaged(journal.read_bytes(), seed))
        try:
            with output(folder) as out:
                done = out.done
        except UsageError as error:
            assert "--output" in (error.hint or "")
            with output(folder, start_over=True) as out:
                done = out.done
        kept = "".join(row for photo, row in rows.items() if photo in done)
        assert (folder / "out.csv").read_text() == "image,rank\n" + kept, seed


def test_strange_lines_in_the_journal_are_skipped(tmp_path: Path) -> None:
    rows = write_many(tmp_path / "a")
    (journal,) = (tmp_path / "a" / "journals").glob("*.jsonl")
    strange = ["[" * 5_000 + "]" * 5_000, "5", "[]", '{"image": 1}', '{"settled": 0}']
    journal.write_text(journal.read_text() + "\n".join(strange) + "\n")
    with output(tmp_path / "a") as out:
        assert out.done == rows.keys()
