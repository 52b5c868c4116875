"""An images API (`POST /images/generations`) through the `openai` package: one request, its images and their cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from data.closing import Closing
from data.errors import SourceError
from data.event_loop import in_background
from kb.endpoints.drawing.replies import Usage, items_of, png_of, usage_of
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_client import OpenAIClient

TOKENS_PER_DRAWING: Final = 6_240  # of gpt-image-1 at quality "high", 1024 x 1536; the least reserved for a cost limit
_ONE_AT_A_TIME: Final = re.compile(r": (?:400|422): .*(?:\bn\b|number of images|one image)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The images of one request as PNG files, and its cost in US dollars; None if the price is unknown."""

    images: tuple[bytes, ...]
    cost_usd: float | None
    usage: Usage
    problem: SourceError | None = None
    """Why images of the answer are left out; the provider charges for them all the same."""


class OpenAIImages(Closing):
    """The images API of one endpoint: one try per request, at most `max_concurrent` requests at a time.

    Size, quality and format are fields of the endpoint's `extra_body`; dall-e models are asked for base64, since their
    URLs are on another host. A server that refuses several images at a time is asked for one at a time from then on.
    """

    def __init__(self, endpoint: Endpoint, key: str = "") -> None:
        self.endpoint = endpoint
        self._client = OpenAIClient(endpoint, key)
        self._most = 100

    @property
    def one_at_a_time(self) -> bool:
        """Whether the server has refused to draw several images in one request."""
        return self._most == 1

    def payload(self, prompt: str, n: int) -> dict[str, object]:
        """Return the body of a request for `n` images, or as many as the server allows."""
        form = {"response_format": "b64_json"} if self.endpoint.model.startswith("dall-e-") else {}
        return {"model": self.endpoint.model, "prompt": prompt, "n": min(n, self._most), **form,
                **self.endpoint.extra_body}  # fmt: skip

    async def draw(self, prompt: str, n: int) -> Drawn:
        """Return up to `n` images of a prompt: as many as the server sends and as are usable, else the problem.

        Raises:
            Refused: if the model or the provider's filter will not draw it.
            MalformedAnswer: if the answer holds no images.
            SourceError: for other failures, as from `OpenAIClient.post`.
        """
        return await in_background(self._draw(prompt, n))

    def most_usd(self, prompt: str, n: int) -> float:
        """Return the highest possible cost of a request, in US dollars."""
        tokens = max(self.endpoint.image_tokens, TOKENS_PER_DRAWING)
        return self.endpoint.drawing_usd(n, len(prompt.encode()) + 16, n * tokens) or 0.0

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    async def _draw(self, prompt: str, n: int) -> Drawn:
        try:
            answer = await self._client.post("/images/generations", self.payload(prompt, n))
        except SourceError as error:
            if n == 1 or self.one_at_a_time or not _ONE_AT_A_TIME.search(str(error)):
                raise
            self._most = 1
            answer = await self._client.post("/images/generations", self.payload(prompt, 1))
        items, usage = items_of(answer, self.endpoint.address), usage_of(answer)
        images, problem = await self._images(items[:n])
        return Drawn(images=tuple(images), cost_usd=self._cost(prompt, len(items), usage), usage=usage, problem=problem)

    async def _images(self, items: Sequence[Mapping[str, object]]) -> tuple[list[bytes], SourceError | None]:
        images: list[bytes] = []
        problem: SourceError | None = None
        for item in items:
            try:
                images.append(await png_of(item, self.endpoint))
            except SourceError as error:  # the others count
                problem = error
        return images, problem

    def _cost(self, prompt: str, n: int, usage: Usage) -> float | None:
        most_in = len(prompt.encode()) + 16 if usage.input_tokens is None else usage.input_tokens
        most_out = n * max(self.endpoint.image_tokens, TOKENS_PER_DRAWING)
        return self.endpoint.drawing_usd(n, most_in, most_out if usage.output_tokens is None else usage.output_tokens)
