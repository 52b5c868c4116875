"""Visual-RAG and Visual-RAG-ME: questions about looks, each searched in the photos of one species.

One JSON object per line: `question`, `answer` (texts, any of which is right), `images` (path -> 1 where the photo shows
the answer, else 0) and `sn` (scientific name). Visual-RAG-ME compares two species: `images` holds `entity_1` and
`entity_2`, `sn` both names, and each question is two queries over the photos of one species each, with the whole
question as text (Wu et al., 2025, section 4). The images are those of iNaturalist 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from data.codec import load_json
from data.errors import BadInput
from data.records import Job
from papers.datasets.benchmark import Benchmark, VisualQuestion
from papers.datasets.cells import cell, text, texts

ENTITIES: Final = ("entity_1", "entity_2")


def read_visual_rag(file: Path, lines: Sequence[str]) -> Benchmark:
    """Return the questions; query ids are the places of the lines from 0, with `_entity_1` or `_entity_2` for two.

    Raises:
        BadInput: if a line is invalid, or questions about one and about two species are mixed; with its number.
    """
    collection: dict[str, str] = {}
    queries: list[Job] = []
    questions: list[VisualQuestion] = []
    pools: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{file.name}, line {number}"
        entry = _entry(line, where)
        question = text(entry, "question", where)
        labels = _labels(entry, where)
        if questions and len(labels) != len(questions[0].entities):
            raise BadInput(f"{where}: expected {len(questions[0].entities)} species as above, got {len(labels)}")
        names = _names(entry, labels, where)
        ids = [f"{len(questions)}_{name}" if name else str(len(questions)) for name in labels]
        for query_id, name, images in zip(ids, names, labels.values(), strict=True):
            of = name if len(names) > 1 else None  # a question about one species names it
            collection |= {image: image for image in images}
            pools[query_id] = tuple(images)
            relevant = tuple(image for image, label in images.items() if label)
            query = Job(query_id=query_id, text=question, candidates=(), entity=of, is_question=True, relevant=relevant)
            queries.append(query)
        questions.append(
            VisualQuestion(
                question_id=str(len(questions)),
                text=question,
                answers=tuple(texts(entry, "answer", where)),
                queries=tuple(ids),
                entities=tuple(names),
            )
        )
    return Benchmark(
        name="Visual-RAG-ME" if len(questions[0].entities) > 1 else "Visual-RAG",
        file=file,
        queries=tuple(queries),
        collection=collection,
        pools=pools,
        questions=tuple(questions),
    )


def _entry(line: str, where: str) -> Mapping[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key is repeated")
        return found

    try:
        entry = load_json(line, object_pairs_hook=once)
    except ValueError as error:
        raise BadInput(f"{where}: expected a JSON object: {error}") from error
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: expected a JSON object, got {line[:60]}")
    return entry


def _labels(entry: Mapping[str, object], where: str) -> dict[str, dict[str, int]]:
    """Return entity -> image -> label; the entity of a question about one species is empty."""
    images = cell(entry, "images", dict, where)
    is_split = any(isinstance(value, dict) for value in images.values())
    if is_split and sorted(images) != sorted(ENTITIES):
        raise BadInput(f"{where}: expected images of entity_1 and entity_2, got {', '.join(map(str, images))}")
    found = {name: cell(images, name, dict, where) for name in ENTITIES} if is_split else {"": images}
    for labels in found.values():
        if not labels:
            raise BadInput(f"{where}: a species has no images")
        for image, label in labels.items():
            if isinstance(label, bool) or label not in (0, 1) or not image.strip() or image.split() != [image]:
                raise BadInput(f"{where}: expected image paths with 0 or 1, got {image!r}: {label!r}")
    return found


def _names(entry: Mapping[str, object], labels: Mapping[str, Mapping[str, int]], where: str) -> list[str]:
    """Return the scientific name of each species, from the folders of its images where `sn` is missing."""
    given = entry.get("sn")
    if given is None:
        return [" ".join(Path(next(iter(images))).parent.name.split("_")[-2:]) for images in labels.values()]
    names = [text(entry, "sn", where)] if isinstance(given, str) else list(texts(entry, "sn", where))
    if len(names) != len(labels):
        raise BadInput(f"{where}: expected as many names in 'sn' as species, {len(labels)}, got {len(names)}")
    return names
