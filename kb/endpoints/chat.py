"""The way of a chat request: cache, cost limit, server, and what is done where the server does not answer at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from data.errors import BadRequest, CutOff, FieldmarkError, NotCached, Refused, TooFewTokens, TooManyTokens
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.answer import is_complete, reply_of
from kb.endpoints.cache import Learnt, ReplyCache, request_key
from kb.endpoints.client import Client
from kb.endpoints.form import Form, bare, body_of, least_change, most_input_tokens, rungs

ROOMS: Final = (2_048, 8_192, 32_768)
"""Tokens beside those of the first try, in the order tried: models that reason first need hundreds to thousands."""
_LEAST_TEXT: Final = 2_000  # characters of a prompt from which its tokens are compared
_MOST_CHARACTERS: Final = 12  # per token, of any language and tokenizer
_log: Final = logging.getLogger(__name__)


class Connection(Client):
    """A `ChatModel` over an endpoint: the same request is paid for once.

    `reply` answers from the cache, or asks: a reply that is cut off again with more tokens, a failure that passes again
    later, and a request that the server refuses in another form. A request counts as in flight until its reply is on
    disk, so a kill loses at most `max_concurrent` replies. Refusals are stored too. A request that equals one in flight
    waits for the same reply at no cost.
    """

    path = "chat/completions"
    _cache: ReplyCache | None

    def _begin(self) -> None:
        self._learnt = Learnt() if self._cache is None or self._is_offline else self._cache.learnt(self.endpoint)
        self._taken: set[str] = set()
        """Optional parts that the server has taken: a request with these is refused for its contents."""
        self._refused_in_all_forms: set[tuple[Form, str, bool]] = set()
        self._ladder = asyncio.Lock()

    @property
    def form(self) -> Form:
        """The form of requests that the server takes, as far as known."""
        return self._learnt.form

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the cached reply, else the model's once it is stored.

        Raises:
            NotCached: if it is offline and the reply is not cached.
            Refused: if the model or the provider's filter declines, or declined before.
            CutOff: if the reply is still cut off with the most tokens.
            CostStop: if the cost could exceed the limit; nothing was sent.
            KeyRejected: if the server rejects the key.
            SourceError: the error of the last try.
        """
        self.check_process()
        key = request_key(self.endpoint.key, request)
        cached = self._cached(key, request)
        if cached is not None:
            return cached
        if self._is_offline:
            raise NotCached(f"No cached reply of {self.name} to this request.", hint="Run once without --offline.")
        # In the shared event loop: its steps are not interleaved, and no two reservations are made at once.
        return await in_background(self._asked(key, request))

    def _cached(self, key: str, request: ChatRequest) -> ChatReply | None:
        found = self._cache.find(key) if self._cache is not None else None
        if isinstance(found, ChatReply) and request.usable is not None and not request.usable(found):
            return None
        self.budget.meter.cached += found is not None
        if found is not None:
            _log.debug("%s: the reply to %s is cached", self.name, key[:12])
        if isinstance(found, Refused):
            raise found
        return found

    async def _asked(self, key: str, request: ChatRequest) -> ChatReply:
        """Ask, with more tokens while the reply is cut off, and with fewer where the server refuses so many.

        After an equal request, its reply is in the cache; without a cache, equal requests are samples. Tokens with
        which a reply was cut off in an earlier run are not paid for again.
        """
        turn = asyncio.Lock() if self._cache is None else self._turns.setdefault(key, asyncio.Lock())
        async with turn, self._slots:
            if self._cache is not None:
                await self.settled(key)
            if (cached := self._cached(key, request)) is not None:  # it arrived in the meantime
                return cached
            least, start = request.max_tokens, max(request.max_tokens, self.endpoint.max_tokens or 0)
            first = max(least, start + self._learnt.room)
            more = [start + room for room in ROOMS if room >= min(start, ROOMS[-1]) and start + room > first]
            cut_at = self._cache.cut_off_at(key) if self._cache is not None else 0
            limits = [limit for limit in (first, *more) if limit > cut_at]
            refused: BadRequest | None = None
            paid = nothing = self._nothing()
            while limits:
                limit = limits.pop(0)
                asked = replace(request, max_tokens=limit)
                try:
                    reply = await self._answered(key, asked, is_least=limit <= least)
                except BadRequest as error:  # perhaps for its tokens: every server has its own words for that
                    is_of_tokens = error.may_adapt or isinstance(error, TooManyTokens)
                    if not is_of_tokens or limit <= least:
                        if first > least and is_of_tokens:
                            error.hint = f"{least:,} tokens for the reply are refused, too."
                        raise
                    fewer = max(limit // 2, least)
                    refused, limits = error, [fewer] if fewer > cut_at else []
                    continue
                paid = _added(paid, reply)
                if is_complete(paid, request):
                    if limit != first:
                        await self._learn(room=(max if limit > first else min)(self._learnt.room, limit - start))
                    return paid
                self.budget.meter.cut_off += 1
                cut_at = limit
                if limits:
                    what = "reasons before it answers" if paid.reasons else "needs more"
                    few = f"{limit} tokens were too few, so its replies get more (kb doctor suggests settings)"
                    self.tell("cut off", f"{what}: {few}")
        where = "in its reasoning" if paid.reasons and not paid.text else "in its answer"
        where = "in an earlier run" if paid is nothing else where
        raise CutOff(
            f"{self.name}: the reply was cut off at {cut_at:,} tokens, {where}"
            f"{', and the server allows no more' if refused else ''}",
            hint="Set max_tokens, reasoning_effort or extra_body of the model; kb doctor suggests values.",
            input_tokens=paid.input_tokens,
            output_tokens=paid.output_tokens,
            cost_usd=paid.cost_usd,
        ) from refused

    async def _learn(self, **changes: Any) -> None:  # noqa: ANN401
        self._learnt = replace(self._learnt, **changes)
        if self._cache is not None and changes.get("room", 0) >= 0:  # below, of this run alone: its prompts may be long
            await asyncio.to_thread(self._cache.learn, self.endpoint, **changes)

    async def _answered(self, key: str, request: ChatRequest, *, is_least: bool) -> ChatReply:
        """Ask until the server answers: again after a failure that passes, in another form after a refusal.

        `is_least`: the request asks for no more tokens than its method needs, so that these are no reason to refuse it.
        """
        n_faults = 0

        async def attempt() -> ChatReply | FieldmarkError:
            nonlocal n_faults
            form = self.form
            try:
                return await self.paid(self._sent(key, request, form), key)
            except FieldmarkError as failure:
                n_faults += failure.may_adapt and failure.retryable
                is_first_fault = failure.retryable and n_faults == 1  # it may pass: first the same request
                if not failure.may_adapt or is_first_fault or _optional_parts(request, form) in self._taken:
                    raise
                async with self._ladder:  # one request looks for the form; the others, and other connections, use it
                    if self._cache is not None:
                        self._learnt = replace(self._learnt, form=self._cache.learnt(self.endpoint).form)
                    if self.form == form:
                        found = await self._in_another_form(key, request, failure, is_least=is_least)
                        if found is None:
                            raise
                        return found
            return await attempt()

        found = await self.tried(attempt)
        if isinstance(found, FieldmarkError):
            raise found
        return found

    async def _in_another_form(
        self, key: str, request: ChatRequest, failure: FieldmarkError, *, is_least: bool
    ) -> ChatReply | FieldmarkError | None:
        """Return the reply in the form that the server takes, None without one; a sure form is remembered.

        A failure of another kind is returned, too: it was tried again already.
        """
        form = self.form
        mark = form, "".join(letter for letter in str(failure) if not letter.isdigit()), is_least
        if mark in self._refused_in_all_forms:
            return None
        # With more tokens than needed, the name of their limit is not tried: their number may be what is refused, and
        # a server that does not know the other name would write without a limit.
        ladder = [rung for rung in rungs(form, request, self.endpoint) if is_least or rung[0] != "tokens"]

        async def once(tried: Form) -> ChatReply | None:
            try:
                reply = await self.paid(self._sent(key, request, tried), key)
            except FieldmarkError as error:
                if not error.may_adapt:
                    raise
                return None
            # A server that does not know the other name of the limit may take it for nothing.
            is_unlimited = reply.output_tokens > request.max_tokens and not reply.reasons
            return None if tried.tokens != form.tokens and is_unlimited else reply

        def attempt(tried: Form) -> Awaitable[ChatReply | None]:
            return self.tried(partial(once, tried))  # again if the server is busy

        is_of_parts = failure.retryable or isinstance(failure, BadRequest)  # else most often of key or address
        try:
            is_vain = not is_of_parts and await attempt(bare(form)) is None
            found = None if is_vain else await least_change(form, ladder, attempt)
        except FieldmarkError as error:
            return error
        if found is None:
            self._refused_in_all_forms.add(mark)
            return None
        reached, reply = found
        if reached != form:
            _log.info("%s takes requests in another form: %s", self.name, reached)
            await self._learn(form=reached)
        return reply

    async def _sent(self, key: str, request: ChatRequest, form: Form) -> ChatReply:
        """Send one request within the cost limit; count and store its reply."""
        endpoint, budget = self.endpoint, self.budget
        most_in = most_input_tokens(request, image_tokens=endpoint.image_tokens)
        await self.free()
        try:
            async with budget.reserve(endpoint.cost_usd(most_in, request.max_tokens) or 0.0):
                reply = reply_of(await self.answer(body_of(endpoint, request, form)), request, endpoint)
                budget.count(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        except Refused as error:
            await self._store(key, error)
            raise
        except TooFewTokens:
            reply = self._nothing()
        else:
            self._taken.add(_optional_parts(request, form))
        n = sum(len(message.text) for message in request.messages)
        if n > _LEAST_TEXT and 0 < reply.input_tokens * _MOST_CHARACTERS < n:
            seen = f"counts {reply.input_tokens:,} tokens for a prompt of {n:,} characters"
            remedy = "give the server a larger context (OLLAMA_CONTEXT_LENGTH)"
            self.tell("prompt", f"{seen}, so it has most likely cut the prompt off: {remedy}")
        if not is_complete(reply, request):
            await self._store(key, request.max_tokens)
        elif request.usable is None or request.usable(reply):
            await self._store(key, reply)
        return reply

    async def _store(self, key: str, found: ChatReply | Refused | int) -> None:
        """Store what is paid for; a number is the limit at which a reply was cut off."""
        if self._cache is not None:
            await asyncio.to_thread(self._cache.store, key, found)

    def _nothing(self) -> ChatReply:
        """Return a reply that was cut off before its first word."""
        return ChatReply(text="", model=self.name, cost_usd=0.0, finish="length")


def _optional_parts(request: ChatRequest, form: Form) -> str:
    """Return all that a server may refuse whatever the messages say; tokens are a matter of length."""
    roles = [message.role for message in request.messages]
    asked = (request.json_schema, request.temperature, request.top_logprobs, request.seed is None, request.in_one)
    return repr((form, roles, asked))


def _added(earlier: ChatReply, reply: ChatReply) -> ChatReply:
    """Return a reply with the tokens and cost of the tries before it."""
    costs = (earlier.cost_usd, reply.cost_usd)
    return replace(
        reply,
        input_tokens=earlier.input_tokens + reply.input_tokens,
        output_tokens=earlier.output_tokens + reply.output_tokens,
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )
