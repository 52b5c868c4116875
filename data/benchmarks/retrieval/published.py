"""Retrieval data sets by the form of their file of queries."""

from __future__ import annotations

import json
from pathlib import Path

from data.benchmarks.retrieval.benchmark import Benchmark
from data.benchmarks.retrieval.captions import is_captions, read_caption_table, read_captions
from data.benchmarks.retrieval.circo import is_circo, read_circo
from data.benchmarks.retrieval.cirr import is_cirr, read_cirr
from data.benchmarks.retrieval.visdial import is_chatir, is_visdial, read_chatir, read_visdial
from data.errors import UsageError
from data.files import read_lines


def read_benchmark(file: Path, *, split: str | None = None) -> Benchmark | None:
    """Return the data set in a file, None if it is of no known form.

    Args:
        file: the file of queries: `.json`, or `.csv` for captions.
        split: `test` or `validation` of a file of captions with splits; test without it.

    Raises:
        BadInput: if the file is of a known form and its content is invalid.
        UsageError: if a split is given for a file that is one.
    """
    if file.suffix == ".csv":
        return read_caption_table(file, split=split)
    if file.suffix != ".json":
        return None
    try:
        payload = json.loads("\n".join(read_lines(file)))
    except ValueError:
        return None
    if is_captions(payload):
        return read_captions(file, payload, split=split)
    for is_of, read in (
        (is_cirr, read_cirr),
        (is_circo, read_circo),
        (is_chatir, read_chatir),
        (is_visdial, read_visdial),
    ):
        if is_of(payload):
            if split is not None:
                raise UsageError(f"{file.name} is one split; --split is for files with several.")
            return read(file, payload)
    return None
