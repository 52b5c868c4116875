"""The reader: a vision model looks at the photo and the descriptions of the candidates, and chooses one or none."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Final

import numpy as np

from data.contracts import ChatModel
from data.errors import SourceError, UsageError
from data.prompts import Prompts
from data.records import Candidate, ChatMessage, ChatRequest, Reading
from recognize.reader.replies import NONE, ReadCounts, Vote, read_vote

MAX_CANDIDATES: Final = len(ascii_uppercase)
FAILED: Final = "the reader failed"
_FENCE: Final = re.compile(r"</?\s*candidates\s*>", re.IGNORECASE)
PLACEHOLDERS: Final[Mapping[str, Sequence[str]]] = {
    "name_photo": ("none",),
    "read_photo": ("candidates", "labels", "none"),
}


class Reader:
    """Lets a vision model choose among the candidates of a photo.

    In the first pass the candidates stand as they are ranked, in each further one in another order, so that a model
    that likes the first label is found out: `agreement` is the share of passes for the choice. A reply that cannot be
    read is no vote, nor is a pass without a reply; the others decide. Both are counted in `counts`.

    Source: VR-RAG, section 5.3: the photo and the complete refined summaries of the species of the k best chunks.
        Differs: the answer is the label of a candidate by JSON schema, or none of these; the paper gives neither its
        prompt nor what becomes of an answer that names no candidate. One pass in ranked order is the paper's way.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        n_passes: int = 1,
        seed: int = 0,
        max_tokens: int = 300,
        top_logprobs: int | None = 5,
        prompts: Prompts | None = None,
    ) -> None:
        """Keep the model.

        Args:
            chat: a model that sees pictures.
            n_passes: how often a photo is read, with the candidates in another order each time.
            seed: of the orders.
            max_tokens: of a reply.
            top_logprobs: how many alternatives a token comes with, for the margin; None asks for none.
            prompts: `read_photo`, if not ours.
        """
        if n_passes < 1 or max_tokens < 1:
            raise UsageError(f"expected n_passes and max_tokens >= 1, got {n_passes} and {max_tokens}")
        self._chat = chat
        self._n_passes, self._seed = n_passes, seed
        self._max_tokens, self._top_logprobs = max_tokens, top_logprobs
        self._prompts = prompts or Prompts("recognize", PLACEHOLDERS)
        self.counts = ReadCounts()

    @property
    def prompt_hash(self) -> str:
        """A hash of the prompt that is in force."""
        return self._prompts.digest("read_photo")

    async def read(
        self, picture: bytes, candidates: Sequence[Candidate], texts: Sequence[str | None] | None = None
    ) -> Reading:
        """Return what the model chose: a taxon id, or None for none of these or where no pass answered.

        `agreement` is the share of all passes that voted for it: a pass that failed, or whose reply cannot be read,
        counts against it, so that one vote out of three passes is never unanimous. It is 0 where no pass answered, and
        only there. The share among the passes that answered is `agreement * passes / answered`. `margin` is the mean
        over the votes for the choice of how much more likely (in natural log-probability) the label was than the next
        one, None where the server says nothing of it.

        Args:
            picture: a JPEG or PNG file.
            candidates: best first.
            texts: what the model is told of each of them, None for the name alone; by default their summaries.

        Raises:
            UsageError: for no candidates, or more than there are labels.
            CostStop, MissingRequirement: at once, as the model raises them; the other passes are given up. What it
                raises as a `SourceError` fails one pass alone, and stands in `failures`.
        """
        if not 1 <= len(candidates) <= MAX_CANDIDATES:
            raise UsageError(f"expected 1 to {MAX_CANDIDATES} candidates for the reader, got {len(candidates)}")
        told = [candidate.summary or "" for candidate in candidates] if texts is None else texts
        if len(told) != len(candidates):
            raise UsageError(f"expected a text for each of {len(candidates)} candidates, got {len(told)}")
        lines = [_described(each, text) for each, text in zip(candidates, told, strict=True)]
        orders = _orders(len(candidates), self._n_passes, self._seed, picture)
        passes = [asyncio.ensure_future(self._pass(order, picture, candidates, lines)) for order in orders]
        try:
            votes = await asyncio.gather(*passes)
        except BaseException:
            for each in passes:
                each.cancel()
            await asyncio.wait(passes)  # what they write to may be closed after us
            raise
        return _settled(votes, candidates)

    async def _pass(
        self, order: Sequence[int], picture: bytes, candidates: Sequence[Candidate], lines: Sequence[str]
    ) -> Vote:
        shown = [candidates[i] for i in order]
        try:
            reply = await self._chat.reply(self._request(picture, [lines[i] for i in order]))
        except SourceError as error:
            self.counts.failed += 1
            return Vote(choice=None, how="failed", reason=str(error))
        vote = read_vote(reply, shown)
        self.counts.add(reply, vote.how)
        choice = None if vote.choice is None else order[vote.choice]
        return Vote(choice=choice, how=vote.how, reason=vote.reason, margin=vote.margin)

    def _request(self, picture: bytes, lines: Sequence[str]) -> ChatRequest:
        labels = ascii_uppercase[: len(lines)]
        text = self._prompts.fill(
            "read_photo",
            candidates="\n".join(f"{label}. {line}" for label, line in zip(labels, lines, strict=True)),
            labels=", ".join(labels),
            none=NONE,
        )
        return ChatRequest(
            messages=(ChatMessage(role="user", text=text, images=(picture,)),),
            json_schema=_schema(labels),
            max_tokens=self._max_tokens,
            top_logprobs=self._top_logprobs,
        )


def _orders(n: int, n_passes: int, seed: int, picture: bytes) -> list[list[int]]:
    """Return the order of the candidates in each pass: as they are ranked, then shuffled in a way that is the photo's.

    One order for all photos would show the first-ranked under few labels only. None comes twice before all have come:
    the same question again has the same reply, from those that are kept, and would agree with itself.
    """
    of_photo = int.from_bytes(hashlib.sha256(picture).digest()[:8], "big")
    rng = np.random.default_rng([seed, of_photo])
    orders = [list(range(n))]
    seen = {tuple(orders[0])}
    while len(orders) < n_passes:
        order = [int(i) for i in rng.permutation(n)]
        if len(seen) == math.factorial(n):
            seen.clear()
        if tuple(order) not in seen:
            seen.add(tuple(order))
            orders.append(order)
    return orders


def _settled(votes: Sequence[Vote], candidates: Sequence[Candidate]) -> Reading:
    """Return the choice of most votes; of equally many that with the larger margins, then the better ranked."""
    read = [vote for vote in votes if vote.how not in ("unread", "failed")]
    failures = tuple(vote.reason for vote in votes if vote.how == "failed")
    if not read:
        why = f"{FAILED}: {'; '.join(dict.fromkeys(failures))}" if failures else "no reply could be read"
        return Reading(choice=None, agreement=0.0, reason=why, passes=len(votes), answered=0, failures=failures)
    counts = Counter(vote.choice for vote in read)

    def strength(choice: int | None) -> tuple[int, float, int]:
        margins = sum(vote.margin or 0.0 for vote in read if vote.choice == choice)
        return counts[choice], margins, -(len(candidates) if choice is None else choice)

    choice = max(counts, key=strength)
    for_it = [vote for vote in read if vote.choice == choice]
    margins = [vote.margin for vote in for_it if vote.margin is not None]
    return Reading(
        choice=None if choice is None else candidates[choice].taxon_id,
        agreement=len(for_it) / len(votes),
        margin=float(np.mean(margins)) if margins else None,
        reason=for_it[0].reason,
        passes=len(votes),
        answered=len(read),
        failures=failures,
    )


def _described(candidate: Candidate, text: str | None) -> str:
    """Return a candidate as one line; what was fetched cannot close the block that it stands in."""
    same = candidate.common_name in ("", candidate.scientific_name)
    name = candidate.scientific_name if same else f"{candidate.common_name} ({candidate.scientific_name})"
    if text is None:
        return name
    return f"{name}: {' '.join(_FENCE.sub(' ', text).split()) or 'no description.'}"


def _schema(labels: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "answer": {"type": "string", "enum": [*labels, NONE]}},
        "required": ["reason", "answer"],
        "additionalProperties": False,
    }
