"""INQUIRE-Rerank in its published layouts, as tiny copies with rows and pictures of our own."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data.benchmarks.inquire import query_id_of, read_hard, read_rerank
from data.errors import BadInput
from data.images.decode import read_image

KNOWN = "cross orbweaver"  # a species name, and the whole text of INQUIRE's query 19
OTHER = "a purple heron dancing"
ROWS = [
    # query, image, score, relevant
    (KNOWN, 11, 0.31, 1),
    (OTHER, 21, 0.25, 0),
    (KNOWN, 12, 0.35, 0),
    (OTHER, 22, 0.28, 1),
    (KNOWN, 13, 0.30, 1),
    (OTHER, 11, 0.20, 0),
]


def picture(number: Any) -> Any:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (number * 9 % 256, 80, 120)).save(out, "JPEG")
    return out.getvalue()


def columns(rows: Any) -> Any:
    """Return the columns of the published rows with their published types."""
    return {
        "image": [{"bytes": picture(i), "path": f"{i}.jpg"} for _, i, _, _ in rows],
        "query": [query for query, _, _, _ in rows],
        "relevant": [relevant for _, _, _, relevant in rows],
        "clip_score": [score for _, _, score, _ in rows],
        "inat24_image_id": [i for _, i, _, _ in rows],
        "inat24_file_name": [f"train/00001_Aves/{i}.jpg" for _, i, _, _ in rows],
        "supercategory": ["Appearance"] * len(rows),
        "category": ["Unique appearances or morphs"] * len(rows),
        "iconic_group": ["Birds"] * len(rows),
        "inat24_species_id": [1] * len(rows),
        "inat24_species_name": ["Turdus migratorius"] * len(rows),
        "latitude": [None] * len(rows),
        "longitude": [None] * len(rows),
        "location_uncertainty": [None] * len(rows),
        "date": ["2020-01-01"] * len(rows),
        "license": ["CC0"] * len(rows),
        "rights_holder": ["nobody"] * len(rows),
    }


def write_parquet(path: Any, rows: Any = ROWS, drop: tuple[()] = ()) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: cells for name, cells in columns(rows).items() if name not in drop})
    pq.write_table(table, path, row_group_size=4)


def relevances(jobs: Any) -> Any:
    return {job.query_id: (job.text, [i.image_id for i in job.candidates], job.relevant) for job in jobs}


EXPECTED = {
    "19": (KNOWN, ["11", "12", "13"], ("11", "13")),
    query_id_of(OTHER): (OTHER, ["21", "22", "11"], ("22",)),
}


def test_parquet_rows_become_one_job_per_query(tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "test-00000-of-00002.parquet", ROWS[:3])
    write_parquet(tmp_path / "data" / "test-00001-of-00002.parquet", ROWS[3:])
    jobs = read_rerank(tmp_path)
    assert relevances(jobs) == EXPECTED
    assert [image.score for image in jobs[0].candidates] == [0.31, 0.35, 0.30]
    assert jobs[0].candidates[0].path == "train/00001_Aves/11.jpg"


def test_embedded_pictures_are_written_once(tmp_path: Path) -> None:
    write_parquet(tmp_path / "validation-00000-of-00001.parquet")
    images = tmp_path / "images"
    (job, _) = read_rerank(tmp_path / "validation-00000-of-00001.parquet", images=images)
    assert [read_image(image.path).size for image in job.candidates] == [(40, 30)] * 3
    assert sorted(path.name for path in images.iterdir()) == ["11.jpg", "12.jpg", "13.jpg", "21.jpg", "22.jpg"]
    before = {path: path.stat().st_mtime_ns for path in images.iterdir()}
    read_rerank(tmp_path / "validation-00000-of-00001.parquet", images=images)
    assert {path: path.stat().st_mtime_ns for path in images.iterdir()} == before


def test_a_split_is_selected_by_file_name_prefix(tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "test-00000-of-00001.parquet", ROWS[:1])
    write_parquet(tmp_path / "data" / "validation-00000-of-00001.parquet", ROWS[1:2])
    assert [job.text for job in read_rerank(tmp_path, split="validation")] == [OTHER]
    assert len(read_rerank(tmp_path)) == 2
    with pytest.raises(BadInput, match="no files of the split 'train'"):
        read_rerank(tmp_path, split="train")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_folder_of_images_with_metadata_gives_the_same_jobs(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    named = {"inat24_image_id", "query", "relevant", "clip_score"}
    table = {name: cells for name, cells in columns(ROWS).items() if name in named}
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    for row in rows:
        row["file_name"] = f"{row['inat24_image_id']}.jpg"
        (folder / row["file_name"]).write_bytes(picture(row["inat24_image_id"]))
    if form == "jsonl":
        (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with (folder / "metadata.csv").open("w", newline="") as out:
            writer = csv.DictWriter(out, rows[0])
            writer.writeheader()
            writer.writerows(row | {"relevant": bool(row["relevant"])} for row in rows)
    jobs = read_rerank(tmp_path, split="test")
    assert relevances(jobs) == EXPECTED
    assert read_image(jobs[0].candidates[2].path).size == (40, 30)


def test_queries_that_differ_only_in_case_and_spaces_are_merged(tmp_path: Path) -> None:
    rows = [(KNOWN, 1, 0.3, 1), (f"  {KNOWN.upper()} ", 2, 0.2, 0)]
    write_parquet(tmp_path / "test.parquet", rows)
    (job,) = read_rerank(tmp_path)
    assert [image.image_id for image in job.candidates] == ["1", "2"]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write_parquet(tmp_path / "test.parquet", drop=("clip_score",))
    with pytest.raises(BadInput, match="has no column clip_score"):
        read_rerank(tmp_path)


def test_a_repeated_image_of_a_query_is_refused(tmp_path: Path) -> None:
    write_parquet(tmp_path / "test.parquet", [ROWS[0], ROWS[0]])
    with pytest.raises(BadInput, match="Image 11 is listed twice"):
        read_rerank(tmp_path)


@pytest.mark.parametrize(("score", "relevant"), [("high", "1"), ("0.1", "perhaps"), ("nan", "1"), ("0.1", "2")])
def test_an_invalid_score_or_relevance_is_refused(tmp_path: Path, score: str, relevant: str) -> None:
    header = "file_name,query,relevant,clip_score,inat24_image_id"
    (tmp_path / "metadata.csv").write_text(f"{header}\na.jpg,{KNOWN},{relevant},{score},1\n")
    with pytest.raises(BadInput, match="expected a number as clip_score and 0 or 1"):
        read_rerank(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("test.parquet", b"PAR1 cut off", "as a Parquet file"),
        ("metadata.jsonl", b"[1, 2]\n", "expected a JSON object per line"),
        ("metadata.jsonl", b'{"query": \n', "expected a JSON object per line"),
        ("metadata.jsonl", "{}".encode("utf-16"), "is not UTF-8 text"),
        ("metadata.csv", b"file_name,query,relevant,clip_score,inat24_image_id\n", "contains no query with images"),
        ("metadata.csv", b"file_name,relevant,clip_score,inat24_image_id,query\na.jpg,1,0.5,1\n", "text as query"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: Any, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=why):
        read_rerank(tmp_path)


def test_csv_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    header, row = "file_name,query,relevant,clip_score,inat24_image_id", 'a.jpg,"red, and\r\nsmall",1,0.5,1'
    (tmp_path / "metadata.csv").write_bytes(f"\ufeff{header}\r\n{row},one cell too many\r\n".encode())
    (job,) = read_rerank(tmp_path)
    assert (job.text, job.relevant) == ("red, and small", ("1",))


def test_an_image_id_with_a_path_is_refused(tmp_path: Path) -> None:
    header = "file_name,query,relevant,clip_score,inat24_image_id"
    (tmp_path / "metadata.csv").write_text(f"{header}\na.jpg,{KNOWN},1,0.5,../../x\n")
    with pytest.raises(BadInput, match="invalid image id"):
        read_rerank(tmp_path)


NO_LIST = "expected a list of queries"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[{"query": 1, "images": {"a": 1}}]', "expected text as query, got 1"),
        ('[{"query": " ", "images": {"a": 1}}]', "expected text as query"),
        ('[{"query": "owl", "images": {"a": 2}}]', "0 or 1 as relevant"),
        ('[{"query": "owl", "images": {"": 1}}]', "an empty path"),
        ('[{"query": "owl", "images": {"a": 1, "a": 0}}]', "a key is repeated"),
        ('[{"query": "owl"}]', NO_LIST),
        ("[1]", NO_LIST),
        ("no JSON", NO_LIST),
    ],
)
def test_an_invalid_hard_subset_is_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "hard.json").write_text(content)
    with pytest.raises(BadInput, match=why):
        read_hard(tmp_path / "hard.json")


def test_the_text_zero_means_irrelevant_in_the_hard_subset(tmp_path: Path) -> None:
    (tmp_path / "hard.json").write_text('[{"query": "owl", "images": {"a": "0", "b": "1"}}]')
    assert read_hard(tmp_path / "hard.json")[0].relevant == ("b",)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Cannot read .*hard\.json"):
        read_hard(tmp_path / "hard.json")
    with pytest.raises(BadInput, match=r"Cannot read .*test\.parquet as a Parquet file"):
        read_rerank(tmp_path / "test.parquet")


def test_a_parquet_file_with_damaged_pages_is_named(tmp_path: Path) -> None:
    file = tmp_path / "test.parquet"
    names = ("query", "relevant", "clip_score", "inat24_image_id")
    pq.write_table(pa.table({name: columns(ROWS)[name] for name in names}), file)
    content = bytearray(file.read_bytes())
    content[4:200] = b"\xff" * 196
    file.write_bytes(content)
    with pytest.raises(BadInput, match="as a Parquet file"):
        read_rerank(file)


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ({"inat24_image_id": None}, "invalid image id None"),
        ({"file_name": None}, "expected a path as file_name"),
        ({"clip_score": True}, "expected a number as clip_score"),
    ],
)
def test_a_missing_cell_is_refused(tmp_path: Path, cell: dict[str, object], why: str) -> None:
    row = {"file_name": "a.jpg", "query": KNOWN, "relevant": 1, "clip_score": 0.5, "inat24_image_id": 1, **cell}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row))
    with pytest.raises(BadInput, match=why):
        read_rerank(tmp_path)


def test_images_that_are_not_structs_are_not_written(tmp_path: Path) -> None:
    cells = columns(ROWS[:1]) | {"image": [b"bytes without a struct"]}
    pq.write_table(pa.table(cells), tmp_path / "test.parquet")
    (job,) = read_rerank(tmp_path, images=tmp_path / "images")
    assert job.candidates[0].path == "train/00001_Aves/11.jpg"


def test_a_folder_without_data_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no Parquet files or a metadata\.jsonl"):
        read_rerank(tmp_path)


def test_the_hard_subset_keeps_the_order_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "hard.json"
    file.write_text(json.dumps([{"query": KNOWN, "images": {"b/1.jpg": 0, "a/2.jpg": 1}}]))
    (job,) = read_hard(file)
    assert (job.query_id, job.relevant) == ("19", ("a/2.jpg",))
    assert [(image.image_id, image.score) for image in job.candidates] == [("b/1.jpg", 0.0), ("a/2.jpg", -1.0)]
    file.write_text('{"query": 1}')
    with pytest.raises(BadInput, match="expected a list of queries"):
        read_hard(file)


def test_the_real_hard_subset_is_read(shared: Path) -> None:
    jobs = read_hard(shared / "benchmarks" / "inquire_rerank_hard.json")
    assert len(jobs) == 59
    assert {len(job.candidates) for job in jobs} == {100}
    assert sum(len(job.relevant) for job in jobs) == 739
    assert not [job.query_id for job in jobs if job.query_id.startswith("q-")]
