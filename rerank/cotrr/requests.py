"""Requests of CoTRR: filled prompts with schemas, photos and room for the reply. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from data.prompts import quoted
from data.records import ChatMessage, ChatReply, ChatRequest
from rerank.cotrr import replies
from rerank.cotrr.replies import QueryParts
from rerank.prompting import Prompts
from rerank.queries import PHOTO_LABEL, Query
from rerank.settings import CotrrSettings

MAX_TOKENS: Final = 1_500  # for a reply without its lists; the cost limit counts all of them
TOKENS_PER_PLACE: Final = 10
TOKENS_PER_NOTE: Final = 120


class CotrrRequests:
    """Builds the requests for given settings from the prompts `cotrr_*`.

    A reference photo is shown before the photos, under a label of its own.
    """

    def __init__(self, settings: CotrrSettings, prompts: Prompts) -> None:
        self._settings = settings
        self._prompts = prompts

    def deconstruction(self, query: Query) -> ChatRequest:
        """Return the request to deconstruct a query."""
        prompt = self._prompts.fill(_for_task("cotrr_deconstruct", query), query=query.described)
        return self._request(prompt, query.shown(), replies.PARTS_SCHEMA)

    def evaluation(self, query: Query, parts: QueryParts | None, jpeg: bytes) -> ChatRequest:
        """Return the request to evaluate one photo, by the parts of the query and overall."""
        prompt = self._prompts.fill(
            "cotrr_evaluate",
            query=query.described,
            parts=_as_block(parts),
            part_wise=', part by part and overall ("overall")' if parts else ' overall ("overall")',
            scale=f"The judgements, from best to worst: {', '.join(replies.JUDGEMENTS)}.",
        )
        schema = replies.evaluation_schema(parts or ())
        if query.reference:
            photo = ChatMessage(role="user", text=PHOTO_LABEL, images=(jpeg,))
            return self._request(prompt, (*query.shown(), photo), schema)
        return self._request(prompt, (), schema, images=(jpeg,))

    def ranking_of_notes(self, query: Query, parts: QueryParts | None, notes: Sequence[str]) -> ChatRequest:
        """Return the request to rank photos by the notes on them, shown in the given order."""
        n = len(notes)
        listed = "\n".join(f"[{i}] {note}" for i, note in enumerate(notes, start=1))
        prompt = self._prompts.fill("cotrr_rank", **self._values(query, n), parts=_as_block(parts), notes=listed)
        return self._request(prompt, (), replies.RANKING_SCHEMA, max_tokens=MAX_TOKENS + TOKENS_PER_PLACE * n)

    def ranking_of_photos(self, query: Query, parts: QueryParts | None, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request to rank the photos themselves, shown in the given order."""
        n = len(jpegs)
        prompt = self._prompts.fill("cotrr_rank_photos", **self._values(query, n), parts=_as_block(parts))
        return self._with_photos(prompt, query, jpegs, replies.RANKING_SCHEMA, MAX_TOKENS + TOKENS_PER_PLACE * n)

    def all_in_one(self, query: Query, jpegs: Sequence[bytes]) -> ChatRequest:
        """Return the request for all stages in one call, with a worked example, as in the authors' code."""
        settings, n = self._settings, len(jpegs)
        chosen = {"deconstructs": settings.deconstructs, "evaluates": settings.evaluates}
        names = [_for_task("deconstruct", query)] * settings.deconstructs + ["evaluate"] * settings.evaluates + ["rank"]
        steps = "\n\n".join(f"{i}. {self._prompts.fill(f'cotrr_step_{name}')}" for i, name in enumerate(names, start=1))
        prompt = self._prompts.fill(
            "cotrr_one_call", **self._values(query, n), steps=steps, example=replies.example(**chosen)
        )
        schema = replies.one_call_schema(**chosen)
        return self._with_photos(prompt, query, jpegs, schema, MAX_TOKENS + TOKENS_PER_NOTE * n)

    def same_again(self, request: ChatRequest, attempt: int) -> ChatRequest:
        """Return the same request with another seed, so that a cache does not return the same reply."""
        return replace(request, seed=attempt)

    def again(self, request: ChatRequest, reply: ChatReply, problem: str) -> ChatRequest:
        """Return the request after an unusable reply; it differs, so that a cache does not return the same reply."""
        correction = ChatMessage(role="user", text=self._prompts.fill("cotrr_again", problem=problem))
        previous = ChatMessage(role="assistant", text=reply.text or "(nothing)")
        return replace(request, messages=(*request.messages, previous, correction))

    def n_wanted(self, n: int) -> int:
        """Return the number of photos that a ranking of `n` photos should name."""
        return n if self._settings.top is None else min(self._settings.top, n)

    def _values(self, query: Query, n: int) -> dict[str, str]:
        wanted = self.n_wanted(n)
        which = f"all {n} photos" if wanted == n else f"the best {wanted} of the {n} photos"
        instruction = f'In "ranking", list the numbers of {which}, each once, the best first.'
        return {"query": query.described, "n": str(n), "wanted": instruction}

    def _with_photos(
        self, prompt: str, query: Query, jpegs: Sequence[bytes], schema: dict[str, object], max_tokens: int
    ) -> ChatRequest:
        photos = [ChatMessage(role="user", text=f"Photo {i}:", images=(jpeg,)) for i, jpeg in enumerate(jpegs, start=1)]
        return self._request(prompt, (*query.shown(), *photos), schema, max_tokens=max_tokens)

    def _request(
        self,
        prompt: str,
        more: Sequence[ChatMessage],
        schema: dict[str, object],
        *,
        images: tuple[bytes, ...] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> ChatRequest:
        return ChatRequest(
            messages=(ChatMessage(role="user", text=prompt, images=images), *more),
            json_schema=schema,
            max_tokens=max_tokens,
            temperature=self._settings.temperature,
            in_one=not self._settings.photo_messages,
        )


def _for_task(prompt: str, query: Query) -> str:
    return prompt if query.task == "text" else f"{prompt}_{query.task}"


def _as_block(parts: QueryParts | None) -> str:
    if parts is None:
        return ""
    listed = "\n".join(f"- {name}: {quoted(text)}" for name, text in parts.items())
    return f"\nThe query, taken apart:\n{listed}\n"
