"""The way of a request to an endpoint: the cost limit, the `openai` package, errors of ours, and tries after failures.

`chat.Connection` and `images.ImageConnection` add their requests, answers and caches.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import httpx  # noqa: F401 - the SDK fails if another thread, such as Chroma's, is halfway through this import

from data.codec import parse_json
from data.errors import (
    ConnectionRefused,
    FieldmarkError,
    KeyRejected,
    MalformedAnswer,
    RateLimited,
    ReplyLost,
    SourceError,
    SourceUnavailable,
    StillLoading,
    UsageError,
)
from data.event_loop import wait_for
from data.files import Closing
from kb.endpoints.answer import chat_of_events
from kb.endpoints.cache import DrawingCache, ReplyCache
from kb.endpoints.endpoint import Budget, Endpoint
from kb.endpoints.failures import error_in_answer, error_of, shortened, without_key
from kb.http import at_most

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ResultT = TypeVar("ResultT")
Other = Callable[[FieldmarkError], Awaitable[ResultT | None]]
"""Returns the result of another request after a failure, or None where the same is to be tried again; may raise."""
MAX_ANSWER_BYTES: Final = 64 * 2**20
_TOLD_FROM_S: Final = 5.0  # shorter waits are not worth a line
SHORTEST_SECRET: Final = 12  # characters of a key
# By name, since the SDK hides its HTTP library: with these, nothing was sent.
_NOT_SENT: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError")
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Number and spacing of tries; times in seconds.

    A malformed answer (HTML for JSON, an empty reply) is tried `tries_if_malformed` times: a proxy may have sent it. An
    address that has only refused connections so far is tried `tries_if_refused` times: most likely the server was not
    started. A busy server that states no time gets `busy_s`, and one that states it, or loads its model, as long as it
    asks. All waits of a request in one form end with `max_wait` of the endpoint.
    """

    tries: int = 6
    tries_if_malformed: int = 3
    tries_if_refused: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 15.0
    busy_s: float = 60.0


class Client(Closing):
    """The connections to one endpoint; a context manager, to be closed. A wait that the server asks for holds for all.

    Args:
        endpoint: address, model, prices and limits.
        key: the API key; empty for a server without one. It appears in no name, error or log.
        cache: the stored replies or drawings, closed with the connections; without one, nothing is stored.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        retry: number and spacing of tries.

    Raises:
        UsageError: if the budget has a limit and the price is unknown.
    """

    price_hint: ClassVar[str] = "Set price_in and price_out (US dollars per million tokens; 0 for your own server)."

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: ReplyCache | DrawingCache | None = None,
        budget: Budget | None = None,
        offline: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.endpoint, self.name, self.budget = endpoint, endpoint.name, budget or Budget()
        self.n_retries = 0
        """Number of retries so far."""
        if self.budget.limit_usd is not None and not self._is_priced():
            raise UsageError(
                f"The price of {self.name} is unknown, so a cost limit cannot be enforced.", hint=self.price_hint
            )
        self._key, self._is_offline, self._policy = key, offline, retry or RetryPolicy()
        self._cache: Any = cache
        self._slots = asyncio.Semaphore(endpoint.max_concurrent)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """One for each request in flight, by its key."""
        self._sdk: AsyncOpenAI | None = None
        self._not_before = 0.0
        self._has_answered = False
        self._told: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """Set what a kind of client has besides."""

    def close(self) -> None:
        """Close the connections and the cache."""
        sdk, self._sdk = self._sdk, None
        try:
            if sdk is not None:
                wait_for(sdk.close())
        finally:
            if isinstance(self._cache, Closing):
                self._cache.close()

    def _is_priced(self) -> bool:
        return self.endpoint.is_priced

    async def answer(self, body: Mapping[str, Any]) -> object:
        """Return the answer to a chat request or one for drawings, put together if it is streamed.

        Only in the shared event loop.

        Raises:
            MalformedAnswer: if the answer is not JSON.
            ReplyLost: if the request was sent and no complete answer came back.
            SourceError, KeyRejected: the server's error, as `failures.error_of` returns it.
        """
        import openai

        where, endpoint = self.endpoint.address, self.endpoint
        if self._sdk is None:
            self._sdk = _sdk(endpoint, self._key)
        own: Any = {name: body[name] for name in ("model", "messages", "prompt") if name in body}
        # As fields of our own: the SDK would hand over a streamed answer piece by piece.
        extra = {name: value for name, value in body.items() if name not in own}
        send: Any = self._sdk.chat.completions.with_raw_response.create
        path, status, began = "chat/completions", "no answer", time.monotonic()
        if "prompt" in body:
            send, path = self._sdk.images.with_raw_response.generate, "images/generations"
        failure: FieldmarkError
        try:
            async with asyncio.timeout(endpoint.timeout):
                response = await send(**own, extra_body=extra)
            status = f"{response.status_code}"
            answer = self._parsed(response.text, response.headers.get("content-type", ""))
            self._has_answered = True
            if (error := error_in_answer(endpoint, self._key, answer)) is not None:
                raise error
            return answer
        # The SDK's errors hold the request with its key, and server texts that may repeat it: they end here.
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            status = f"{error.status_code}"
            failure = error_of(endpoint, self._key, error.status_code, headers, error.response.text)
        except (TimeoutError, openai.APIConnectionError) as error:
            failure = self._unanswered(error)
        except openai.OpenAIError as error:
            failure = SourceError(f"{where}: {type(error).__name__}")
        finally:
            base = urlsplit(endpoint.base_url).path.rstrip("/")
            _log.info("POST %s %s/%s %s, %.2f s", where, base, path, status, time.monotonic() - began)
        self._has_answered = self._has_answered or not isinstance(failure, ConnectionRefused)
        raise failure from None

    def _unanswered(self, error: Exception) -> FieldmarkError:
        where, cause = self.endpoint.address, type(error.__cause__).__name__
        if isinstance(error.__cause__, MalformedAnswer):  # of our hook
            return error.__cause__
        if _is_refused(error):
            return ConnectionRefused(f"{where}: connection refused", hint="Start the server, or correct base_url.")
        if cause in _NOT_SENT:
            return SourceUnavailable(f"{where}: not reachable ({cause})")
        if isinstance(error, TimeoutError) or cause.endswith("Timeout"):
            return ReplyLost(f"{where}: no reply within {self.endpoint.timeout:g} s")
        return ReplyLost(f"{where}: the connection was cut ({cause})")

    def _parsed(self, content: str, media_type: str) -> object:
        # A server that echoes requests would put the key into messages, cache and ledger. Short placeholders for local
        # servers ("none", "EMPTY") are not secret, and may be words of a reply.
        secret, where = self._key if len(self._key) >= SHORTEST_SECRET else "", self.endpoint.address
        try:
            content = content.lstrip("\ufeff \r\n")
            if "text/event-stream" in media_type or content.startswith(("data:", ":")):
                content = json.dumps(chat_of_events(content, where))
            return parse_json(content, text=lambda text: without_key(text, secret))
        except ValueError:
            said = shortened(without_key(content, self._key)[:400], 80)
            raise MalformedAnswer(f"{where}: expected JSON, got {said!r}") from None

    async def _tried(self, attempt: Callable[[], Awaitable[ResultT]], other: Other[ResultT] | None = None) -> ResultT:
        """Return the result of an attempt, repeated while its failures may pass, or that of `other` after a failure.

        Raises:
            SourceError, KeyRejected: the error of the last try, where another one is in vain or one too many.
        """
        n_failed, waited_s = 0, 0.0
        while True:
            while (left_s := self._not_before - time.monotonic()) > 0:
                # Jitter, so that waiting requests do not all return at once.
                await asyncio.sleep(left_s + random.uniform(0, min(0.5, left_s / 4)))
            failure: FieldmarkError
            try:
                return await attempt()
            except (SourceError, KeyRejected) as error:
                failure = error
            if other is not None and (result := await other(failure)) is not None:
                return result
            n_failed += 1
            wait_s = self._wait_s(failure, n_failed, waited_s)
            if wait_s is None:
                if n_failed > 1 and failure.args:
                    failure.args = (f"{failure.args[0]} (tried {n_failed} times)", *failure.args[1:])
                raise failure from None
            self.n_retries += 1
            waited_s += wait_s
            _log.info("%s: %s; try %d in %.1f s", self.name, type(failure).__name__, n_failed + 1, wait_s)
            await asyncio.sleep(max(0.0, wait_s - max(0.0, self._not_before - time.monotonic())))

    def _wait_s(self, error: FieldmarkError, n_failed: int, waited_s: float) -> float | None:
        """Return the seconds before the next try, or None to give up."""
        policy, left_s = self._policy, self.endpoint.max_wait - waited_s
        if not (error.retryable or isinstance(error, MalformedAnswer)):
            return None
        asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if asked_s:  # 0 is as good as no time
            if asked_s > left_s or n_failed >= 10 * policy.tries:
                error.hint = (
                    error.hint or f"The server asks to wait {asked_s:.0f} s; max_wait of the model allows more."
                )
                return None
            if asked_s >= _TOLD_FROM_S:
                self._tell("busy", f"is busy and asks to wait {asked_s:.0f} s")
            self._not_before = max(self._not_before, time.monotonic() + asked_s)
            return asked_s
        longest_s = min(policy.first_wait_s * 2.0 ** min(n_failed - 1, 30), policy.longest_wait_s)
        backoff_s: float = longest_s * random.uniform(0.5, 1.0)
        if isinstance(error, StillLoading):
            self._tell("loading", f"loads its model; waiting up to {left_s:.0f} s")
        elif isinstance(error, RateLimited):
            left_s = min(left_s, policy.busy_s - waited_s)
        else:
            most = policy.tries_if_malformed if isinstance(error, MalformedAnswer) else policy.tries
            if isinstance(error, ConnectionRefused) and not self._has_answered:
                most = min(most, policy.tries_if_refused)
            left_s = left_s if n_failed < most else -1.0
        return backoff_s if backoff_s <= left_s else None

    def _tell(self, what: str, text: str) -> None:
        """Log something unusual about the endpoint, once."""
        if what not in self._told:
            self._told.add(what)
            _log.warning("%s %s", self.name, text)


def _sdk(endpoint: Endpoint, key: str) -> AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(
        base_url=endpoint.base_url,
        # Never None: the SDK would send OPENAI_API_KEY to any address.
        api_key=key or "none",
        max_retries=0,
        timeout=endpoint.timeout,
        default_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # type: ignore[dict-item]
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            event_hooks={"response": [at_most(MAX_ANSWER_BYTES, openai.DefaultAsyncHttpxClient)]},
        ),
    )


def _is_refused(error: BaseException | None) -> bool:
    """Return whether an SDK error comes from a refused connection, at any of several addresses."""
    while error is not None:
        group = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        if isinstance(error, ConnectionRefusedError) or any(isinstance(each, ConnectionRefusedError) for each in group):
            return True
        error = error.__cause__ or error.__context__
    return False
