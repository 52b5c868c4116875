"""A chat model behind any OpenAI-compatible server."""

from __future__ import annotations

from types import TracebackType

from data.errors import ParameterNotTaken
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.payload import OPTIONAL, payload_of, reply_of
from kb.endpoints.transport import Transport


class OpenAIChat:
    """Implements `ChatModel` over one endpoint: one try a reply, at most `max_concurrent` of them at a time.

    Caching, trying again and limits of cost are wrappers around it (`Connection` joins them). A parameter
    that the server refuses (temperature, seed, log-probabilities, a JSON schema, ...) is left out from then on: a model
    that cannot give log-probabilities replies without them.

    Args:
        endpoint: where the model is and what it costs.
        key: the API key; empty for a server that wants none. It is in no name, error or log.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self._transport = Transport(endpoint, key)

    @property
    def name(self) -> str:
        """Model and provider."""
        return self.endpoint.name

    @property
    def not_taken(self) -> frozenset[str]:
        """The parameters that the server was found not to take."""
        return frozenset(self._transport.not_taken)

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request.

        Raises:
            Refused: if the model or the provider's filter will not answer.
            MalformedAnswer: if something else than a chat completion came.
            ReplyLost: if the connection was cut, or nothing came in time.
            RateLimited: with the server's own wish, where it has one.
            MissingRequirement: if the key is not accepted.
            SourceError: for anything else.
        """
        endpoint = self.endpoint
        for _ in range(len(OPTIONAL)):
            without = frozenset(self._transport.not_taken)
            payload = payload_of(endpoint.model, request, json_mode=endpoint.json, without=without)
            try:
                answer = await self._transport.post("/chat/completions", payload)
            except ParameterNotTaken as error:
                if error.parameter not in without and error.parameter in self._transport.not_taken:
                    continue  # another request has learnt it meanwhile
                self._transport.learn(error)
                continue
            return reply_of(
                answer, request, where=endpoint.address, prices=endpoint.prices, image_tokens=endpoint.image_tokens
            )
        raise AssertionError("unreachable: a parameter is learnt once")  # every turn of the loop learns another one

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> OpenAIChat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
