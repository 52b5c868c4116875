"""CIRR: a reference photo and a change; `captions/cap.VER.SPLIT.json` with `image_splits/split.VER.SPLIT.json`.

The reference image is taken out of the ranking, and R_subset@k ranks the other five images of its set (Liu et al., ICCV
2021). The answers of the test split are not published.
"""

from __future__ import annotations

from pathlib import Path

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.records import Job
from papers.datasets.benchmark import Benchmark
from papers.datasets.cells import cell, number_or_name, text, texts


def read_cirr(file: Path, payload: list[object]) -> Benchmark:
    """Return the queries of a split.

    Raises:
        BadInput: if the content is invalid, or a query id is repeated.
    """
    collection = _collection(file)
    queries: dict[str, Job] = {}
    subsets: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, str] = {}
    for n, entry in enumerate(payload, start=1):
        query_id = number_or_name(entry, "pairid", f"{file.name}, entry {n}")
        where = f"{file.name}, query {query_id}"
        reference = number_or_name(entry, "reference", where)
        if query_id in queries:
            raise BadInput(f"{file.name} has two queries with the pairid {query_id}.")
        has_target = isinstance(entry, dict) and "target_hard" in entry
        queries[query_id] = Job(
            query_id=query_id,
            text="",
            candidates=(),
            reference_image=collection.get(reference, f"{reference}.png"),
            modification=text(entry, "caption", where),
            relevant=(number_or_name(entry, "target_hard", where),) if has_target else None,
        )
        members = texts(cell(entry, "img_set", dict, where), "members", where)
        subsets[query_id] = tuple(member for member in members if member != reference)
        left_out[query_id] = reference
    return Benchmark(
        name="CIRR", file=file, queries=tuple(queries.values()), collection=collection, subsets=subsets,
        left_out=left_out,
    )  # fmt: skip


def _collection(file: Path) -> dict[str, str]:
    """Return image -> path from the list of the split; empty if it is not there."""
    name = file.name.replace("cap.", "split.", 1)
    found = next((p for p in (file.parent.parent / "image_splits" / name, file.parent / name) if p.is_file()), None)
    if found is None or found == file:
        return {}
    try:
        paths = load_json("\n".join(read_lines(found)))
        return {str(image): str(Path(path)) for image, path in paths.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise BadInput(f"{found}: expected image names with their paths: {error}") from error
