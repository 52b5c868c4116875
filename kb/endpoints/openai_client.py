"""OpenAI-compatible servers through the `openai` package: one request, its JSON or chat reply, and errors of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import httpx  # noqa: F401 - the SDK fails if another thread, such as Chroma's, is halfway through this import

from data.closing import Closing
from data.errors import (
    ConnectionRefused,
    FieldmarkError,
    MalformedAnswer,
    ReplyLost,
    SourceError,
    SourceUnavailable,
)
from data.event_loop import wait_for
from data.foreign_json import parse_json
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.payload import shortened
from kb.endpoints.server_errors import error_in_answer, status_error, without_key
from kb.http_bodies import at_most

if TYPE_CHECKING:
    from openai import AsyncOpenAI
from data.errors import UnsupportedParameter
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.payload import OPTIONAL, payload_of, reply_of

MAX_ANSWER_BYTES = 64 * 2**20
SHORTEST_SECRET = 12  # characters of a key
# By name, since the SDK hides its HTTP library: with these, nothing was sent.
_NOT_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError")


class OpenAIClient(Closing):
    """The connections to one endpoint: one try per request, at most `max_concurrent` at a time.

    Args:
        endpoint: address, model and limits.
        key: the API key; empty for a server without one. It appears in no name, error or log.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self.key = key
        self._client: AsyncOpenAI | None = None
        self._slots: asyncio.Semaphore | None = None

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            wait_for(client.close())

    async def post(self, path: str, payload: Mapping[str, object]) -> object:
        """Return the parsed answer of a path such as `/chat/completions`; only in the shared event loop.

        Raises:
            Refused: if the provider's filter will not answer.
            MalformedAnswer: if the answer is not JSON.
            ReplyLost: if the request was sent and no complete answer came back.
            RateLimited: with the server's Retry-After, if any.
            MissingRequirement: if the key is rejected.
            UnsupportedParameter: if the server rejects a parameter.
            SourceError: for anything else.
        """
        import openai

        where = self.endpoint.address
        if self._client is None:
            self._client = _client(self.endpoint, self.key)
        if self._slots is None:
            self._slots = asyncio.Semaphore(self.endpoint.max_concurrent)
        failure: FieldmarkError
        try:
            async with self._slots, asyncio.timeout(self.endpoint.timeout):
                # As text: the SDK would drop the fields that servers add.
                return _parsed(where, await self._client.post(path, body=dict(payload), cast_to=str), key=self.key)
        # The SDK's errors hold the request with its key, and server texts that may repeat it: they end here.
        except TimeoutError:
            failure = ReplyLost(f"{where}: no reply within {self.endpoint.timeout:g} s")
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            failure = status_error(
                where, error.status_code, headers, error.body, key=self.key, key_name=self.endpoint.api_key_env
            )
        except openai.APITimeoutError:
            failure = ReplyLost(f"{where}: no reply within {self.endpoint.timeout:g} s")
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__
            if _is_refused(error):
                hint = "Start the server, or correct base_url."
                failure = ConnectionRefused(f"{where}: connection refused", hint=hint)
            elif cause in _NOT_SENT:
                failure = SourceUnavailable(f"{where}: not reachable ({cause})")
            elif isinstance(error.__cause__, MalformedAnswer):  # of our hook
                failure = error.__cause__
            else:
                failure = ReplyLost(f"{where}: the connection was cut ({cause})")
        except openai.OpenAIError as error:
            failure = SourceError(f"{where}: {type(error).__name__}")
        raise failure from None


def _client(endpoint: Endpoint, key: str) -> AsyncOpenAI:
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


def _parsed(where: str, content: str, *, key: str) -> object:
    # A server that echoes requests would put the key into messages, cache and ledger. Short placeholders for local
    # servers ("none", "EMPTY") are not secret, and may be words of a reply.
    secret = key if len(key) >= SHORTEST_SECRET else ""
    try:
        answer = parse_json(content, text=lambda text: without_key(text, secret))
    except ValueError:
        raise MalformedAnswer(
            f"{where}: expected JSON, got {shortened(without_key(content, key)[:400], 80)!r}"
        ) from None
    if (error := error_in_answer(where, answer, key=key)) is not None:
        raise error
    return answer


class OpenAIChat(Closing):
    """A `ChatModel` over one endpoint: one try per reply, at most `max_concurrent` requests at a time.

    Cache, retries and cost limit are wrappers around it, joined by `Connection`. A parameter that the server rejects
    (temperature, seed, log-probabilities, a JSON schema, a system message, ...) is left out or replaced from then on:
    a model without log-probabilities replies without them.

    Args:
        endpoint: address, model and prices.
        key: the API key; empty for a server without one. It appears in no name, error or log.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self.key = key
        self._client = OpenAIClient(endpoint, key)
        self._unsupported: set[str] = set()

    @property
    def unsupported(self) -> frozenset[str]:
        """Parameters that the server has rejected."""
        return frozenset(self._unsupported)

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model or the provider's filter will not answer.
            MalformedAnswer: if the answer is not a chat completion.
            ReplyLost: if the request was sent and no complete answer came back.
            RateLimited: with the server's Retry-After, if any.
            MissingRequirement: if the key is rejected.
            SourceError: for anything else.
        """
        endpoint = self.endpoint
        while True:  # each pass learns a parameter that the server rejects
            without = self.unsupported
            payload = payload_of(endpoint, request, without=without)
            try:
                answer = await in_background(self._client.post("/chat/completions", payload))
            except UnsupportedParameter as error:
                # Templates without a system role ask for alternation too.
                refused = {"consecutive messages": ("consecutive messages", "system messages")}
                learnt = [name for name in refused.get(error.parameter, (error.parameter,)) if name not in without]
                if not learnt or error.parameter not in OPTIONAL:
                    raise
                self._unsupported.add(learnt[0])
                continue
            return reply_of(
                answer, request, where=endpoint.address, prices=endpoint.prices, image_tokens=endpoint.image_tokens
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
