"""Requests of CoTRR: filled prompts with schemas, photos and room for the reply. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.cotrr import replies
from rerank.cotrr.replies import QueryParts
from rerank.cotrr.settings import CotrrSettings
from rerank.prompting import Prompts

MAX_TOKENS: Final = 1_500  # for a reply without its lists; the cost limit counts all of them
TOKENS_PER_PLACE: Final = 10
TOKENS_PER_NOTE: Final = 120


class CotrrRequests:
    """Builds the requests for given settings from the prompts `cotrr_*`."""

    def __init__(self, settings: CotrrSettings, prompts: Prompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def deconstruction(self, query: str) -> ChatRequest:
        """Return the request to deconstruct a query."""
        return _text_alone(self._prompts.fill("cotrr_deconstruct", query=query), replies.parts_schema())

    def evaluation(self, query: str, parts: QueryParts | None, jpeg: bytes) -> ChatRequest:
        """Return the request to evaluate one photo, by the parts of the query and overall."""
        prompt = self._prompts.fill(
            "cotrr_evaluate",
            query=query,
            parts=_as_block(parts),
            part_wise=', part by part and overall ("overall")' if parts else ' overall ("overall")',
            scale=f"The judgements, from best to worst: {', '.join(replies.JUDGEMENTS)}.",
        )
        return ChatRequest(
            messages=(ChatMessage(role="user", text=prompt, images=(jpeg,)),),
            json_schema=replies.evaluation_schema(parts or ()),
            max_tokens=MAX_TOKENS,
        )

    def ranking_of_notes(self, query: str, parts: QueryParts | None, notes: Sequence[str]) -> ChatRequest:
        """Return the request to rank photos by the notes on them, shown in the given order."""
        n = len(notes)
        listed = "\n".join(f"[{i}] {note}" for i, note in enumerate(notes, start=1))
        prompt = self._prompts.fill("cotrr_rank", **self._values(query, n), parts=_as_block(parts), notes=listed)
        return _text_alone(prompt, replies.ranking_schema(), max_tokens=MAX_TOKENS + TOKENS_PER_PLACE * n)

    def ranking_of_photos(self, query: str, parts: QueryParts | None, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request to rank the photos themselves, shown in the given order."""
        n = len(jpegs)
        prompt = self._prompts.fill("cotrr_rank_photos", **self._values(query, n), parts=_as_block(parts))
        return self._with_photos(prompt, jpegs, replies.ranking_schema(), MAX_TOKENS + TOKENS_PER_PLACE * n)

    def all_in_one(self, query: str, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request for all stages in one call, with a worked example, as in the authors' code."""
        settings, n = self._settings, len(jpegs)
        chosen = {"deconstructs": settings.deconstructs, "evaluates": settings.evaluates}
        names = ["deconstruct"] * settings.deconstructs + ["evaluate"] * settings.evaluates + ["rank"]
        steps = "\n\n".join(f"{i}. {self._prompts.fill(f'cotrr_step_{name}')}" for i, name in enumerate(names, start=1))
        prompt = self._prompts.fill(
            "cotrr_one_call", **self._values(query, n), steps=steps, example=replies.example(**chosen)
        )
        return self._with_photos(prompt, jpegs, replies.one_call_schema(**chosen), MAX_TOKENS + TOKENS_PER_NOTE * n)

    def again(self, request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
        """Return the request after an unusable reply; it differs, so that a cache does not return the same reply."""
        correction = ChatMessage(role="user", text=self._prompts.fill("cotrr_again", problem=problem))
        previous = ChatMessage(role="assistant", text=reply.text or "(nothing)")
        return replace(request, messages=(*request.messages, previous, correction))

    def n_wanted(self, n: int) -> int:
        """Return the number of photos that a ranking of `n` photos should name."""
        return n if self._settings.top is None else min(self._settings.top, n)

    def _values(self, query: str, n: int) -> dict[str, str]:
        wanted = self.n_wanted(n)
        which = f"all {n} photos" if wanted == n else f"the best {wanted} of the {n} photos"
        instruction = f'In "ranking", list the numbers of {which}, each once, the best first.'
        return {"query": query, "n": str(n), "wanted": instruction}

    def _with_photos(
        self, prompt: str, jpegs: Sequence[bytes], schema: dict[str, object], max_tokens: int
    ) -> ChatRequest:
        if self._settings.photo_messages:
            messages = [ChatMessage(role="user", text=prompt)]
            messages += [
                ChatMessage(role="user", text=f"Photo {i}:", images=(jpeg,)) for i, jpeg in enumerate(jpegs, start=1)
            ]
        else:
            text = f"{prompt}\n\nThe photos follow, 1 to {len(jpegs)}:"
            messages = [ChatMessage(role="user", text=text, images=tuple(jpegs))]
        return ChatRequest(messages=tuple(messages), json_schema=schema, max_tokens=max_tokens)


def _text_alone(prompt: str, schema: dict[str, object], *, max_tokens: int = MAX_TOKENS) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", text=prompt),), json_schema=schema, max_tokens=max_tokens)


def _as_block(parts: QueryParts | None) -> str:
    if parts is None:
        return ""
    listed = "\n".join(f"- {name}: {' '.join(text.split())}" for name, text in parts.items())
    return f"\nThe query, taken apart:\n{listed}\n"
