"""The jobs that write, as a user runs them, and the part of their results that must not depend on what happened."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kb
from tests.faults.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One command, the same after an interruption.

    `result` takes a copy of the bench's folder; times and costs are not in it. `typed` are the lines that a user would
    type there, who looks at what is done already. `base` is the knowledge base to verify.
    """

    name: str
    arguments: tuple[str, ...]
    result: Callable[[Path], object]
    base: str | None = None
    typed: Callable[[Path], str] = lambda _: ""
    is_repeatable: bool = True
    """Whether the command may be given again when it has ended well; else its target is refused."""

    def arguments_for(self, bench: Bench) -> tuple[str, ...]:
        return tuple(argument.replace("API", bench.wiki.api_url) for argument in self.arguments)


def digest(base: str) -> Callable[[Path], object]:
    def result(folder: Path) -> str:
        found = kb.verify(folder / base)
        assert found.problems == (), found.problems
        return found.digest

    return result


def calibration(folder: Path) -> object:
    files = sorted((folder / "drawn.kb" / "calibration").iterdir())
    return [(file.name, {**json.loads(file.read_text()), "made": 0}) for file in files if file.suffix == ".json"]


def rows(name: str, key: str) -> Callable[[Path], object]:
    def result(folder: Path) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        return sorted(({**row, "seconds": 0, "cost_usd": 0} for row in found), key=lambda row: str(row[key]))

    return result


def ranked(folder: Path) -> object:
    return sorted((folder / "run.trec").read_text().splitlines()), rows("run.jsonl", "query_id")(folder)


def indexed(folder: Path) -> object:
    from recognize import load_encoders
    from rerank import open_collection

    encoder = load_encoders("starter").text_image[0]
    with open_collection(folder / "photos", encoder, home=folder / "home") as collection:
        assert collection.update.n_new == 0
        return collection.ids, collection.scores(encoder.encode_texts(["a red bird"])).tolist()


def turns(folder: Path) -> object:
    session = json.loads((folder / "s.json").read_text())
    return [([image["image_id"] for image in turn["shown"]], turn["relevant"]) for turn in session["turns"]]


def exported(folder: Path) -> object:
    manifest = json.loads((folder / "run.bundle" / "manifest.json").read_text())
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    return manifest["digest"], manifest["files"]


def typed(folder: Path) -> str:
    done = json.loads((folder / "s.json").read_text())["turns"] if (folder / "s.json").exists() else []
    lines = []
    for number, marks in enumerate(("1 3", "1-2")):
        if number >= len(done) - 1:
            is_marked = number < len(done) and done[number]["relevant"]
            lines += [""] if is_marked else [marks, ""]
    return "\n".join([*lines, "q", ""])


JOBS = (
    Job(
        name="build", base="new.kb", result=digest("new.kb"),
        arguments=("build", "--names=names.csv", "--api-url=API", "--kb=new.kb"),
    ),
    Job(name="update", base="birds.kb", result=digest("birds.kb"), arguments=("update", "--kb=birds.kb")),
    Job(
        name="add", base="birds.kb", result=digest("birds.kb"),
        arguments=(
            "add", "--kb=birds.kb", "--name=Snowy Owl", "--text=owl.txt", "--photo=photos/bubo-scandiacus.png",
            "--author=A. Painter", "--licence=CC0",
        ),
    ),
    Job(
        name="import", base="new.kb", result=digest("new.kb"), arguments=("import", "bundle", "--kb=new.kb"),
        is_repeatable=False,
    ),
    Job(
        name="calibrate", base="drawn.kb", result=calibration,
        arguments=("calibrate", "--kb=drawn.kb", "--photos=labelled"),
    ),
    Job(
        name="identify", result=rows("rows.jsonl", "image"),
        arguments=("identify", "labelled", "--kb=drawn.kb", "--output=rows.jsonl"),
    ),
    Job(name="index-images", result=indexed, arguments=("index-images", "photos")),
    Job(
        name="rerank", result=ranked,
        arguments=("rerank", "jobs.jsonl", "--judge=vision", "--no-context", "--output=run"),
    ),
    Job(
        name="feedback", result=turns, typed=typed,
        arguments=("feedback", "a red bird", "--images=photos", "--method=rocchio", "--session=s.json", "--set=k=4"),
    ),
)  # fmt: skip

EXPORT = Job(
    name="export", result=exported, arguments=("export", "--kb=birds.kb", "run.bundle"), is_repeatable=False
)  # fmt: skip
"""A job of the bad disks alone."""


class Wholes:
    """Results of uninterrupted runs, each made once in a process."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self._found: dict[str, tuple[object, float]] = {}

    def of(self, job: Job) -> tuple[object, float]:
        if job.name not in self._found:
            folder = self.bench.copy(self.folder / job.name)
            started = time.monotonic()
            self.bench.require(folder, *job.arguments_for(self.bench), stdin=job.typed(folder))
            seconds = time.monotonic() - started
            self._found[job.name] = job.result(folder), seconds
        return self._found[job.name]
