"""Instructions: a phrase for the photo that would answer a query, written by a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Final

from data.contracts import ChatModel, TextEncoder
from data.errors import BadInput, CutOff, FieldmarkError, MalformedAnswer, Refused, UsageError
from data.records import ChatMessage, ChatRequest, Job
from rerank.prompting import Prompts
from rerank.queries import query_of
from rerank.reranker import Tally
from rerank.settings import PromptName
from rerank.similarity import Sought

MAX_TOKENS: Final = 300
MAX_WORDS: Final = 30
"""Length that the prompt `scene` asks for (figure 8)."""
_LABEL: Final = re.compile(r"^[^:]{0,60}?\b(?:phrase|description|query|instruction)\W*:\s*", re.IGNORECASE)
_NEXT: Final = re.compile(r"^\W*(?:question|species of interest|phrase|description|query)\W*:", re.IGNORECASE)
"""The next example, of a model that goes on after its reply."""
_ARTICLE: Final = re.compile(r"^(?:A|An|The)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An instruction, a note on it for the rows, its cost in US dollars, and why it is the query itself."""

    text: str
    note: str
    cost_usd: float | None = 0.0
    problem: FieldmarkError | None = None
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
        prompt: PromptName = "auto",
        is_tidy: bool = True,
        prompts: Prompts | None = None,
    ) -> None:
        self._chat, self._prompt, self._is_tidy = chat, prompt, is_tidy
        self._prompts = prompts or Prompts()

    async def write(self, job: Job) -> Instruction:
        """Return the instruction for the query of a job."""
        text = query_of(job).text.strip()
        prompt = self._prompt_of(job, text)
        if self._chat is None:
            return Instruction(text=text, note=f"no text model is set, so the query itself is used: {_short(text)}")
        message = ChatMessage(role="user", text=self._filled(prompt, job, text))
        try:
            reply = await self._chat.reply(ChatRequest(messages=(message,), max_tokens=MAX_TOKENS, temperature=0.0))
        except (Refused, CutOff, MalformedAnswer) as error:
            note = f"the text model wrote no instruction, so the query itself is used: {error}"
            return Instruction(text=text, note=note, problem=error)
        found = tidied(reply.text) if self._is_tidy else reply.text.strip()
        if not found:
            empty = MalformedAnswer(f"{self._chat.name}: an empty instruction")
            note = f"the text model wrote no instruction, so the query itself is used: {empty}"
            return Instruction(text=text, note=note, cost_usd=reply.cost_usd, problem=empty)
        n_words = len(found.split())
        is_long = prompt == "scene" and n_words > MAX_WORDS
        length = f" of {n_words} words, where {MAX_WORDS} are asked for" if is_long else ""
        return Instruction(text=found, note=f"instruction{length}: {found}", cost_usd=reply.cost_usd, is_long=is_long)

    def _prompt_of(self, job: Job, text: str) -> PromptName:
        if self._prompt != "auto":
            return self._prompt
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
        self.tally.counts["rewritten"] += made.problem is None
        self.tally.failures += [] if made.problem is None else [made.problem]
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
