"""A chat model behind any OpenAI-compatible server."""

from __future__ import annotations

from types import TracebackType

from data.errors import UnsupportedParameter
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.payload import OPTIONAL, payload_of, reply_of
from kb.endpoints.transport import Transport


class OpenAIChat:
    """A `ChatModel` over one endpoint: one try per reply, at most `max_concurrent` requests at a time.

    Cache, retries and cost limit are wrappers around it, joined by `Connection`. A parameter that the server rejects
    (temperature, seed, log-probabilities, a JSON schema, ...) is left out from then on, so a model without
    log-probabilities replies without them.

    Args:
        endpoint: address, model and prices.
        key: the API key; empty for a server without one. It appears in no name, error or log.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self._transport = Transport(endpoint, key)

    @property
    def name(self) -> str:
        """Model and provider."""
        return self.endpoint.name

    @property
    def unsupported(self) -> frozenset[str]:
        """Parameters that the server has rejected."""
        return frozenset(self._transport.unsupported)

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model or the provider's filter will not answer.
            MalformedAnswer: if the answer is not a chat completion.
            ReplyLost: if the connection was cut or timed out.
            RateLimited: with the server's Retry-After, if any.
            MissingRequirement: if the key is rejected.
            SourceError: for anything else.
        """
        endpoint = self.endpoint
        for _ in range(len(OPTIONAL)):
            without = frozenset(self._transport.unsupported)
            payload = payload_of(endpoint.model, request, json_mode=endpoint.json, without=without)
            try:
                answer = await self._transport.post("/chat/completions", payload)
            except UnsupportedParameter as error:
                if error.parameter not in without and error.parameter in self._transport.unsupported:
                    continue  # another request learnt it in the meantime
                self._transport.learn(error)
                continue
            return reply_of(
                answer, request, where=endpoint.address, prices=endpoint.prices, image_tokens=endpoint.image_tokens
            )
        raise AssertionError("unreachable: a parameter is learnt once")  # every pass of the loop learns another one

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> OpenAIChat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
