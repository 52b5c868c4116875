"""VisRet: the query is written as an instruction, drawn, and searched by the drawings.

Drawings come from an images API or a local model, a folder, or the anchors of the species in the query.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Final, Protocol
from unicodedata import normalize
from urllib.parse import quote, unquote

import numpy as np

from data.arrays import FloatArray
from data.contracts import ChatModel, TextEncoder, TextImageEncoder
from data.errors import (
    BadImage,
    BadInput,
    FieldmarkError,
    MalformedAnswer,
    Refused,
    SourceError,
    SpaceMismatch,
    UsageError,
)
from data.images import SUFFIXES
from data.records import ChatMessage, ChatRequest, Drawings, Job
from data.words import plural
from rerank.photo_vectors import encode_photos
from rerank.prompting import Prompts, ask
from rerank.queries import query_of
from rerank.reranker import Tally, total_cost
from rerank.settings import PromptName, VisretSettings
from rerank.similarity import Sought

_UNNAMED: Final = re.compile(r'[/\\:*?"<>|%\x00-\x1f]')  # no file name holds these everywhere
MAX_TOKENS: Final = 300
MAX_WORDS: Final = 30
"""Length that the prompt `scene` asks for (figure 8)."""
_LABEL: Final = re.compile(r"^[^:]{0,60}?\b(?:phrase|description|query|instruction)\W*:\s*", re.IGNORECASE)
_NEXT: Final = re.compile(r"^\W*(?:question|species of interest|phrase|description|query)\W*:", re.IGNORECASE)
"""The next example, of a model that goes on after its reply."""
_ARTICLE: Final = re.compile(r"^(?:A|An|The)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedVectors:
    """Pictures of species as vectors of a space: `(n, dim)` unit rows, with their ids."""

    space: str

    species: tuple[str, ...]
    ids: tuple[str, ...]
    vectors: FloatArray


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


Draw = Callable[[str, int], Awaitable[Drawings]]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An instruction, a note on it for the rows, and its cost in US dollars."""

    text: str
    note: str
    cost_usd: float | None = 0.0
    has_failed: bool = False
    """Whether the model wrote none, so that it is the query itself."""
    is_long: bool = False
    """Whether it has more words than the prompt `scene` allows; it is used whole."""


class InstructionWriter:
    """Writes the instructions of VisRet, which are also the rewritten queries of its baseline.

    Source:
        VisRet (Wu et al., 2025), figures 6 to 8 and appendix B: one prompt for each kind of query, temperature 0, at
        most 300 tokens. Differs: our own prompts; where the model declines, the query is used and the row says so.
    """

    def __init__(
        self,
        chat: ChatModel | None,
        *,
        settings: VisretSettings | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        self._chat, self._settings, self._prompts = chat, settings or VisretSettings(), prompts or Prompts()

    async def write(self, job: Job) -> Instruction:
        """Return the instruction for the query of a job."""
        text = query_of(job).text.strip()
        prompt = self._prompt_of(job, text)
        if self._chat is None:
            return Instruction(text=text, note=f"no text model is set, so the query itself is used: {_short(text)}")
        message = ChatMessage(role="user", text=self._filled(prompt, job, text))
        request = ChatRequest(messages=(message,), max_tokens=MAX_TOKENS, temperature=0.0)
        try:
            found, cost = await ask(self._chat, request, self._read)
        except (Refused, MalformedAnswer) as error:
            note = f"the text model wrote no instruction, so the query itself is used: {error}"
            return Instruction(text=text, note=note, cost_usd=error.cost_usd, has_failed=True)
        n_words = len(found.split())
        is_long = prompt == "scene" and n_words > MAX_WORDS
        length = f" of {n_words} words, where {MAX_WORDS} are asked for" if is_long else ""
        return Instruction(text=found, note=f"instruction{length}: {found}", cost_usd=cost, is_long=is_long)

    def _read(self, reply: str) -> str:
        found = tidied(reply) if self._settings.tidy else reply.strip()
        if not found and self._chat is not None:
            raise MalformedAnswer(f"{self._chat.name}: an empty instruction")
        return found

    def _prompt_of(self, job: Job, text: str) -> PromptName:
        if self._settings.prompt != "auto":
            return self._settings.prompt
        is_question = text.endswith("?") if job.is_question is None else job.is_question
        return "entity" if job.entity else "feature" if is_question else "scene"

    def _filled(self, name: PromptName, job: Job, text: str) -> str:
        if name != "entity":
            return self._prompts.fill(f"visret_{name}", query=text)
        if not job.entity:
            raise BadInput(
                f"Job {job.query_id} names no entity.",
                hint='Add "entity", the scientific name of the species of interest, or set visret.prompt=feature.',
            )
        return self._prompts.fill("visret_entity", query=text, entity=job.entity)


class Rewriter:
    """Rewrites the query of a job by the instruction that VisRet would draw; a `Seeker`.

    Source:
        VisRet (Wu et al., 2025), appendix B, "LLM rephrase": the prompts and temperature of the instructions.
    """

    def __init__(self, writer: InstructionWriter, encoder: TextEncoder) -> None:
        self._writer, self._encoder = writer, encoder
        self.tally = Tally(words={"rewritten": ("rewritten query", "rewritten queries")})

    async def seek(self, job: Job) -> Sought:
        """Return the rewritten query."""
        if job.reference_image is not None:
            raise UsageError("The method rewrite takes words; use --method similarity for a reference image.")
        made = await self._writer.write(job)
        self.tally.counts["rewritten"] += not made.has_failed
        self.tally.has_fallbacks |= made.has_failed
        note = "; ".join([made.note, *cut_off(made.text, self._encoder)])
        return Sought(job=replace(job, text=made.text, dialogue=None), note=note, cost_usd=made.cost_usd)


def tidied(reply: str) -> str:
    """Return the first paragraph of a reply, without label, quotation marks, capital article or full stop."""
    lines = [line.strip(" *`") for line in reply.strip().splitlines()]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
    first = list(dropwhile(lambda line: not line, lines))
    text = list(takewhile(lambda line: line and not _NEXT.match(line), first[1:]))
    line = " ".join([_LABEL.sub("", first[0]), *text]) if first else ""
    line = line.strip(" \"'“”*`")
    line = line[:-1] if line.endswith(".") and not line.endswith("..") else line
    return _ARTICLE.sub(lambda found: found[0].lower(), line.strip(" \"'“”*`"))


def cut_off(text: str, encoder: TextEncoder) -> list[str]:
    """Return a note if a text is longer than an encoder reads, else nothing."""
    limit = encoder.max_tokens
    if limit is None or (n := encoder.count_tokens(text)) <= limit:
        return []
    return [f"the encoder read the first {limit:,} of {n:,} tokens"]


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


BY_TEXT: Final = "ranked by text similarity"


_WORDS: Final = {
    "drawn": ("drawing", "drawings"),
    "anchors": ("anchor of named species, no drawing", "anchors of named species, no drawings"),
}
_WARNED: Final = {
    "by_text": (
        "query could not be drawn and ranked by text similarity instead",
        "queries could not be drawn and ranked by text similarity instead",
    ),
    "with_fewer": ("query with fewer drawings than asked for", "queries with fewer drawings than asked for"),
    "long": (
        f"instruction of more than {MAX_WORDS} words; drawn whole",
        f"instructions of more than {MAX_WORDS} words; drawn whole",
    ),
}


class Visualizer:
    """Draws queries and encodes the drawings; a `Seeker` for texts and dialogues.

    Where a query cannot be drawn, its photos are ranked by the similarity of its text, which their rows and the report
    say; a provider that is down, or the cost limit, makes error rows instead, for the next run to complete.

    Source:
        VisRet (Wu et al., 2025), section 3.2 and appendix B: one instruction per query at temperature 0 (figures 6 to
        8), three images of it, cosine to each drawing, reciprocal rank fusion with lambda = 1. Differs: our own
        prompts, of which a query with an entity gets that of figure 7, another question that of figure 6 and any other
        query that of figure 8; a generator that refuses never becomes a black image, and a missing drawing is no copy
        of another one (both in the authors' code); ties keep first-stage order.
    """

    def __init__(
        self,
        encoder: TextImageEncoder,
        generator: Generator,
        *,
        text: ChatModel | None = None,
        settings: VisretSettings | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        self._settings = settings or VisretSettings()
        self._encoder = encoder
        self._generator = generator
        self._writer = InstructionWriter(text, settings=settings, prompts=prompts)
        self.tally = Tally(words=_WORDS, warned=_WARNED)

    async def seek(self, job: Job) -> Sought:
        """Return the drawings of a query."""
        if job.reference_image is not None:
            raise UsageError("The method visret draws words; use --method similarity for a reference image.")
        notes: list[str] = []
        instruction = await self._instruction(job, notes)
        drawn = await self._drawn(job, instruction, notes)
        vectors = await self._vectors(drawn, notes)
        if not len(vectors):
            self.tally.warn("by_text", job.query_id)
            notes += [BY_TEXT, *cut_off(query_of(job).text, self._encoder)]
        cost = total_cost((instruction.cost_usd, drawn.cost_usd))
        return Sought(job=job, drawings=vectors, fusion=self._settings, note="; ".join(notes), cost_usd=cost)

    async def _instruction(self, job: Job, notes: list[str]) -> Instruction:
        if not self._generator.needs_instruction:
            return Instruction(text="", note="")
        made = await self._writer.write(job)
        notes.append(made.note)
        self.tally.counts["long"] += made.is_long
        self.tally.has_fallbacks |= made.has_failed
        return made

    async def _drawn(self, job: Job, instruction: Instruction, notes: list[str]) -> Drawn:
        """Return the drawings; none where the generator declines."""
        prompt, n = self._settings.prompt_of(instruction.text), self._settings.images
        try:
            drawn = await self._generator.draw(job, prompt, n)
        except SourceError as error:
            if error.retryable:
                raise
            drawn = Drawn(problem=error)
        if drawn.problem is not None:
            self.tally.failures.append(drawn.problem)
            if drawn.paths:
                self.tally.warn("with_fewer", job.query_id)
            found = f"{len(drawn.paths)} of {n} drawings" if drawn.paths else "not drawn"
            notes.append(f"{found}: {drawn.problem}")
        self.tally.counts["drawn"] += len(drawn.paths)
        self.tally.counts["anchors"] += len(drawn.vectors.ids) if drawn.vectors is not None else 0
        return drawn

    async def _vectors(self, drawn: Drawn, notes: list[str]) -> FloatArray:
        """Return the vectors of the readable drawings, or of the sample alone."""
        anchors, sample = drawn.vectors, self._settings.sample
        numbers = drawn.numbers or range(1, 1 + (len(drawn.paths) if anchors is None else len(anchors.ids)))
        rows = [row for row, number in enumerate(numbers) if sample in (None, number)]
        if sample is not None and numbers:
            notes.append(f"drawing {sample} alone" if rows else f"drawing {sample} is missing")
            if not rows and drawn.problem is None:
                self.tally.failures.append(BadInput(f"drawing {sample} is missing: there are {len(numbers)}"))
        if anchors is not None:
            if anchors.space != self._encoder.space:
                raise SpaceMismatch(expected=(self._encoder.space,), given=(anchors.space,))
            n = plural(len(rows), "reference photo")
            notes.append(f"anchors of {' and '.join(anchors.species)}, no drawing: {n} of the knowledge base")
            return anchors.vectors[rows]
        paths = [drawn.paths[row] for row in rows]
        if not paths:
            return np.zeros((0, 0), dtype=np.float32)
        notes.append(f"drawings: {', '.join(path.name for path in paths)}")
        found = await asyncio.to_thread(lambda: [each for some in encode_photos(self._encoder, paths) for each in some])
        readable = [each for each in found if not isinstance(each, BadImage)]
        unread = [each for each in found if isinstance(each, BadImage)]
        if unread:
            self.tally.failures += unread
            notes.append(f"drawings left out: {'; '.join(map(str, unread))}")
        return np.stack(readable) if readable else np.zeros((0, 0), dtype=np.float32)
