"""Pictures in the answers of an images API: decoded within limits, and always PNG."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx

from data.errors import BadImage, MalformedAnswer, SourceError, SourceUnavailable
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import shortened

MAX_BYTES: Final = 50 * 2**20
"""Most bytes of one drawing."""
MAX_PIXELS: Final = 50_000_000


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


def usage_of(answer: object) -> tuple[int | None, int | None]:
    """Return the tokens of an answer, of the request and of its images; None where the server does not count them."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    counts = [usage.get(name) if isinstance(usage, Mapping) else None for name in ("input_tokens", "output_tokens")]
    first, second = (n if isinstance(n, int) and n >= 0 else None for n in counts)
    return first, second


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
