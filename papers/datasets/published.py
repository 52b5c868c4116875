"""Retrieval data sets by the form of their file of queries."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

from data.codec import load_json
from data.errors import BadInput, UsageError
from data.files import read_lines
from papers.datasets.benchmark import Benchmark
from papers.datasets.captions import read_captions
from papers.datasets.circo import read_circo
from papers.datasets.cirr import read_cirr
from papers.datasets.inquire import read_hard
from papers.datasets.msr_vtt import is_msr_vtt, read_msr_vtt
from papers.datasets.visdial import read_chatir, read_visdial
from papers.datasets.visual_rag import read_visual_rag


def read_benchmark(file: Path, *, split: str | None = None, images: Path | None = None) -> Benchmark | None:
    """Return the data set in a file, None if it is of no known form.

    Args:
        file: the file of queries: `.json`, or `.jsonl` for Visual-RAG.
        split: `test` or `validation` of a file of captions with splits; test without it, and all clips of MSR-VTT.
        images: the folder of the images, which lists the collections of CIRCO and MSR-VTT.

    Raises:
        BadInput: if the file is no JSON, or of a known form with invalid content.
        UsageError: if a split is given for a file that is one.
    """
    if file.suffix == ".jsonl":
        if not re.search(r'^\s*\{.*"images":', _first_line(file)):
            return None
        _check_unsplit(file, split)
        return read_visual_rag(file, read_lines(file))
    if file.suffix != ".json":
        return None
    try:
        payload = load_json("\n".join(read_lines(file)))
    except ValueError as error:
        raise BadInput(
            f"{file.name} is damaged or incomplete: {error}",
            hint="Expected one JSON document; JSON lines are named .jsonl.",
        ) from error
    if is_msr_vtt(payload):
        return read_msr_vtt(file, payload, split=split, images=images)
    first = payload[0] if isinstance(payload, list) and payload else payload
    if not isinstance(first, dict):
        return None
    if isinstance(payload, dict) and isinstance(payload.get("images"), list):
        return read_captions(file, payload, split=split)
    for keys, read in (
        (("query", "images"), _inquire_hard),
        (("pairid",), read_cirr),
        (("reference_img_id",), partial(read_circo, images=images)),
        (("img", "dialog"), read_chatir),
        (("data", "split"), read_visdial),
    ):
        if first.keys() >= set(keys):
            _check_unsplit(file, split)
            return read(file, payload)
    return None


def _first_line(file: Path) -> str:
    """Return the first line that is not empty, of a file that may be large; empty if it cannot be read."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            return next((line for line in lines if line.strip()), "")
    except (OSError, UnicodeDecodeError):
        return ""


def _inquire_hard(file: Path, _payload: object) -> Benchmark:
    jobs = read_hard(file)
    pools = {job.query_id: tuple(image.image_id for image in job.candidates) for job in jobs}
    return Benchmark(
        name="INQUIRE-Rerank-Hard",
        file=file,
        queries=tuple(replace(job, candidates=()) for job in jobs),
        collection={image: image for pool in pools.values() for image in pool},
        pools=pools,
    )


def _check_unsplit(file: Path, split: str | None) -> None:
    if split is not None:
        raise UsageError(f"{file.name} is one split; --split is for files with several.")
