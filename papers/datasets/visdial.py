"""VisDial: a dialogue about a photo; each round, the description with the answers up to then, is a query.

Forms: ChatIR's (`VisDial_v1.0_queries_val.json` with `Search_Space_val_50k.json` beside it or in `ChatIR_Protocol`;
Levy et al., NeurIPS 2023) and VisDial's own (`visdial_1.0_val.json`, Das et al., CVPR 2017). Without a search space
the photos of all dialogues are the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from data.codec import load_json
from data.errors import BadInput
from data.files import read_lines
from data.records import Job
from papers.datasets.benchmark import Benchmark
from papers.datasets.cells import cell, number_or_name, text, texts


def read_chatir(file: Path, payload: list[object]) -> Benchmark:
    """Return a query for each round of each dialogue, with the paths of photos as their ids.

    Raises:
        BadInput: if the content is invalid, or two dialogues are about one photo.
    """
    dialogues = []
    for n, entry in enumerate(payload, start=1):
        image = text(entry, "img", f"{file.name}, dialogue {n}")
        dialogues.append((image, texts(entry, "dialog", f"{file.name}, dialogue {n} on {image}")))
    near = (file.parent, file.parent.parent / "ChatIR_Protocol")
    space = next((path for folder in near for path in sorted(folder.glob("Search_Space*.json"))), None)
    return _benchmark(dialogues, file, _listed(space) if space else [image for image, _ in dialogues])


def read_visdial(file: Path, payload: dict[str, object]) -> Benchmark:
    """Return a query for each round of each dialogue.

    Raises:
        BadInput: if the content is invalid, or two dialogues are about one photo.
    """
    name = file.name
    content, split = cell(payload, "data", dict, name), text(payload, "split", name)
    questions, answers = cell(content, "questions", list, name), cell(content, "answers", list, name)
    dialogues = []
    for n, entry in enumerate(cell(content, "dialogs", list, name), start=1):
        where = f"{name}, dialogue {n}"
        image = f"VisualDialog_{split}/VisualDialog_{split}_{number_or_name(entry, 'image_id', where).zfill(12)}.jpg"
        try:
            turns = [
                f"{str(questions[turn['question']]).rstrip(' ?')}? {answers[turn['answer']]}"
                for turn in cell(entry, "dialog", list, where)
                if "answer" in turn  # the last round of the test split has none
            ]
        except (LookupError, TypeError) as error:
            raise BadInput(f"{where}: unknown question or answer in the dialogue on {image}: {error!r}") from error
        dialogues.append((image, [text(entry, "caption", where), *turns]))
    return _benchmark(dialogues, file, [image for image, _ in dialogues])


def _listed(space: Path) -> list[str]:
    try:
        images = load_json("\n".join(read_lines(space)))
    except ValueError as error:
        raise BadInput(f"{space}: {error}") from error
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        raise BadInput(f"{space}: expected a list of paths.")
    return images


def _benchmark(dialogues: Iterable[tuple[str, Sequence[str]]], file: Path, images: Iterable[str]) -> Benchmark:
    collection = {image: image for image in images}
    queries: dict[str, Job] = {}
    for image, turns in dialogues:
        for n in range(len(turns)):
            query_id = f"{Path(image).stem}-{n}"
            if query_id in queries:
                raise BadInput(f"{file.name} has two dialogues on {image}.")
            queries[query_id] = Job(
                query_id=query_id, text="", candidates=(), dialogue=tuple(turns[: n + 1]), relevant=(image,)
            )
    if not queries:
        raise BadInput(f"{file.name} contains no dialogue")
    return Benchmark(name="VisDial", file=file, queries=tuple(queries.values()), collection=collection)
