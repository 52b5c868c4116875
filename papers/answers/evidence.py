"""Evidence for an answer: no picture, a drawing of each species, or the first photos of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from data.errors import BadInput
from data.records import Job
from papers.datasets.benchmark import Benchmark, ImageFolder, VisualQuestion
from rerank.evaluation.runs import Run, ranked_list
from rerank.settings import VisretSettings
from rerank.visret import Generator, InstructionWriter

Per = Literal["question", "entity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture that the reader is shown."""

    entity: str
    """Scientific name of its species."""
    image_id: str
    path: Path
    is_drawing: bool = False


class Evidence(Protocol):
    """A way to choose the pictures for a question."""

    @property
    def name(self) -> str:
        """Name in tables."""

    def n_pictures(self, question: VisualQuestion) -> int:
        """Return the number of pictures that are shown at most."""

    async def pictures(self, question: VisualQuestion) -> list[Picture]:
        """Return the pictures, those of one species together.

        Raises:
            BadInput: if there are none for this question.
            SourceError, CostStop, NotCached: if they cannot be drawn now.
        """


class NoPicture:
    """The reader's own knowledge."""

    name = "no image"

    def n_pictures(self, question: VisualQuestion) -> int:
        """Return 0."""
        return 0

    async def pictures(self, question: VisualQuestion) -> list[Picture]:
        """Return no picture."""
        return []


class RunPhotos:
    """The first photos of a run.

    Args:
        run: ranked lists of the retrieval queries.
        k: photos to show.
        per: whether `k` counts photos of the question or of each species.
        benchmark: the questions.
        folder: the images.

    Raises:
        BadInput: if the run ranks an image that its query is not searched in.
    """

    def __init__(self, run: Run, k: int, *, per: Per, benchmark: Benchmark, folder: ImageFolder) -> None:
        self.name = f"{run.name} top-{k}"
        self._run, self._k, self._per = run, k, per
        self._benchmark, self._folder = benchmark, folder
        for query, images in run.images.items():
            known = benchmark.pools.get(query)
            unknown = next((i.image_id for i in images if known is not None and i.image_id not in known), None)
            if known is not None and unknown is not None:
                raise BadInput(
                    f"{run.name} ranks {unknown!r} for query {query!r}, which is not an image of the query.",
                    hint=f"Its images are named like {known[0]!r}.",
                )

    def n_pictures(self, question: VisualQuestion) -> int:
        """Return the number of photos of all species."""
        return sum(shares(self._k, len(question.queries), self._per))

    async def pictures(self, question: VisualQuestion) -> list[Picture]:
        """Return the first photos of each species; fewer where the run is shorter."""
        found = []
        counts = shares(self._k, len(question.queries), self._per)
        for query, entity, n in zip(question.queries, question.entities, counts, strict=True):
            ranked = ranked_list(self._run.images.get(query, ())).image_ids[:n]
            if not ranked:
                raise BadInput(f"{self._run.name} has no photos for query {query}.")
            files = ((image, Path(self._folder.file(self._benchmark.collection[image]))) for image in ranked)
            found += [Picture(entity=entity, image_id=image, path=path) for image, path in files]
        return found


class Drawings:
    """The first of the drawings of each species in a search by VisRet.

    Args:
        generator: makes the drawings.
        writer: writes their instructions.
        settings: prompt and number of drawings; all are drawn, as for the search, and paid for once.
        benchmark: the questions and their retrieval queries.
    """

    name = "drawing"

    def __init__(
        self, generator: Generator, writer: InstructionWriter, settings: VisretSettings, *, benchmark: Benchmark
    ) -> None:
        self._generator, self._writer, self._settings = generator, writer, settings
        self._jobs = {job.query_id: job for job in benchmark.queries}

    def n_pictures(self, question: VisualQuestion) -> int:
        """Return one per species."""
        return len(question.queries)

    async def pictures(self, question: VisualQuestion) -> list[Picture]:
        """Return a drawing of each species."""
        found = []
        for query, entity in zip(question.queries, question.entities, strict=True):
            path = await self._drawing(self._jobs[query])
            found.append(Picture(entity=entity, image_id=path.name, path=path, is_drawing=True))
        return found

    async def _drawing(self, job: Job) -> Path:
        instruction = (await self._writer.write(job)).text if self._generator.needs_instruction else ""
        drawn = await self._generator.draw(job, self._settings.prompt_of(instruction), self._settings.images)
        if not drawn.paths:
            raise drawn.problem or BadInput(f"No drawing of query {job.query_id}.")
        return drawn.paths[0]


def shares(k: int, n_entities: int, per: Per) -> list[int]:
    """Return the photos of each species.

    Example:
        >>> shares(10, 2, "question"), shares(1, 2, "question"), shares(10, 2, "entity")
        ([5, 5], [1, 1], [10, 10])
    """
    if per == "entity":
        return [k] * n_entities
    return [max(1, k // n_entities + (place < k % n_entities)) for place in range(n_entities)]
