"""Resumable output files: rows of runs that were interrupted, failed in part, or had other parameters."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from cli.common.resumable import Encounter, ParquetTable, ResumableOutput
from cli.verbs.identify_files import sink_for
from data.errors import KnowledgeBaseLocked, MissingRequirement, UsageError
from tests.damaged import damaged
from tests.small_files import files_of_at_most

PARAMETERS = {"preset": "default", "n": 5}
TYPES = {"image": "text", "rank": "integer", "score": "number"}


def output(folder: Path, *, changed: Mapping[str, object] = {}, **more: Any) -> ResumableOutput:
    parameters = {**PARAMETERS, **changed}
    file, journals = folder / "out.csv", folder / "journals"
    return ResumableOutput(file, folder=journals, parameters=parameters, header="image,rank\n", **more)


def packed(folder: Path, *, start_over: bool = False, **columns: str) -> ResumableOutput:
    return ResumableOutput(
        folder / "out.parquet",
        folder=folder / "journals",
        parameters=PARAMETERS,
        header="",
        start_over=start_over,
        packed=ParquetTable(folder / "out.parquet", TYPES | columns),
    )


def row(image: str, rank: int, score: float | None = 0.5) -> str:
    return json.dumps({"image": image, "rank": rank, "score": score}, ensure_ascii=False) + "\n"


def text(folder: Path) -> str:
    return (folder / "out.csv").read_text()


def images(folder: Path) -> list[str]:
    return [found["image"] for found in pyarrow.parquet.read_table(folder / "out.parquet").to_pylist()]


@pytest.fixture
def photos(tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("a.jpg", "b.jpg", "c.jpg")]
    for path in paths:
        path.write_bytes(b"a photo")
    return [str(path) for path in paths]


def test_a_full_disk_is_reported_with_the_file_and_the_rows_resume(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirement, match=r"out\.csv cannot be written"), output(tmp_path) as out:
        out.add("a", "a,1\n", ok=True)
        with files_of_at_most((tmp_path / "out.csv").stat().st_size + 2):
            out.add("b", "b,1\n", ok=True)
    with output(tmp_path) as out:
        assert out.done == {"a"}
        out.add("b", "b,1\n", ok=True)
    assert text(tmp_path) == "image,rank\na,1\nb,1\n"


def test_failed_and_incomplete_photos_are_done_until_they_are_retried(tmp_path: Path, photos: list[str]) -> None:
    a, b, c = photos
    with output(tmp_path) as first:
        first.add(a, f"{a},error\n", ok=False)
        first.add(b, f"{b},1\n{b},2\n", ok=True, missing="reader")
        first.add(c, f"{c},1\n", ok=True)
    with output(tmp_path) as second:
        assert (second.done, second.failed, second.missing) == (set(photos), {a}, {b: "reader"})
    with output(tmp_path, retry_failed=True, wanted=[Encounter(photos=(c,))]) as unrequested:
        assert unrequested.done == set(photos)
    with output(tmp_path, retry_failed=True) as third:
        assert (third.done, third.failed, third.missing) == ({c}, set(), {})
        third.add(b, f"{b},3\n", ok=True)
        third.add(a, f"{a},1\n", ok=True)
    with output(tmp_path, retry_failed=True) as fourth:
        assert fourth.done == set(photos)
    assert text(tmp_path) == f"image,rank\n{c},1\n{b},3\n{a},1\n"


def test_other_parameters_and_foreign_files_are_refused_and_own_rows_replaced_on_request(
    tmp_path: Path, photos: list[str]
) -> None:
    with output(tmp_path) as first:
        first.add(photos[0], f"{photos[0]},1\n", ok=True)
        with pytest.raises(KnowledgeBaseLocked), output(tmp_path):
            pass
    before = text(tmp_path)
    for changed, said in (
        ({"preset": "vr-rag-v1"}, "preset default -> vr-rag-v1"),
        ({"columns": 3}, "another version"),
    ):
        with pytest.raises(UsageError, match=said), output(tmp_path, changed=changed):
            pass
    assert text(tmp_path) == before
    with output(tmp_path, start_over=True, changed={"preset": "vr-rag-v1"}) as second:
        assert second.done == frozenset()
    assert text(tmp_path) == "image,rank\n"
    second.journal.unlink()
    (tmp_path / "out.csv").write_text("my notes\n")
    for again in (True, False):
        with pytest.raises(UsageError, match="was not written by kb identify"), output(tmp_path, start_over=again):
            pass
    assert text(tmp_path) == "my notes\n"


def test_a_parquet_file_is_written_at_the_end_of_the_run_and_resumed(tmp_path: Path, photos: list[str]) -> None:
    a, b, c = photos
    with packed(tmp_path) as first:
        first.add(a, row(a, 1, 1) + row(a, 2, None), ok=True)
        assert not (tmp_path / "out.parquet").exists()
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert [str(kind) for kind in found.schema.types] == ["string", "int64", "double"]
    assert found.to_pylist() == [{"image": a, "rank": 1, "score": 1.0}, {"image": a, "rank": 2, "score": None}]
    assert json.loads(found.schema.metadata[b"fieldmark"]) == PARAMETERS
    before = (tmp_path / "out.parquet").stat()
    with packed(tmp_path) as second:
        assert second.done == {a}
    assert (tmp_path / "out.parquet").stat().st_ino == before.st_ino, "nothing new, so the file is not rewritten"
    with pytest.raises(KeyboardInterrupt), packed(tmp_path) as killed:
        killed.add(b, row(b, 1), ok=True)
        raise KeyboardInterrupt
    assert images(tmp_path) == [a, a], "the file of the first run is whole meanwhile"
    with killed.path.open("a") as out:
        out.write('{"image": "torn')
    with packed(tmp_path) as third:
        assert third.done == {a, b}
        third.add(c, row(c, 1), ok=True)
    assert images(tmp_path) == [a, a, b, c]
    Path(b).write_bytes(b"quite another photo")
    with packed(tmp_path) as fourth:
        assert fourth.done == {a, c}
    assert images(tmp_path) == [a, a, c]


def test_a_packed_file_that_others_wrote_or_changed_is_not_overwritten(tmp_path: Path, photos: list[str]) -> None:
    file = tmp_path / "out.parquet"
    with packed(tmp_path) as first:
        first.add(photos[0], row(photos[0], 1), ok=True)
    file.write_bytes(b"edited by hand")
    with pytest.raises(UsageError, match=r"out\.parquet is not as kb identify wrote it"), packed(tmp_path):
        pass
    assert file.read_bytes() == b"edited by hand"
    with packed(tmp_path, start_over=True, place="text") as anew:
        anew.add(photos[1], row(photos[1], 1), ok=True)
    assert images(tmp_path) == [photos[1]]
    file.unlink()
    with packed(tmp_path, place="text"):
        pass
    assert images(tmp_path) == [photos[1]], "made again from the kept rows"
    for path in (tmp_path / "journals").iterdir():
        path.unlink()
    with pytest.raises(UsageError, match="was not written by kb identify"), packed(tmp_path, place="text"):
        pass


def test_a_packed_file_has_all_rows_wherever_the_run_before_was_killed(
    tmp_path: Path, photos: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = photos

    def killed(*added: str, start_over: bool = False) -> None:
        with pytest.raises(KeyboardInterrupt), packed(tmp_path, start_over=start_over) as out:
            for photo in added:
                out.add(photo, row(photo, 1), ok=True)
            raise KeyboardInterrupt

    def killed_after_packing(*_: object) -> None:
        pack(*_)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with packed(tmp_path) as first:
        first.add(a, row(a, 1), ok=True)
    killed(b)
    with packed(tmp_path) as second:
        assert second.done == {a, b}
    assert images(tmp_path) == [a, b], "rows of the killed run, though the last one added none"
    pack = ParquetTable.pack
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt), packed(tmp_path) as third:
        patched.setattr(ParquetTable, "pack", killed_after_packing)
        third.add(c, row(c, 1), ok=True)
    for _ in range(2):
        killed()
    with packed(tmp_path) as fourth:
        assert fourth.done == {a, b, c}
    assert images(tmp_path) == [a, b, c]
    killed(b, start_over=True)
    with packed(tmp_path) as fifth:
        assert fifth.done == {b}
    assert images(tmp_path) == [b]


def test_a_pipe_is_refused_and_a_symlink_is_kept_and_shares_the_journal_of_its_target(
    tmp_path: Path, photos: list[str]
) -> None:
    def sink(file: Path) -> Any:
        return sink_for("csv", file, tmp_path / "home", PARAMETERS, retry_failed=False, start_over=False)

    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UsageError, match=r"pipe\.csv is not a regular file"):
        sink(tmp_path / "pipe.csv")
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "link.csv", tmp_path / "disk" / "rows.csv"
    link.symlink_to(file)
    with sink(link) as first:
        first.add(photos[0], f"{photos[0]},ok\n", ok=True)
    with sink(file) as second:
        assert second.done == {photos[0]}
    assert link.is_symlink()
    assert file.read_text().endswith(f"{photos[0]},ok\n")


def test_a_changed_photo_and_an_encounter_with_other_photos_are_made_again(tmp_path: Path, photos: list[str]) -> None:
    a, b, c = photos
    for changed in ((a, b, c), (b, c), (a,), (b,), (c,), (a, b)):
        with output(tmp_path, wanted=[Encounter(photos=(a, b))], start_over=True) as first:
            first.add(a, f"{a},1\n", ok=True)
        if changed == (a, b):
            Path(b).write_bytes(b"quite another photo")
        with output(tmp_path, wanted=[Encounter(photos=changed)]) as second:
            assert second.done == ({a} if changed == (c,) else frozenset()), changed


@pytest.mark.parametrize("name", ["out.csv", "journals/*.jsonl"])
def test_damaged_rows_or_journals_cost_their_photos_or_are_an_error_with_a_remedy(tmp_path: Path, name: str) -> None:
    for seed in range(10):
        (folder := tmp_path / str(seed)).mkdir()
        rows = {str(folder / f"bird {n}.jpg"): f"{folder / f'bird {n}.jpg'},{n}\n" for n in range(20)}
        with output(folder) as out:
            for photo, line in rows.items():
                Path(photo).write_bytes(b"a photo")
                out.add(photo, line, ok=True)
        [file] = folder.glob(name)
        whole = file.read_bytes()
        file.write_bytes(
            whole[: -3 * seed] if seed > 7 else damaged(whole, seed) if seed else whole.replace(b",7\n", b",8\n")
        )
        try:
            with output(folder) as out:
                done = out.done
        except UsageError as error:
            assert "--output" in (error.hint or "")
            with output(folder, start_over=True) as out:
                done = out.done
        assert text(folder) == "image,rank\n" + "".join(line for photo, line in rows.items() if photo in done), seed
        assert seed or len(done) == len(rows) - (name == "out.csv"), "only the changed one"
