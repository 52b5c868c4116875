"""A chat model behind any OpenAI-compatible server."""

from __future__ import annotations

from data.closing import Closing
from data.errors import UnsupportedParameter
from data.event_loop import in_background
from data.records import ChatReply, ChatRequest
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_client import OpenAIClient
from kb.endpoints.payload import OPTIONAL, payload_of, reply_of


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
