"""Choice among the candidates of a photo by a vision model with their descriptions, over a stream of photos."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from string import ascii_uppercase
from typing import Final, TypeVar

import numpy as np

from data.contracts import ChatModel, KnowledgeStore
from data.errors import BadImage, MissingRequirement, SourceError, UsageError
from data.event_loop import background_loop
from data.prompts import Prompts, quoted
from data.records import Answer, Box, Candidate, ChatMessage, ChatReply, ChatRequest, Identification, Reading, Summary
from recognize.reader.replies import NONE, Sample, read_sample
from recognize.settings import MAX_READER_CANDIDATES, ReaderContext

TextOf = Callable[[str], str | None]
"""Taxon id -> text, None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTexts:
    """Sources of the summaries of a knowledge base, if it holds them."""

    article: TextOf
    """Plain text of the article."""
    draft: TextOf
    """First-pass summary of a two-pass distiller."""


class CandidateContext:
    """Look-up of candidate descriptions for a reader; each species is read once.

    Source: VR-RAG, table 5: raw article, summary, refined summary. Differs: `names` is an addition.
    """

    def __init__(self, store: KnowledgeStore, context: ReaderContext, sources: SourceTexts) -> None:
        """Set up; raise `MissingRequirement` if the store has no text of that kind."""
        self.context: Final = context
        self._text = cache(partial(_text_of, store, context, sources))
        if context in _LACKING and not any(map(self._text, store.taxon_ids)):
            what, hint = _LACKING[context]
            raise MissingRequirement(f"{store.path} holds no {what} for the reader context '{context}'", hint=hint)

    def texts(self, taxon_ids: Sequence[str]) -> list[str | None]:
        """Return the text of each species, empty if missing; None in the context `names`."""
        return [None if self.context == "names" else self._text(taxon_id) for taxon_id in taxon_ids]


_LACKING: Final = {
    "article": ("articles", "Use a knowledge base that kb build made from a wiki or a folder."),
    "summary": (
        "first-pass summaries",
        "Build with --distiller model-two-pass, which keeps them, or with --distiller model-summary.",
    ),
}
"""Context -> what a store may lack for it, and the way to get it."""


def _text_of(store: KnowledgeStore, context: ReaderContext, sources: SourceTexts, taxon_id: str) -> str:
    if context == "article":
        return sources.article(taxon_id) or ""
    [entry] = store.species([taxon_id])
    if context == "summary":
        return sources.draft(taxon_id) or _first_pass(entry.summary)
    return entry.summary.text if entry.summary is not None else ""


def _first_pass(summary: Summary | None) -> str:
    """Return the text of an unrefined summary; empty for raw texts."""
    if summary is None or summary.stage != "summary" or summary.distiller.startswith(("article/", "chunks/")):
        return ""
    return summary.text


FAILED: Final = "the reader failed"
MAX_TOKENS: Final = 300  # of a reply
_DECLINED: Final = "none of the candidates, where one must be chosen"
_MAX_QUOTED: Final = 80  # characters of an unreadable reply
_TOP_LOGPROBS: Final = 5  # alternatives per token, for the margin
PLACEHOLDERS: Final[Mapping[str, Sequence[str]]] = {
    "read_photo": ("candidates", "labels", "none"),
    "read_photo_forced": ("candidates", "labels"),
}


class Reader:
    """Chooses among the candidates of a photo with a vision model.

    The first sample lists the candidates in ranked order, each further one in another order, which exposes a model
    that prefers the first label. Samples without a readable reply do not decide.

    Source: VR-RAG, section 5.3: the photo and the complete refined summaries of the species of the k best chunks; one
        sample in ranked order, one of the candidates with `forced`. Differs: the answer is the label of a candidate by
        JSON schema; without `forced` it may be none of these; the paper specifies neither its prompt nor the treatment
        of other answers.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        n_samples: int = 1,
        forced: bool = False,
        prompts: Prompts | None = None,
    ) -> None:
        """Set up the reader.

        Args:
            chat: a vision model.
            n_samples: model calls per photo, each with the candidates in another order.
            forced: whether one of the candidates must be chosen.
            prompts: replacement of the prompts `read_photo` and `read_photo_forced`.
        """
        if n_samples < 1:
            raise UsageError(f"Expected n_samples of at least 1, got {n_samples}")
        self._chat, self._n_samples, self._forced = chat, n_samples, forced
        self._prompts = prompts or Prompts("recognize", PLACEHOLDERS)

    @property
    def prompt_hash(self) -> str:
        """Hash of the prompt in use."""
        return self._prompts.digest("read_photo_forced" if self._forced else "read_photo")

    async def read(
        self, picture: bytes, candidates: Sequence[Candidate], texts: Sequence[str | None] | None = None
    ) -> Reading:
        """Return the model's choice: a taxon id, or None for none of these, and if no sample was answered.

        `agreement` is the share of all samples with that choice, 0 only if no sample was answered. `margin` is the mean
        difference in natural log-probability between the chosen label and the next one; None without log-probabilities.

        Args:
            picture: a JPEG or PNG file.
            candidates: best first.
            texts: a description of each candidate, None for its name alone; default: the summaries.

        Raises:
            UsageError: for no candidates, or more than there are labels.
            CostStop, MissingRequirement: as raised by the model; the other samples are cancelled. A `SourceError` fails
                one sample and is listed in `failures`.
        """
        if not 1 <= len(candidates) <= MAX_READER_CANDIDATES:
            raise UsageError(f"Expected 1 to {MAX_READER_CANDIDATES} candidates for the reader, got {len(candidates)}")
        descriptions = [candidate.summary or "" for candidate in candidates] if texts is None else texts
        if len(descriptions) != len(candidates):
            raise UsageError(f"Expected a text for each of {len(candidates)} candidates, got {len(descriptions)}")
        lines = [_described(each, text) for each, text in zip(candidates, descriptions, strict=True)]
        orders = _orders(len(candidates), self._n_samples, picture)
        calls = [asyncio.ensure_future(self._sample(order, picture, candidates, lines)) for order in orders]
        try:
            samples = await asyncio.gather(*calls)
        except BaseException:
            for each in calls:
                each.cancel()
            await asyncio.wait(calls)  # the caller may close what they write to
            raise
        return _majority(samples, candidates)

    async def _sample(
        self, order: Sequence[int], picture: bytes, candidates: Sequence[Candidate], lines: Sequence[str]
    ) -> Sample:
        shown = [candidates[i] for i in order]
        try:
            request = self._request(picture, [lines[i] for i in order])
            request = replace(request, usable=lambda reply: self._read(reply, shown).rule != "unread")
            reply = await self._chat.reply(request)
        except SourceError as error:
            return Sample(choice=None, rule="failed", reason=str(error))
        sample = self._read(reply, shown)
        choice = None if sample.choice is None else order[sample.choice]
        return Sample(choice=choice, rule=sample.rule, reason=sample.reason, margin=sample.margin)

    def _read(self, reply: ChatReply, shown: Sequence[Candidate]) -> Sample:
        sample = read_sample(reply, shown)
        if self._forced and sample.choice is None:
            return replace(sample, rule="unread", reason=sample.reason if sample.rule == "unread" else _DECLINED)
        return sample

    def _request(self, picture: bytes, lines: Sequence[str]) -> ChatRequest:
        labels = ascii_uppercase[: len(lines)]
        values = {
            "candidates": "\n".join(f"{label}. {line}" for label, line in zip(labels, lines, strict=True)),
            "labels": ", ".join(labels),
        }
        if self._forced:
            text = self._prompts.fill("read_photo_forced", **values)
        else:
            text = self._prompts.fill("read_photo", **values, none=NONE)
        return ChatRequest(
            messages=(ChatMessage(role="user", text=text, images=(picture,)),),
            json_schema=_schema(labels if self._forced else (*labels, NONE)),
            max_tokens=MAX_TOKENS,
            top_logprobs=_TOP_LOGPROBS,
        )


def _orders(n: int, n_samples: int, picture: bytes) -> list[list[int]]:
    """Return the order of the candidates in each sample: ranked, then shuffled with a seed from the photo.

    No order repeats before all were used, because a repeated question gets the cached reply.
    """
    of_photo = int.from_bytes(hashlib.sha256(picture).digest()[:8], "big")
    rng = np.random.default_rng([0, of_photo])
    orders = [list(range(n))]
    seen = {tuple(orders[0])}
    while len(orders) < n_samples:
        order = [int(i) for i in rng.permutation(n)]
        if len(seen) == math.factorial(n):
            seen.clear()
        if tuple(order) not in seen:
            seen.add(tuple(order))
            orders.append(order)
    return orders


def _majority(samples: Sequence[Sample], candidates: Sequence[Candidate]) -> Reading:
    """Return the choice of most samples; ties go to the larger margins, then to the better rank."""
    read = [sample for sample in samples if sample.rule not in ("unread", "failed")]
    failures = tuple(sample.reason for sample in samples if sample.rule == "failed")
    if not read:
        why = f"{FAILED}: {'; '.join(dict.fromkeys(_failure(sample) for sample in samples))}"
        return Reading(choice=None, agreement=0.0, reason=why, samples=len(samples), answered=0, failures=failures)
    counts = Counter(sample.choice for sample in read)

    def strength(choice: int | None) -> tuple[int, float, int]:
        margins = sum(sample.margin or 0.0 for sample in read if sample.choice == choice)
        return counts[choice], margins, -(len(candidates) if choice is None else choice)

    choice = max(counts, key=strength)
    supporting = [sample for sample in read if sample.choice == choice]
    margins = [sample.margin for sample in supporting if sample.margin is not None]
    return Reading(
        choice=None if choice is None else candidates[choice].taxon_id,
        agreement=len(supporting) / len(samples),
        margin=float(np.mean(margins)) if margins else None,
        reason=supporting[0].reason,
        samples=len(samples),
        answered=len(read),
        failures=failures,
    )


def _failure(sample: Sample) -> str:
    if sample.rule == "failed":
        return sample.reason
    if sample.reason == _DECLINED:
        return _DECLINED
    return f"no choice in the reply {' '.join(sample.reason.split())[:_MAX_QUOTED]!r}"


def _described(candidate: Candidate, text: str | None) -> str:
    """Return a candidate as one line, which cannot close the block around it."""
    same = candidate.common_name in ("", candidate.scientific_name)
    name = candidate.scientific_name if same else f"{candidate.common_name} ({candidate.scientific_name})"
    if text is None:
        return quoted(name)
    return f"{quoted(name)}: {quoted(text) or 'no description.'}"


def _schema(answers: Sequence[str]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "answer": {"type": "string", "enum": [*answers]}},
        "required": ["reason", "answer"],
        "additionalProperties": False,
    }


AHEAD: Final = 32  # photos in flight; the model itself limits its concurrent calls

ItemT = TypeVar("ItemT")


def read_over(
    rows: Iterable[Identification],
    reader: Reader,
    picture_of: Callable[[Path, Box | None], bytes],
    texts_of: Callable[[Sequence[str]], Sequence[str | None]] | None = None,
) -> Iterator[Identification]:
    """Yield the rows in order with the reader's choice as the answer, and the reading in `reader`.

    The answer of none of the candidates is `none`. Confidence is null, because a calibration applies to scores. If no
    sample is answered, the answer of the ranking stays and the agreement is 0. Of a photo with several birds the model
    sees the crop to the bird of the row.

    `picture_of` gives the JPEG or PNG bytes of a photo, or of a bird in it; `texts_of` a description of each species,
    by default the summaries of the candidates. Rows with errors or without candidates are passed on unread.

    Raises:
        CostStop: before the cost limit is exceeded.
        MissingRequirement: if the model cannot be called (no key; offline and not cached).
    """

    def ask(row: Identification) -> Coroutine[object, object, Reading] | None:
        if row.status == "error" or not row.candidates:
            return None
        box = row.box if row.n_birds > 1 else None
        texts = None if texts_of is None else texts_of([candidate.taxon_id for candidate in row.candidates])

        async def read_photo() -> Reading:
            picture = await asyncio.to_thread(picture_of, Path(row.shown_image), box)
            return await reader.read(picture, row.candidates, texts)

        return read_photo()

    for row, reading in read_ahead(rows, ask):
        yield row if reading is None else _answered(row, reading)


def read_ahead(
    items: Iterable[ItemT], ask: Callable[[ItemT], Coroutine[object, object, Reading] | None]
) -> Iterator[tuple[ItemT, Reading | None]]:
    """Yield each item in order with its reading, or None if `ask` returns None; later items are read meanwhile.

    The reading of a failed item has no choice, agreement 0 and the reason in `failures`.
    """
    waiting: deque[tuple[ItemT, Future[Reading] | None]] = deque()
    try:
        for item in items:
            work = ask(item)
            future = None if work is None else asyncio.run_coroutine_threadsafe(work, background_loop())
            waiting.append((item, future))
            if len(waiting) > AHEAD:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())
    finally:  # also when the caller stops early
        for _, future in waiting:
            if future is not None:
                future.cancel()


def _finished(item: ItemT, future: Future[Reading] | None) -> tuple[ItemT, Reading | None]:
    if future is None:
        return item, None
    try:
        return item, future.result()
    except (SourceError, BadImage) as error:
        # An unreadable photo, or a model that is called once and has no samples.
        n_asked = 0 if isinstance(error, BadImage) else 1
        return item, Reading(
            choice=None, agreement=0.0, reason=f"{FAILED}: {error}", samples=n_asked, answered=0, failures=(str(error),)
        )


def _answered(row: Identification, reading: Reading) -> Identification:
    if not reading.agreement:
        return replace(row, reader=reading)
    if reading.choice is None:
        return replace(row, status="not_sure", reader=reading, answer=Answer(rank="none", name=""))
    chosen = next(each for each in row.candidates if each.taxon_id == reading.choice)
    answer = Answer(
        rank=chosen.taxon_rank,
        name=chosen.scientific_name,
        common_name=chosen.common_name,
        family=chosen.family,
        order=chosen.order,
    )
    return replace(row, status="identified", reader=reading, answer=answer)
