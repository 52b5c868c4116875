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


def test_a_missing_photo_is_tried_again_once_it_exists(tmp_path: Path) -> None:
    late = tmp_path / "late.jpg"
    with output(tmp_path) as first:
        first.add(str(late), f"{late},error\n", ok=False)
    with output(tmp_path) as second:
        assert second.done == {str(late)}
    late.write_bytes(b"a photo")
    with output(tmp_path) as third:
        assert third.done == frozenset()


def test_the_row_of_a_deleted_photo_stays(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    Path(photos[0]).unlink()
    with output(tmp_path) as second:
        assert second.done == {photos[0]}
    assert (tmp_path / "out.csv").read_text() == f"image,rank\n{photos[0]},1\n"


def test_starting_over_replaces_own_rows_but_not_a_foreign_file(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path, start_over=True, preset="vr-rag-v1") as second:
        assert second.done == frozenset()
    assert (tmp_path / "out.csv").read_text() == "image,rank\n"
    second.journal.unlink()
    (tmp_path / "out.csv").write_text("my notes\n")
    with pytest.raises(UsageError, match="was not written by kb identify"), output(tmp_path, start_over=True):
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


def test_a_unicode_line_separator_does_not_split_a_row(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},a\u2028b\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photos[0]}


def test_a_file_name_that_is_not_utf8_keeps_its_bytes(tmp_path: Path) -> None:
    photo = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg")
    Path(photo).write_bytes(b"a photo")
    with output(tmp_path) as first:
        first.add(photo, f"{photo},1\n", ok=True)
    with output(tmp_path) as second:
        assert second.done == {photo}
    assert (tmp_path / "out.csv").read_bytes() == b"image,rank\n" + os.fsencode(photo) + b",1\n"


@pytest.mark.parametrize("lost", range(1, 40, 3))
def test_rows_truncated_at_any_byte_are_made_again(tmp_path: Path, photos: list[str], lost: int) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    whole = (tmp_path / "out.csv").read_text()
    half = f"{photos[1]},1\n{photos[1]},2\n"
    with (tmp_path / "out.csv").open("a") as out:
        out.write(half[:-lost])
    with output(tmp_path) as second:
        assert second.done == {photos[0]}
    assert (tmp_path / "out.csv").read_text() == whole


def test_a_truncated_journal_line_costs_one_photo(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        for photo in photos:
            first.add(photo, f"{photo},1\n", ok=True)
    first.journal.write_text(first.journal.read_text()[:-9])
    with output(tmp_path) as second:
        assert second.done == set(photos[:2])


def test_a_changed_photo_is_identified_again(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    Path(photos[0]).write_bytes(b"quite another photo")
    with output(tmp_path) as second:
        assert second.done == frozenset()


def test_resuming_with_other_parameters_is_refused(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    before = (tmp_path / "out.csv").read_bytes()
    with pytest.raises(UsageError, match="preset default -> vr-rag-v1"), output(tmp_path, preset="vr-rag-v1"):
        pass
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_foreign_output_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("my notes\n")
    with pytest.raises(UsageError, match="was not written by kb identify"), output(tmp_path):
        pass
    assert (tmp_path / "out.csv").read_text() == "my notes\n"


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


def test_a_file_name_that_is_not_utf8_is_escaped_in_parquet(tmp_path: Path) -> None:
    photo = os.fsdecode(os.fsencode(tmp_path) + b"/\xc3\xa9 caf\xe9.jpg")
    Path(photo).write_bytes(b"a photo")
    with packed(tmp_path) as first:
        first.add(photo, row(photo, 1), ok=True)
    assert [each["image"] for each in table(tmp_path)] == [f"{tmp_path}/é caf\\xe9.jpg"]


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


@pytest.mark.parametrize("content", [b"PAR1 not quite", b"notes"])
def test_an_invalid_parquet_file_is_not_overwritten(tmp_path: Path, photos: list[str], content: bytes) -> None:
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    (tmp_path / "out.parquet").write_bytes(content)
    with pytest.raises(BadInput, match="not a readable Parquet file"), packed(tmp_path):
        pass
    assert (tmp_path / "out.parquet").read_bytes() == content


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


def test_the_journal_starts_with_output_path_and_parameters(tmp_path: Path) -> None:
    with output(tmp_path) as first:
        pass
    head = json.loads(first.journal.read_text().splitlines()[0])
    assert head == {"output": str(tmp_path / "out.csv"), "parameters": PARAMETERS}


def test_a_pipe_is_refused_as_output(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"pipe\.csv is not a regular file"):
        sink_for("csv", pipe, tmp_path / "home", {}, retry_failed=False, start_over=False)
    assert pipe.is_fifo()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_output_with_other_columns_is_not_resumed(tmp_path: Path, photos: list[str], form: str) -> None:
    file = tmp_path / f"rows.{form}"
    with sink_for(form, file, tmp_path / "home", {}, retry_failed=False, start_over=False) as first:
        line = row(photos[0], 1) if form == "parquet" else f"{photos[0]},ok\n"
        first.add(photos[0], line, ok=True)
    head, *lines = first.journal.read_text().splitlines(keepends=True)
    before = json.loads(head)
    del before["parameters"]["columns"]
    first.journal.write_text("".join([json.dumps(before) + "\n", *lines]))
    with (
        pytest.raises(UsageError, match="was written with another version of Fieldmark"),
        sink_for(form, file, tmp_path / "home", {}, retry_failed=False, start_over=False),
    ):
        pass


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


def test_an_encounter_whose_last_row_was_cut_off_is_made_again_with_all_its_photos(
    tmp_path: Path, photos: list[str]
) -> None:
    whole = [Encounter(photos=(photos[0], photos[1]), name="noon"), Encounter(photos=(photos[2],))]
    with output(tmp_path, wanted=whole) as first:
        first.add(photos[0], f"{photos[0]},1\n{photos[0]},2\n", ok=True)
    with output(tmp_path, wanted=whole) as second:
        assert second.done == {photos[0]}
    text = (tmp_path / "out.csv").read_text()
    (tmp_path / "out.csv").write_text(text[:-5])  # killed while writing
    with output(tmp_path, wanted=whole) as third:
        assert third.done == frozenset()
        assert (tmp_path / "out.csv").read_text() == "image,rank\n"


@pytest.mark.parametrize(
    "changed", [("a", "b", "c"), ("b", "c"), ("a",), ("b",)], ids=["more", "other-first", "fewer", "one-left"]
)
def test_an_encounter_with_other_photos_than_before_is_made_again(
    tmp_path: Path, photos: list[str], changed: tuple[str, ...]
) -> None:
    by_letter = {Path(photo).stem: photo for photo in photos}
    with output(tmp_path, wanted=[Encounter(photos=tuple(photos[:2]))]) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path, wanted=[Encounter(photos=tuple(by_letter[each] for each in changed))]) as second:
        assert second.done == frozenset()
    assert (tmp_path / "out.csv").read_text() == "image,rank\n"


def test_an_encounter_of_other_photos_stays(tmp_path: Path, photos: list[str]) -> None:
    with output(tmp_path, wanted=[Encounter(photos=tuple(photos[:2]))]) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    with output(tmp_path, wanted=[Encounter(photos=(photos[2],))]) as second:
        assert second.done == {photos[0]}


def test_an_encounter_with_a_changed_photo_is_made_again(tmp_path: Path, photos: list[str]) -> None:
    wanted = [Encounter(photos=tuple(photos[:2]))]
    with output(tmp_path, wanted=wanted) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
    Path(photos[1]).write_bytes(b"another photo")
    with output(tmp_path, wanted=wanted) as second:
        assert second.done == frozenset()


def write_many(folder: Path) -> dict[str, str]:
    """Write the rows of forty photos, and return photo -> row."""
    paths = [folder / f"bird {n}.jpg" for n in range(40)]
    rows = {str(path): f"{path},{n}\n" for n, path in enumerate(paths)}
    with output(folder) as out:
        for path in paths:
            path.write_bytes(b"a photo")
            out.add(str(path), rows[str(path)], ok=True)
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_damaged_rows_are_made_again(tmp_path: Path, seed: int) -> None:
    rows = write_many(tmp_path)
    file = tmp_path / "out.csv"
    file.write_bytes(damaged(file.read_bytes(), seed))
    with output(tmp_path) as out:
        for photo in rows.keys() - out.done:
            out.add(photo, rows[photo], ok=True)
    assert sorted(file.read_text().splitlines(keepends=True)[1:]) == sorted(rows.values())


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_journal_costs_its_photos_or_is_an_error_with_a_remedy(tmp_path: Path, seed: int) -> None:
    rows = write_many(tmp_path)
    (journal,) = (tmp_path / "journals").glob("*.jsonl")
    journal.write_bytes(damaged(journal.read_bytes(), seed))
    try:
        with output(tmp_path) as out:
            done = out.done
    except UsageError as error:
        assert "--output" in (error.hint or "")
        with output(tmp_path, start_over=True) as out:
            done = out.done
    assert done <= rows.keys()
    assert (tmp_path / "out.csv").read_text() == "image,rank\n" + "".join(
        row for photo, row in rows.items() if photo in done
    )


@pytest.mark.parametrize("line", ["[" * 5_000 + "]" * 5_000, "5", "[]", '{"image": 1}', '{"settled": 0}'])
def test_a_strange_line_in_the_journal_is_skipped(tmp_path: Path, line: str) -> None:
    rows = write_many(tmp_path)
    (journal,) = (tmp_path / "journals").glob("*.jsonl")
    journal.write_text(journal.read_text() + line + "\n")
    with output(tmp_path) as out:
        assert out.done == rows.keys()
