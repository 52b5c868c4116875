"""Drawings by a model behind an images API (`[llm.image]`): a cache of files, tries, the cost limit, and PNG files."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from weakref import WeakValueDictionary

from data.errors import (
    BadImage,
    BadRequest,
    FieldmarkError,
    MalformedAnswer,
    NotCached,
    Refused,
    SourceError,
    UsageError,
)
from data.event_loop import in_background
from data.files import Closing, sha256_hex, write_atomic
from kb.endpoints.budget import Budget
from kb.endpoints.client import Client, RetryPolicy, Tries
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.failures import shortened
from kb.http import at_most

TOKENS_PER_DRAWING: Final = 6_240  # of gpt-image-1 at quality "high", 1024 x 1536; the least reserved for a cost limit
MAX_BYTES: Final = 50 * 2**20
"""Most bytes of one drawing."""
TRIES: Final = 3
"""Most requests for the file of one drawing."""
_MOST_AT_ONCE: Final = 100
_REFUSED: Final = b"refused: "  # begins the file of a refusal


class DrawingCache:
    """Drawings in a folder, a file for each, shared by processes and safe against kills.

    A file that was deleted or damaged is drawn again. With `fresh`, files of earlier runs are not read, but replaced.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._written: set[Path] | None = set() if fresh else None

    def get(self, model: str, prompt: str, n: int) -> list[Path]:
        """Return the first `n` drawings of a prompt that are stored, in order, up to the first that is missing.

        Raises:
            Refused: if the model has refused the prompt.
        """
        from data.images.decode import read_image

        found: list[Path] = []
        while len(found) < n:
            path = self._path(model, prompt, len(found))
            if not path.is_file() or (self._written is not None and path not in self._written):
                break
            content = path.read_bytes()
            if content.startswith(_REFUSED):
                raise Refused(content.removeprefix(_REFUSED).decode())
            try:
                read_image(content)
            except BadImage:
                break
            found.append(path)
        return found

    def put(self, model: str, prompt: str, place: int, content: bytes) -> Path:
        """Store a drawing, a PNG file, at its place among those of the prompt, and return its file."""
        path = self._path(model, prompt, place)
        write_atomic(path, content)
        if self._written is not None:
            self._written.add(path)
        return path

    def refuse(self, model: str, prompt: str, refusal: str) -> None:
        """Store the refusal of a prompt: the model would decline again, and may charge again."""
        self.put(model, prompt, 0, _REFUSED + refusal.encode())

    def _path(self, model: str, prompt: str, place: int) -> Path:
        key = sha256_hex(f"{model}\n{place}\n{prompt}")
        return self._folder / key[:2] / f"{key}.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawings:
    """Drawings of a prompt as files, in the order drawn, and their cost in US dollars; None if unknown."""

    paths: tuple[Path, ...]
    cost_usd: float | None = 0.0
    n_cached: int = 0
    problem: FieldmarkError | None = None
    """Why there are fewer than were asked for."""


class ImageConnection(Closing):
    """Draws images of prompts behind `[llm.image]`; a context manager, to be closed.

    Each drawing is stored before the next request, so a kill loses those of one request at most. A server that sends
    fewer images than requested is asked again for the rest, and one that refuses several at a time for one at a time.
    Refusals are stored too. Size, quality and format are fields of the endpoint's `extra_body`; dall-e models are asked
    for base64, since their URLs are on another host.

    Args:
        endpoint: address, model and prices.
        key: the API key; empty for a server without one.
        cache: the stored drawings.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        retry: number and spacing of tries.

    Raises:
        UsageError: if the budget has a limit and the price is unknown.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        key: str = "",
        *,
        cache: DrawingCache,
        budget: Budget | None = None,
        offline: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.endpoint, self.name, self.budget = endpoint, endpoint.name, budget or Budget()
        if self.budget.limit_usd is not None and endpoint.drawing_usd(1, 0, 0) is None:
            raise UsageError(
                f"The price of {self.name} is unknown, so a cost limit cannot be enforced.",
                hint="Set price_per_request (US dollars per drawing) of [llm.image], or price_in and price_out.",
            )
        self._client, self._cache, self._is_offline = Client(endpoint, key, retry), cache, offline
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._most = _MOST_AT_ONCE

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._client.n_retries

    async def draw(self, prompt: str, n: int) -> Drawings:
        """Return `n` drawings of a prompt, or fewer with the problem if not all could be drawn.

        Raises:
            Refused: if the model declines, or declined before, and there is no drawing.
            NotCached: if it is offline and no drawing is stored.
            CostStop: if a drawing could exceed the cost limit; those so far are stored.
            SourceError: if the first request failed for good.
        """
        return await in_background(self._drawn(prompt, n))

    def close(self) -> None:
        """Close the HTTP connections."""
        self._client.close()

    async def _drawn(self, prompt: str, n: int) -> Drawings:
        async with self._turns.setdefault(prompt, asyncio.Lock()):  # equal prompts at once are drawn once
            paths = self._cache.get(self.endpoint.key, prompt, n)
            n_cached, costs = len(paths), list[float | None]()
            problem: FieldmarkError | None = None
            self.budget.meter.cached += n_cached > 0
            while len(paths) < n and problem is None:
                try:
                    images, cost = await self._new(prompt, n - len(paths))
                except (SourceError, NotCached) as error:
                    if isinstance(error, Refused) and not paths:
                        self._cache.refuse(self.endpoint.key, prompt, str(error))
                    if not paths:
                        raise
                    problem = error
                else:
                    costs.append(cost)
                    for content in images:
                        paths.append(self._cache.put(self.endpoint.key, prompt, len(paths), content))
            total = None if None in costs else sum(cost or 0.0 for cost in costs)
            return Drawings(paths=tuple(paths), cost_usd=total, n_cached=n_cached, problem=problem)

    async def _new(self, prompt: str, n: int) -> tuple[list[bytes], float | None]:
        """Return up to `n` new images as PNG files, at least one, and their cost in US dollars; None if unknown."""
        if self._is_offline:
            raise NotCached(f"No cached drawing of {self.name}.", hint="Run once without --offline.")
        tries, n_asked = Tries(), min(n, self._most)
        async with self._client.slots:
            while True:
                await self._client.turn()
                try:
                    found = await self._sent(prompt, n_asked)
                except SourceError as error:
                    if n_asked > 1 and isinstance(error, BadRequest) and error.may_adapt:
                        n_asked = 1
                    else:
                        await self._client.after(error, tries)
                else:
                    self._most = 1 if n_asked < min(n, self._most) else self._most
                    return found

    async def _sent(self, prompt: str, n: int) -> tuple[list[bytes], float | None]:
        """Send one request within the cost limit, and count it; the provider charges for unusable images, too."""
        endpoint = self.endpoint
        most_in, most_out = len(prompt.encode()) + 16, max(endpoint.image_tokens, TOKENS_PER_DRAWING)
        form = {"response_format": "b64_json"} if endpoint.model.startswith("dall-e-") else {}
        body = {"model": endpoint.model, "prompt": prompt, "n": n, **form, **endpoint.extra_body}
        most_usd = endpoint.drawing_usd(n, most_in, n * most_out) if self.budget.limit_usd is not None else 0.0
        images: list[bytes] = []
        problem: SourceError | None = None
        async with self.budget.reserve(most_usd or 0.0):
            answer = await self._client.answer(body)
            items, (n_in, n_out) = _items_of(answer, endpoint.address), _usage_of(answer)
            cost = endpoint.drawing_usd(
                len(items), most_in if n_in is None else n_in, len(items) * most_out if n_out is None else n_out
            )
            for item in items[:n]:
                try:
                    images.append(await _png_of(item, endpoint))
                except SourceError as error:  # the others count
                    problem = error
            self.budget.count(n_in or 0, n_out or 0, cost)
        if not images and problem is not None:
            raise problem  # paid for, and perhaps worth another try
        return images, cost


def _items_of(answer: object, where: str) -> list[Mapping[str, Any]]:
    found = answer.get("data") if isinstance(answer, Mapping) else None
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []
    if not items:
        raise MalformedAnswer(f"{where}: expected images, got {shortened(answer)}")
    return items


def _usage_of(answer: object) -> tuple[int | None, int | None]:
    """Return the tokens of an answer, of the request and of its images; None where the server does not count them."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    counts = [usage.get(name) if isinstance(usage, Mapping) else None for name in ("input_tokens", "output_tokens")]
    first, second = (n if isinstance(n, int) and n >= 0 else None for n in counts)
    return first, second


async def _png_of(item: Mapping[str, Any], endpoint: Endpoint) -> bytes:
    """Return one image of an answer as a PNG file: from base64, a data URL, or a URL on the host of the endpoint.

    Raises:
        MalformedAnswer: if there is none, or it is no image within the limits.
        SourceError: if its URL is on another host, or cannot be read.
    """
    from data.images.decode import read_image

    where, text, url = endpoint.address, item.get("b64_json"), item.get("url")
    source = text or url
    if not isinstance(source, str) or not source:
        raise MalformedAnswer(f"{where}: an image without b64_json and url")
    if source == url and not url.startswith("data:"):
        content = await _fetched(urljoin(f"{endpoint.base_url.rstrip('/')}/", url), endpoint)
    else:
        try:  # an answer has at most 64 MiB
            content = base64.b64decode(source.partition(",")[2] or source, validate=True)
        except (binascii.Error, ValueError):
            raise MalformedAnswer(f"{where}: an image that is not base64") from None
    try:
        image = read_image(content, max_bytes=MAX_BYTES)
    except BadImage as error:
        raise MalformedAnswer(f"{where}: an unreadable drawing: {error}") from None
    if image.convert("RGB").getbbox() is None:  # some filters answer with a black image instead of a refusal
        raise MalformedAnswer(f"{where}: a black image, as filters of content return")
    if content.startswith(b"\x89PNG"):
        return content
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


async def _fetched(url: str, endpoint: Endpoint) -> bytes:
    """Return the content of a URL, without our key, redirects and proxies; all tries end with the endpoint's timeout.

    The errors are final: another request would be paid for.
    """
    import httpx

    at, own = urlsplit(url), urlsplit(endpoint.base_url)
    if at.scheme not in ("http", "https") or at.hostname != own.hostname:
        raise SourceError(
            f"{endpoint.address}: its drawing is at another host, {at.hostname}",
            hint='Set extra_body = {response_format = "b64_json"} of [llm.image].',
        )
    hooks = {"response": [at_most(MAX_BYTES, httpx.AsyncClient)]}
    why = ""
    try:
        async with (
            asyncio.timeout(endpoint.timeout),
            httpx.AsyncClient(timeout=None, trust_env=False, event_hooks=hooks) as client,
        ):
            for n_failed in range(TRIES):
                await asyncio.sleep(n_failed / 2)
                try:
                    response = await client.get(url)
                except httpx.RequestError as error:
                    why = f"not reachable ({type(error).__name__})"
                else:
                    if response.status_code == 200:
                        return response.content
                    why = f"status {response.status_code}"
    except TimeoutError:
        why = f"not complete within {endpoint.timeout:g} s"
    except (httpx.InvalidURL, MalformedAnswer) as error:
        why = str(error)
    raise SourceError(f"{endpoint.address}: a drawing could not be downloaded: {why}")
