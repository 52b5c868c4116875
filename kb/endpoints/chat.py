"""The way of a chat request: cache, cost limit, server, and what is done where the server does not answer at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from data.closing import Closing
from data.errors import (
    BadRequest,
    CutOff,
    FieldmarkError,
    KeyRejected,
    NotCached,
    Refused,
    ServerFault,
    TooFewTokens,
    UsageError,
)
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.answer import is_complete, reply_of
from kb.endpoints.body import TOKENS, Body, body_of, most_input_tokens
from kb.endpoints.budget import MAX_OUTPUT_TOKENS, Budget
from kb.endpoints.client import Client
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.form import Form, changed, least_change, rungs
from kb.endpoints.reply_cache import ReplyCache, as_cached, request_key
from kb.endpoints.retry import RetryPolicy, Tries

ROOMS: Final = (2_048, 8_192, 32_768)
"""Tokens beside those of the first try, in the order tried: models that reason first need hundreds to thousands."""
_LEAST_TEXT: Final = 2_000  # characters of a prompt from which its tokens are compared
_MOST_CHARACTERS: Final = 12  # per token, of any language and tokenizer


class Connection(Closing):
    """A `ChatModel` over an endpoint: the same request is paid for once; a context manager, to be closed.

    `reply` answers from the cache, or asks: a reply that is cut off again with more tokens, a failure that passes again
    later, and a request that the server refuses in another form. A request counts as in flight until its reply is on
    disk, so a kill loses at most `max_concurrent` replies. Refusals are stored too: the model would decline again, and
    charge again. A request that equals one in flight waits for the same reply at no cost.

    Args:
        endpoint: address, model and prices.
        key: the API key; empty for a server without one.
        cache: the reply cache, which is closed with the connection; None stores nothing.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        fresh: replies of earlier runs are not used, but replaced; those of this connection are.
        retry: number and spacing of tries.
        warns: whether what is unusual is logged, once each.

    Raises:
        UsageError: if the budget has a limit and the endpoint no prices, or if it is offline without a cache.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        offline: bool = False,
        fresh: bool = False,
        retry: RetryPolicy | None = None,
        warns: bool = True,
    ) -> None:
        if offline and cache is None:
            raise UsageError("Offline use needs a reply cache, and none is given.")
        if budget is not None and budget.limit_usd is not None and endpoint.prices is None:
            raise UsageError(
                f"The price of {endpoint.name} is unknown, so a cost limit cannot be enforced.",
                hint="Set price_in and price_out (US dollars per million tokens; 0 for your own server).",
            )
        self.endpoint, self.name, self.budget = endpoint, endpoint.name, budget or Budget()
        self.key = endpoint.key
        self._client, self._cache, self._is_offline = Client(endpoint, key), cache, offline
        self._tries = Tries(endpoint, retry, warns=warns)
        self._form = (cache.form(endpoint.key) if cache is not None and not offline else None) or Form()
        self._taken: set[str] = set()
        """Optional parts, as sent, that the server has taken: a request with these is refused for its contents."""
        self._refused_in_all_forms: set[tuple[Form, str, bool]] = set()
        self._room = 0
        """Tokens that later requests begin with, beside those of a first try; below 0 if the server refuses so many."""
        self._asked_now: set[str] | None = set() if fresh and not offline else None
        """Keys of the replies that this connection stored; None if others are used as well."""
        self._in_flight: dict[str, _InFlight] = {}
        self._slots: asyncio.Semaphore | None = None
        self._ladder = asyncio.Lock()

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._tries.n_retries

    @property
    def form(self) -> Form:
        """The form of requests that the server takes, as far as known."""
        return self._form

    def close(self) -> None:
        """Close the HTTP connections and the cache."""
        try:
            self._client.close()
        finally:
            if self._cache is not None:
                self._cache.close()

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
        cached = self._cached(request)
        if cached is not None:
            return cached
        if self._is_offline:
            raise NotCached(f"No cached reply of {self.name} to this request.", hint="Run once without --offline.")
        # In the shared event loop: its steps are not interleaved, and no two reservations are made at once.
        return await in_background(self._joined(request))

    def _cached(self, request: ChatRequest) -> ChatReply | None:
        key = self.endpoint.key
        if self._cache is None or (self._asked_now is not None and request_key(key, request) not in self._asked_now):
            return None
        try:
            cached = self._cache.get(key, request)
        except Refused:
            self.budget.meter.cached += 1
            raise
        if cached is not None and request.usable is not None and not request.usable(cached):
            return None
        self.budget.meter.cached += cached is not None
        return cached

    async def _joined(self, request: ChatRequest) -> ChatReply:
        """Return the reply of an equal request in flight, or ask."""
        if self._cache is None:  # nothing is stored, so equal requests are samples
            return await self._asked(request)
        key = request_key(self.endpoint.key, request)
        pending = self._in_flight.get(key)
        is_first = pending is None
        if pending is None:
            pending = self._in_flight[key] = _InFlight(asyncio.create_task(self._asked(request)))
        pending.n_waiting += 1
        try:
            reply = await asyncio.shield(pending.task)
        except (CutOff, Refused) as error:
            if is_first:
                raise
            raise type(error)(str(error), hint=error.hint) from error  # paid by the first
        finally:
            pending.n_waiting -= 1
            if self._in_flight.get(key) is pending and (pending.task.done() or not pending.n_waiting):
                del self._in_flight[key]
            if not pending.n_waiting and not pending.task.done():
                # All waiters gave up. The task ends before we return: its cache may be closed after us.
                pending.task.cancel()
                await asyncio.wait([pending.task])
        if is_first:
            return reply
        self.budget.meter.cached += 1
        return as_cached(reply)

    async def _asked(self, request: ChatRequest) -> ChatReply:
        """Ask, and store the reply before the next request is sent."""
        if self._slots is None:
            self._slots = asyncio.Semaphore(self.endpoint.max_concurrent)
        async with self._slots:
            cached = self._cached(request)  # it may have arrived in the meantime
            if cached is not None:
                return cached
            key, cache = self.endpoint.key, self._cache
            is_fresh = self._asked_now is not None
            try:
                reply = await self._whole(request)
            except Refused as error:
                if cache is not None:
                    await _to_its_end(partial(cache.put, key, request, refusal=str(error), replaces=is_fresh))
                if self._asked_now is not None:
                    self._asked_now.add(request_key(key, request))
                raise
            if cache is not None and (request.usable is None or request.usable(reply)):
                # What is stored may be of no use to this request, or it would not have been asked.
                replaces = is_fresh or request.usable is not None
                await _to_its_end(partial(cache.put, key, request, reply=reply, replaces=replaces))
                if self._asked_now is not None:
                    self._asked_now.add(request_key(key, request))
            return reply

    async def _whole(self, request: ChatRequest) -> ChatReply:
        """Ask with more tokens while the reply is cut off, and with fewer where the server refuses so many."""
        limits = self.limits(request)
        first, least = limits[0], request.max_tokens or 1
        key = self.endpoint.key
        cut_at = self._cache.cut_off_at(key, request) if self._cache is not None else 0
        limits = [limit for limit in limits if (limit or 0) > cut_at] or limits[-1:]
        paid: ChatReply | None = None  # with the tokens and cost of all tries
        refused: BadRequest | None = None
        while limits:
            limit, is_reply = limits.pop(0), True
            is_least = limit is None or limit <= least
            try:
                paid = _added(paid, await self._answered(replace(request, max_tokens=limit), is_least=is_least))
            except TooFewTokens:
                paid = _added(paid, ChatReply(text="", model=self.name, cost_usd=0.0, finish="length"))
                is_reply = False
            except BadRequest as error:  # perhaps for its tokens: every server has its own words for that
                if limit is None or is_least or not error.may_be_of_length:
                    if first != limit and error.may_be_of_length:
                        error.hint = f"{least:,} tokens for the reply are refused, too."
                    raise
                fewer = max(limit // 2, least)
                refused, limits = error, [fewer] if fewer > cut_at else []
                continue
            if is_complete(paid, request):
                if limit is not None and first is not None and limit != first:
                    choose = max if limit > first else min
                    self._room = choose(self._room, limit - self._start(request))
                return paid
            self.budget.meter.cut_off += 1
            if limit is not None:
                cut_at = limit
                if self._cache is not None and is_reply:
                    await asyncio.to_thread(self._cache.store_cut_off, key, request, limit)
            if limits:
                what = "reasons before it answers" if paid.reasons else "needs more"
                self._tries.tell(
                    "cut off",
                    f"{what}: {limit} tokens were too few, so its replies get more (kb doctor suggests settings)",
                )
        raise _cut_off(paid, self.name, cut_at, is_refused=refused is not None) from refused

    def limits(self, request: ChatRequest) -> list[int | None]:
        """Return the tokens of the tries in turn; None leaves them to the server."""
        if request.max_tokens is None and not self.endpoint.max_tokens:
            return [None]
        start = self._start(request)
        first = max(request.max_tokens or 1, start + self._room)
        return [first, *(start + room for room in ROOMS if room >= min(start, ROOMS[-1]) and start + room > first)]

    def _start(self, request: ChatRequest) -> int:
        return max(request.max_tokens or 0, self.endpoint.max_tokens or 0)

    async def _answered(self, request: ChatRequest, *, is_least: bool) -> ChatReply:
        """Ask until the server answers: again after a failure that passes, in another form after a refusal.

        `is_least`: the request asks for no more tokens than its method needs, so that these are no reason to refuse it.
        """
        if request.max_tokens is None and self.budget.limit_usd is not None:
            request = replace(request, max_tokens=MAX_OUTPUT_TOKENS)
        form, n_faults = self._form, 0

        async def ask() -> ChatReply:
            nonlocal form
            form = self._form
            return await self._sent(request, form)

        async def mend(error: FieldmarkError) -> ChatReply | None:
            nonlocal n_faults
            if isinstance(error, ServerFault):
                n_faults += 1
                if n_faults == 1:  # it may pass: first the same request
                    return None
            if not getattr(error, "may_adapt", False):
                return None
            if _optional_parts(body_of(self.endpoint, request, form)) in self._taken:
                return None
            return await self._adapted(request, form, error, is_least=is_least)

        return await self._tries.result(ask, mend)

    async def _sent(self, request: ChatRequest, form: Form) -> ChatReply:
        """Send one request within the cost limit, read the reply, and count it."""
        endpoint, budget, most_usd = self.endpoint, self.budget, 0.0
        body = body_of(endpoint, request, form)
        # Without a cost limit, too: the cost of a lost reply is reported.
        if endpoint.prices is not None and request.max_tokens is not None:
            most_in = most_input_tokens(request, image_tokens=endpoint.image_tokens)
            most_usd = endpoint.prices.cost_usd(most_in, request.max_tokens)
        async with budget.reserve(most_usd) as cost:
            reply = reply_of(await self._client.chat(body), request, endpoint)
            cost.append(reply.cost_usd or 0.0)
        self._taken.add(_optional_parts(body))
        meter = budget.meter
        meter.calls += 1
        meter.input_tokens += reply.input_tokens
        meter.output_tokens += reply.output_tokens
        meter.unpriced += reply.cost_usd is None
        n = sum(len(message.text) for message in request.messages)
        if n > _LEAST_TEXT and 0 < reply.input_tokens * _MOST_CHARACTERS < n:
            seen = f"counts {reply.input_tokens:,} tokens for a prompt of {n:,} characters"
            remedy = "give the server a larger context (OLLAMA_CONTEXT_LENGTH)"
            self._tries.tell("prompt", f"{seen}, so it has most likely cut the prompt off: {remedy}")
        return reply

    async def _adapted(
        self, request: ChatRequest, form: Form, error: FieldmarkError, *, is_least: bool
    ) -> ChatReply | None:
        """Return the reply in the form that the server takes, which is remembered; None if it takes none."""
        mark = "".join(letter for letter in str(error) if not letter.isdigit())
        async with self._ladder:  # one request looks for the form, the others use it
            is_known = self._form != form
            # With more tokens than needed, the name of their limit is not tried: their number may be what is refused,
            # and a server that does not know the other name would write without a limit.
            ladder = [rung for rung in rungs(form, request, self.endpoint) if is_least or rung[0] != "tokens"]
            is_new = not is_known and (form, mark, is_least) not in self._refused_in_all_forms

            async def attempt(tried: Form) -> ChatReply | None:
                try:
                    reply = await self._sent(request, tried)
                    # A server that does not know the other name of the limit may take it for nothing.
                    is_unlimited = request.max_tokens is not None and reply.output_tokens > request.max_tokens
                    if tried.tokens == form.tokens or not (is_unlimited and not reply.reasons):
                        return reply
                    return None
                except (BadRequest, ServerFault, KeyRejected) as again:
                    if not getattr(again, "may_adapt", False):
                        raise
                    return None

            if ladder and is_new:
                is_of_key = isinstance(error, KeyRejected) and await attempt(changed(form, *ladder)) is None
                found = None if is_of_key else await least_change(form, ladder, attempt)
                if found is not None:
                    self._form, reply, is_sure = found
                    if self._cache is not None and is_sure and self._form != form:
                        await asyncio.to_thread(self._cache.store_form, self.endpoint.key, self._form)
                    return reply
                self._refused_in_all_forms.add((form, mark, is_least))
        return await self._answered(request, is_least=is_least) if is_known else None


def _optional_parts(body: Body) -> str:
    """Return the parts of a body that a server may refuse whatever the messages say; tokens are a matter of length."""
    parts = {name: value for name, value in body.items() if name not in ("messages", *TOKENS)}
    roles = [message["role"] for message in body["messages"]]
    return json.dumps([sorted(set(body) & set(TOKENS)), roles, parts], sort_keys=True, default=str)


async def _to_its_end(write: Callable[[], None]) -> None:
    """Write in a thread, also if this caller is cancelled: the reply is paid for."""
    await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, write))


@dataclass(slots=True)
class _InFlight:
    """A request in flight, and the number of callers that wait for its reply."""

    task: asyncio.Task[ChatReply]
    n_waiting: int = 0


def _added(earlier: ChatReply | None, reply: ChatReply) -> ChatReply:
    """Return a reply with the tokens and cost of the tries before it."""
    if earlier is None:
        return reply
    costs = (earlier.cost_usd, reply.cost_usd)
    return replace(
        reply,
        input_tokens=earlier.input_tokens + reply.input_tokens,
        output_tokens=earlier.output_tokens + reply.output_tokens,
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _cut_off(reply: ChatReply | None, name: str, limit: int, *, is_refused: bool) -> CutOff:
    reply = reply or ChatReply(text="", model=name, cost_usd=0.0)
    at = f"at {limit:,} tokens" if limit else "by the server"
    where = "in its reasoning" if reply.reasons and not reply.text else "in its answer"
    more = ", and the server allows no more" if is_refused else ""
    return CutOff(
        f"{name}: the reply was cut off {at}, {where}{more}",
        hint="Set max_tokens, reasoning_effort or extra_body of the model; kb doctor suggests values.",
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost_usd=reply.cost_usd,
    )
