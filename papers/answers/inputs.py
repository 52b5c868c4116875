"""Inputs of `python -m papers answers`: questions, runs, drawings and models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import options
from cli.common.language_models import connect_model, cost_text
from cli.common.rerank_resources import open_generator
from cli.common.settings import Settings
from data.errors import BadInput, UsageError
from data.words import plural
from rerank.settings import VisretSettings, preset_settings

if TYPE_CHECKING:
    from kb.endpoints.endpoint import Budget
    from papers.answers.evidence import Drawings, Per, RunPhotos
    from papers.datasets.benchmark import Benchmark
    from rerank.scheduling import FairChat


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenModels:
    """Reader, judge and drawings of a run, and the cost of them all."""

    reader: FairChat
    judge: FairChat
    drawings: tuple[Drawings, ...]
    """One or none."""
    budget: Budget

    def summary(self) -> str:
        """Return the model calls so far and their cost."""
        meter = self.budget.meter
        calls = f"{plural(meter.calls, 'model call')}, {meter.cached:,} from the cache"
        return f"{calls}; cost: {cost_text(meter, 'vision] and [llm.text')}"


def read_evidence(
    questions: Path, runs: Sequence[str], *, depths: Sequence[int], images: Path | None, per: Per, is_dry: bool = False
) -> tuple[Benchmark, list[RunPhotos]]:
    """Return the questions, and the photos of each run to each depth; a dry run needs no files of photos.

    Raises:
        BadInput: if a file is invalid, or the photos are not found.
        UsageError: if the file has no questions, or two runs have the same name.
    """
    from papers.answers.evidence import RunPhotos
    from papers.datasets.benchmark import ImageFolder
    from papers.datasets.published import read_benchmark
    from rerank.evaluation.files import read_named_run

    benchmark = read_benchmark(questions)
    if benchmark is None or not benchmark.questions:
        raise UsageError(
            f"{questions.name} has no questions with answers.", hint="Expected the file of Visual-RAG or Visual-RAG-ME."
        )
    found = [read_named_run(given) for given in runs]
    if len({run.name for run in found}) < len(found):
        raise UsageError("Two runs have the same name.", hint="NAME=FILE gives a run another name.")
    if not found:
        return benchmark, []
    try:
        folder = ImageFolder(path=Path(), n_dropped=0) if is_dry else benchmark.image_folder(images)
    except BadInput as error:
        raise BadInput(str(error), hint="--images DIR gives the folder of the photos.") from error
    photos = [RunPhotos(run, k, per=per, benchmark=benchmark, folder=folder) for run in found for k in depths]
    return benchmark, photos


def drawing_settings(folder: Path | None, preset: str) -> VisretSettings:
    """Return the settings of VisRet by a preset, with drawings from a folder if one is given.

    Raises:
        UsageError: if the settings take anchors, which are no files.
    """
    base, drawn = preset_settings(preset, "visret").visret, None if folder is None else "folder"
    visret = options.method_settings("rerank.visret", VisretSettings, base=base, drawings=folder, generator=drawn)
    if visret.origin == "anchors":
        raise UsageError("Anchors are no drawings to answer from.", hint="Set visret.generator, or use --drawings DIR.")
    return visret


@contextmanager
def open_models(
    settings: Settings, visret: VisretSettings | None, benchmark: Benchmark, *, max_cost: float | None, offline: bool
) -> Iterator[OpenModels]:
    """Open reader and judge, and the generator of drawings if `visret` is given.

    Raises:
        MissingRequirement: if a model is not set, or its key is missing.
        UsageError: if the cost is limited and a price is unknown.
    """
    from kb.endpoints.endpoint import Budget
    from papers.answers.evidence import Drawings
    from rerank.prompting import Prompts
    from rerank.scheduling import FairChat
    from rerank.visret import InstructionWriter

    with ExitStack() as stack:
        budget = Budget(max_cost)
        reader, judge = (
            FairChat(
                stack.enter_context(connect_model(settings, kind, budget=budget, offline=offline)),
                n_in_flight=settings.llm[kind].max_concurrent,
            )
            for kind in ("vision", "text")
        )
        drawings: tuple[Drawings, ...] = ()
        if visret is not None:
            generator, _ = open_generator(settings, visret, stack, budget=budget, offline=offline)
            prompts = Prompts(settings.prompts)
            writer = InstructionWriter(judge, settings=visret, prompts=prompts)
            drawings = (Drawings(generator, writer, visret, benchmark=benchmark),)
        yield OpenModels(reader=reader, judge=judge, drawings=drawings, budget=budget)
