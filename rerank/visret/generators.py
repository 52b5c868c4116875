"""Generators of drawings: an images API or a local model, a folder, or the anchors of the species in the query."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from unicodedata import normalize
from urllib.parse import quote, unquote

from data.arrays import FloatArray
from data.errors import BadInput, FieldmarkError, UsageError
from data.images import SUFFIXES
from data.records import Job
from rerank.queries import query_of

_UNNAMED: Final = re.compile(r'[/\\:*?"<>|%\x00-\x1f]')  # no file name holds these everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedVectors:
    """Pictures of species as vectors of a space: `(n, dim)` unit rows, with their ids."""

    space: str

    species: tuple[str, ...]
    ids: tuple[str, ...]
    vectors: FloatArray


class DrawnFiles(Protocol):
    """Drawings of a prompt as files, their cost, and why there are fewer than were asked for."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order drawn."""

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None if unknown."""

    @property
    def problem(self) -> FieldmarkError | None:
        """Why some are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Drawings of a query: files, or vectors in the encoder's space."""

    paths: tuple[Path, ...] = ()
    numbers: tuple[int, ...] = ()
    """Number of each file, from 1; empty: in their order, without gaps."""
    vectors: NamedVectors | None = None
    cost_usd: float | None = 0.0
    problem: FieldmarkError | None = None


class Generator(Protocol):
    """Makes the drawings of a query."""

    @property
    def needs_instruction(self) -> bool:
        """Whether it draws from a prompt; others find drawings by the query."""

    async def draw(self, job: Job, prompt: str, n: int) -> Drawn:
        """Return up to `n` drawings of a query.

        Raises:
            SourceError, CostStop, NotCached: if none can be made now, or the generator declines.
        """


Draw = Callable[[str, int], Awaitable[DrawnFiles]]
"""Draws a number of images of a prompt."""


class PromptGenerator:
    """Draws from a prompt, through an images API or a model on this machine."""

    needs_instruction = True

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    async def draw(self, job: Job, prompt: str, n: int) -> Drawn:
        """Return up to `n` drawings of the prompt."""
        drawn = await self._draw(prompt, n)
        return Drawn(paths=drawn.paths, cost_usd=drawn.cost_usd, problem=drawn.problem)


class FolderGenerator:
    """Takes drawings from a folder: `ID.png`, or else `ID-1.png`, `ID-2.png`, ..., by the id of the query.

    Characters that a file name cannot hold are percent-encoded; any other may be.

    Raises:
        UsageError: if there is no such folder.
    """

    needs_instruction = False

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"No folder of drawings at {folder}.", hint="Set visret.drawings to a folder.")
        self._folder = folder
        images = (path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES)
        plain = {_composed(path.stem): path for path in images}
        self._files = {_composed(unquote(name)): path for name, path in plain.items()} | plain

    async def draw(self, job: Job, prompt: str, n: int) -> Drawn:
        """Return up to `n` drawings of the query; with a problem if there are fewer, other than `ID.png` alone."""
        name = _composed(job.query_id)
        if name in self._files:
            return Drawn(paths=(self._files[name],))
        found = {i: self._files[f"{name}-{i}"] for i in range(1, n + 1) if f"{name}-{i}" in self._files}
        shown = _UNNAMED.sub(lambda each: quote(each[0], safe=""), name)
        problem = None
        if not found:
            problem = BadInput(f"no drawing {shown}.png or {shown}-1.png in {self._folder}")
        elif len(found) < n:
            missing = ", ".join(f"{shown}-{i}.png" for i in range(1, n + 1) if i not in found)
            problem = BadInput(f"no drawing {missing} in {self._folder}")
        return Drawn(paths=tuple(found.values()), numbers=tuple(found), problem=problem)


class AnchorGenerator:
    """Takes the anchors of the species that a query names in place of drawings: real photos, offline.

    They carry no pose, part or scene of the query, so ranking by them is recognition of the species.
    """

    needs_instruction = False

    def __init__(self, find: Callable[[str, int], NamedVectors | None]) -> None:
        self._find = find

    async def draw(self, job: Job, prompt: str, n: int) -> Drawn:
        """Return up to `n` anchors of the entity of the job, or else of each species in its words."""
        found = self._find(job.entity or query_of(job).text, n)
        if found is None:
            return Drawn(problem=BadInput("the query names no species with an anchor in the knowledge base"))
        return Drawn(vectors=found)


def _composed(name: str) -> str:
    return normalize("NFC", name)  # file systems differ in the form of accents
