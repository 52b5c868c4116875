"""The `openai` package for any compatible server: one request, its answer as JSON, and errors of ours."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx  # noqa: F401 - the SDK fails if another thread, such as Chroma's, is halfway through this import

from data.codec import parse_json
from data.errors import ConnectionRefused, FieldmarkError, MalformedAnswer, ReplyLost, SourceError, SourceUnavailable
from data.event_loop import wait_for
from data.files import Closing
from kb.endpoints.answer import chat_of_events
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import error_in_answer, error_of, shortened, without_key
from kb.http import at_most

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_ANSWER_BYTES: Final = 64 * 2**20
SHORTEST_SECRET: Final = 12  # characters of a key
# By name, since the SDK hides its HTTP library: with these, nothing was sent.
_NOT_SENT: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError")
_log: Final = logging.getLogger(__name__)


class Client(Closing):
    """The connections to one endpoint: one try per request.

    Args:
        endpoint: address, model and limits.
        key: the API key; empty for a server without one. It appears in no name, error or log.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self.key = key
        self._sdk: AsyncOpenAI | None = None

    def close(self) -> None:
        """Close the connections."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            wait_for(sdk.close())

    async def answer(self, body: Mapping[str, Any]) -> object:
        """Return the answer to a chat request or one for drawings, put together if it is streamed.

        Only in the shared event loop.

        Raises:
            Refused: if the provider's filter will not answer.
            MalformedAnswer: if the answer is not JSON.
            ReplyLost: if the request was sent and no complete answer came back.
            RateLimited: with the wait that the server asks for, if any.
            KeyRejected: if the key is rejected, or something that the key may not do was asked.
            BadRequest, ServerFault: if the server does not take the request in this form.
            SourceError: for anything else.
        """
        import openai

        where, endpoint = self.endpoint.address, self.endpoint
        if self._sdk is None:
            self._sdk = _sdk(endpoint, self.key)
        own: Any = {name: body[name] for name in ("model", "messages", "prompt") if name in body}
        # As fields of our own: the SDK would hand over a streamed answer piece by piece.
        extra = {name: value for name, value in body.items() if name not in own}
        failure: FieldmarkError
        path = "images/generations" if "prompt" in body else "chat/completions"
        status, began = "no answer", time.monotonic()
        try:
            async with asyncio.timeout(endpoint.timeout):
                if "prompt" in body:
                    response: Any = await self._sdk.images.with_raw_response.generate(**own, extra_body=extra)
                else:
                    response = await self._sdk.chat.completions.with_raw_response.create(**own, extra_body=extra)
            status = f"{response.status_code}"
            answer = self._parsed(response.text, response.headers.get("content-type", ""))
            if (error := error_in_answer(endpoint, self.key, answer)) is not None:
                raise error
            return answer
        # The SDK's errors hold the request with its key, and server texts that may repeat it: they end here.
        except openai.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            status = f"{error.status_code}"
            failure = error_of(endpoint, self.key, error.status_code, headers, error.response.text)
        except (TimeoutError, openai.APIConnectionError) as error:
            cause = type(error.__cause__).__name__
            if isinstance(error.__cause__, MalformedAnswer):  # of our hook
                failure = error.__cause__
            elif _is_refused(error):
                hint = "Start the server, or correct base_url."
                failure = ConnectionRefused(f"{where}: connection refused", hint=hint)
            elif cause in _NOT_SENT:
                failure = SourceUnavailable(f"{where}: not reachable ({cause})")
            elif isinstance(error, TimeoutError | openai.APITimeoutError):
                failure = ReplyLost(f"{where}: no reply within {endpoint.timeout:g} s")
            else:
                failure = ReplyLost(f"{where}: the connection was cut ({cause})")
        except openai.OpenAIError as error:
            failure = SourceError(f"{where}: {type(error).__name__}")
        finally:
            base = urlsplit(endpoint.base_url).path.rstrip("/")
            _log.info("POST %s %s/%s %s, %.2f s", where, base, path, status, time.monotonic() - began)
        raise failure from None

    def _parsed(self, content: str, media_type: str) -> object:
        # A server that echoes requests would put the key into messages, cache and ledger. Short placeholders for local
        # servers ("none", "EMPTY") are not secret, and may be words of a reply.
        secret, where = self.key if len(self.key) >= SHORTEST_SECRET else "", self.endpoint.address
        try:
            if "text/event-stream" in media_type or content.startswith("data:"):
                content = json.dumps(chat_of_events(content, where))
            return parse_json(content, text=lambda text: without_key(text, secret))
        except ValueError:
            raise MalformedAnswer(
                f"{where}: expected JSON, got {shortened(without_key(content, self.key)[:400], 80)!r}"
            ) from None


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
