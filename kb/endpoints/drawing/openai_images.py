"""An images API (`POST /images/generations`) through the `openai` package: one request, its images and their cost.

Images are decoded within limits, and always PNG.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx

from data.closing import Closing
from data.errors import BadImage, MalformedAnswer, SourceError, SourceUnavailable
from data.event_loop import in_background
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.openai_client import OpenAIClient
from kb.endpoints.payload import shortened

MAX_BYTES: Final = 50 * 2**20
"""Most bytes of one drawing."""
MAX_PIXELS: Final = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request, where the server counts them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


def items_of(answer: object, where: str) -> list[Mapping[str, Any]]:
    """Return the images of an answer, undecoded.

    Raises:
        MalformedAnswer: if it is not an answer of an images API.
    """
    found = answer.get("data") if isinstance(answer, Mapping) else None
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []
    if not items:
        raise MalformedAnswer(f"{where}: expected images, got {shortened(answer)}")
    return items


def usage_of(answer: object) -> Usage:
    """Return the tokens of an answer."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return Usage()
    counts = [usage.get(name) for name in ("input_tokens", "output_tokens")]
    first, second = (n if isinstance(n, int) and n >= 0 else None for n in counts)
    return Usage(input_tokens=first, output_tokens=second)


async def png_of(item: Mapping[str, Any], endpoint: Endpoint) -> bytes:
    """Return one image of an answer as a PNG file: from base64, a data URL, or a URL on the host of the endpoint.

    Raises:
        MalformedAnswer: if there is none, or it is no image within the limits.
        SourceError: if its URL is on another host, or cannot be read.
    """
    text, url = item.get("b64_json"), item.get("url")
    if isinstance(text, str) and text:
        content = _decoded(text.partition(",")[2] if text.startswith("data:") else text, endpoint.address)
    elif isinstance(url, str) and url.startswith("data:"):
        content = _decoded(url.partition(",")[2], endpoint.address)
    elif isinstance(url, str) and url:
        content = await _fetched(urljoin(f"{endpoint.base_url.rstrip('/')}/", url), endpoint)
    else:
        raise MalformedAnswer(f"{endpoint.address}: an image without b64_json and url")
    return _checked(content, endpoint.address)


def _decoded(text: str, where: str) -> bytes:
    if len(text) > MAX_BYTES * 4 // 3 + 4:
        raise MalformedAnswer(f"{where}: an image of more than {MAX_BYTES:,} bytes")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedAnswer(f"{where}: an image that is not base64") from None


async def _fetched(url: str, endpoint: Endpoint) -> bytes:
    """Return the content of a URL, without our key and without redirects."""
    at, own = urlsplit(url), urlsplit(endpoint.base_url)
    if at.scheme not in ("http", "https") or at.hostname != own.hostname:
        raise SourceError(
            f"{endpoint.address}: its drawing is at another host, {at.hostname}",
            hint='Set extra_body = {response_format = "b64_json"} of [llm.image].',
        )
    content = bytearray()
    try:
        async with (
            httpx.AsyncClient(timeout=endpoint.timeout, follow_redirects=False, trust_env=False) as client,
            client.stream("GET", url) as answer,
        ):
            if answer.status_code != 200:
                raise SourceError(f"{endpoint.address}: {answer.status_code} for the URL of a drawing")
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > MAX_BYTES:
                    raise MalformedAnswer(f"{endpoint.address}: an image of more than {MAX_BYTES:,} bytes")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SourceUnavailable(f"{endpoint.address}: a drawing could not be read ({type(error).__name__})") from None
    return bytes(content)


def _checked(content: bytes, where: str) -> bytes:
    from data.images.decode import read_image

    try:
        image = read_image(content, max_bytes=MAX_BYTES, max_pixels=MAX_PIXELS)
    except BadImage as error:
        raise MalformedAnswer(f"{where}: an unreadable drawing: {error}") from None
    if image.convert("RGB").getbbox() is None:  # some filters answer with a black image instead of a refusal
        raise MalformedAnswer(f"{where}: a black image, as filters of content return")
    if content.startswith(b"\x89PNG"):
        return content
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


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
