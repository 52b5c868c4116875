"""The reader: a vision model looks at the photo and the descriptions of the candidates, and chooses one or none."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Final, Literal

import numpy as np

from data.contracts import ChatModel
from data.errors import UsageError
from data.prompts import Prompts
from data.records import Candidate, ChatMessage, ChatReply, ChatRequest, Reading

NONE: Final = "none"
MAX_CANDIDATES: Final = len(ascii_uppercase)
PLACEHOLDERS: Final[Mapping[str, Sequence[str]]] = {"read_photo": ("candidates", "labels", "none")}

HowRead = Literal["json", "label", "name", "none", "unread"]
"""From the JSON asked for, from a label alone, from the one candidate that is named, from words for none; or not."""

_NONE_WORDS = re.compile(r"\bnone\b|\bno candidate\b|\bnot (?:any|one) of\b", re.IGNORECASE)
_LABEL_AT_END = re.compile(r"(?:answer|label|choice|option)?\W*\b([A-Z])\b\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one pass chose: the position of a candidate in the list given, or None for none of these."""

    choice: int | None
    how: HowRead
    reason: str = ""
    margin: float | None = None


@dataclass(slots=True)
class ReadCounts:
    """How the replies of a reader were read, over all photos."""

    by_rule: Counter[HowRead] = field(default_factory=Counter)


class Reader:
    """Lets a vision model choose among the candidates of a photo.

    In the first pass the candidates stand as they are ranked, in each further one in another order, so that a model
    that likes the first label is found out: `agreement` is the share of passes for the choice. A reply that cannot be
    read is no vote, and is counted in `counts`.

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

    async def read(self, picture: bytes, candidates: Sequence[Candidate]) -> Reading:
        """Return what the model chose: a taxon id, or None for none of these or where no reply could be read.

        `agreement` is the share of all passes that voted for it; `margin` the mean over these passes of how much more
        likely (in natural log-probability) the label was than the next one, None where the server says nothing of it.

        Args:
            picture: a JPEG or PNG file.
            candidates: those with a summary and those without, best first.

        Raises:
            UsageError: for no candidates, or more than there are labels.
            FieldmarkError: whatever the model raises.
        """
        if not 1 <= len(candidates) <= MAX_CANDIDATES:
            raise UsageError(f"expected 1 to {MAX_CANDIDATES} candidates for the reader, got {len(candidates)}")
        votes = await asyncio.gather(*(self._pass(number, picture, candidates) for number in range(self._n_passes)))
        return _settled(votes, candidates)

    async def _pass(self, number: int, picture: bytes, candidates: Sequence[Candidate]) -> Vote:
        n = len(candidates)
        order = list(range(n)) if number == 0 else np.random.default_rng([self._seed, number]).permutation(n).tolist()
        shown = [candidates[i] for i in order]
        reply = await self._chat.reply(self._request(picture, shown))
        vote = read_vote(reply, shown)
        self.counts.by_rule[vote.how] += 1
        choice = None if vote.choice is None else order[vote.choice]
        return Vote(choice=choice, how=vote.how, reason=vote.reason, margin=vote.margin)

    def _request(self, picture: bytes, shown: Sequence[Candidate]) -> ChatRequest:
        labels = ascii_uppercase[: len(shown)]
        text = self._prompts.fill(
            "read_photo",
            candidates="\n".join(f"{label}. {_described(each)}" for label, each in zip(labels, shown, strict=True)),
            labels=", ".join(labels),
            none=NONE,
        )
        return ChatRequest(
            messages=(ChatMessage(role="user", text=text, images=(picture,)),),
            json_schema=_schema(labels),
            max_tokens=self._max_tokens,
            top_logprobs=self._top_logprobs,
        )


def read_vote(reply: ChatReply, shown: Sequence[Candidate]) -> Vote:
    """Return the vote that a reply holds, by the first rule that fits.

    The rules: the key `answer` of a JSON object; a label at the very end; the one candidate whose name stands in the
    reply; words for none of these. `choice` is a position in `shown`.
    """
    labels = ascii_uppercase[: len(shown)]
    parsed = _json_object(reply.text)
    if parsed is not None:
        answer = str(parsed.get("answer", "")).strip().rstrip(".").strip()
        reason = str(parsed.get("reason", "")).strip()
        if answer.lower() == NONE:
            return Vote(choice=None, how="json", reason=reason, margin=_margin(reply, NONE, labels))
        if answer.upper() in tuple(labels):
            label = answer.upper()
            return Vote(choice=labels.index(label), how="json", reason=reason, margin=_margin(reply, label, labels))
    text = reply.text.strip()
    ending = _LABEL_AT_END.search(text)
    if ending and ending.group(1) in labels:  # a capital: "a" is an article
        label = ending.group(1)
        return Vote(choice=labels.index(label), how="label", reason=text, margin=_margin(reply, label, labels))
    lowered = text.lower()
    named = [i for i, each in enumerate(shown) if any(name.lower() in lowered for name in _names(each))]
    if len(named) == 1:
        return Vote(choice=named[0], how="name", reason=text)
    if not named and _NONE_WORDS.search(text):
        return Vote(choice=None, how="none", reason=text)
    return Vote(choice=None, how="unread", reason=text)


def _settled(votes: Sequence[Vote], candidates: Sequence[Candidate]) -> Reading:
    """Return the choice of most votes; of equally many that with the larger margins, then the better ranked."""
    read = [vote for vote in votes if vote.how != "unread"]
    if not read:
        return Reading(choice=None, agreement=0.0, reason="no reply could be read")
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
    )


def _described(candidate: Candidate) -> str:
    name = f"{candidate.common_name} ({candidate.scientific_name})"
    text = " ".join((candidate.summary or "").replace("</candidates>", "").split())
    return f"{name}: {text or 'no description.'}"


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(name for name in (candidate.common_name, candidate.scientific_name) if name)


def _schema(labels: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "answer": {"type": "string", "enum": [*labels, NONE]}},
        "required": ["reason", "answer"],
        "additionalProperties": False,
    }


def _json_object(text: str) -> dict[str, object] | None:
    first, last = text.find("{"), text.rfind("}")
    if not 0 <= first < last:
        return None
    try:
        parsed = json.loads(text[first : last + 1])
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _margin(reply: ChatReply, chosen: str, labels: str) -> float | None:
    """Return how much more likely the chosen label was than the next; at least so much if the server lists no other."""
    others = {label.lower() for label in (*labels, NONE)} - {chosen.lower()}
    for token in reversed(reply.logprobs or ()):
        if _bare(token.token) != chosen.lower():
            continue
        ranked = [logprob for text, logprob in token.top if _bare(text) in others]
        if ranked:
            return token.logprob - max(ranked)
        return token.logprob - min((logprob for _, logprob in token.top), default=token.logprob)
    return None


def _bare(token: str) -> str:
    return token.strip(" \n\"'.").lower()
