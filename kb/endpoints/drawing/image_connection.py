"""The image generator behind an images API (`[llm.image]`): cache of drawings, retries and cost limit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from data.cache_file import CacheFile
from data.closing import Closing
from data.errors import BadRequest, FieldmarkError, NotCached, Refused, SourceError, UsageError
from data.event_loop import in_background
from data.files import sha256_hex, sha256_of_file, write_atomic
from kb.endpoints.budget import Budget
from kb.endpoints.client import Client
from kb.endpoints.drawing.pictures import items_of, png_of, usage_of
from kb.endpoints.endpoint import Endpoint
from kb.endpoints.retry import RetryPolicy, Tries

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS drawings (
    key TEXT NOT NULL, place INTEGER NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, sha256 TEXT, refusal TEXT,
    stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), PRIMARY KEY (key, place)) WITHOUT ROWID;
"""
_FIND: Final = "SELECT sha256, refusal FROM drawings WHERE key = ? AND place < ? ORDER BY place"
_PUT: Final = "INSERT OR REPLACE INTO drawings (key, place, model, prompt, sha256, refusal) VALUES (?, ?, ?, ?, ?, ?)"
TOKENS_PER_DRAWING: Final = 6_240  # of gpt-image-1 at quality "high", 1024 x 1536; the least reserved for a cost limit
_MOST_AT_ONCE: Final = 100


class DrawingCache(Closing):
    """Drawings in a folder, shared by processes and safe against kills; a context manager, to be closed.

    A row is written after its file is on the disk. A file that was deleted is drawn again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = CacheFile(
            folder / "drawings.sqlite", schema=_SCHEMA, synchronous="FULL", lost="its drawings are made again"
        )

    def get(self, model: str, prompt: str, n: int) -> list[Path]:
        """Return the first `n` drawings of a prompt that are stored, in order, up to the first that is missing.

        Raises:
            Refused: if the model has refused the prompt.
        """
        values = (_key(model, prompt), n)
        rows = self._file.run(lambda db: db.execute(_FIND, values).fetchall())
        found: list[Path] = []
        for sha256, refusal in rows:
            if refusal is not None:
                if found:
                    break  # some were drawn before
                raise Refused(str(refusal))
            path = self._path(str(sha256))
            if not path.is_file() or sha256_of_file(path) != sha256:
                break
            found.append(path)
        return found

    def put(self, model: str, prompt: str, place: int, content: bytes) -> Path:
        """Store a drawing, a PNG file, at its place among those of the prompt, and return its file."""
        path = self._path(sha256_hex(content))
        if not path.is_file() or sha256_of_file(path) != path.stem:
            write_atomic(path, content)
        self._write(model, prompt, place, path.stem, None)
        return path

    def refuse(self, model: str, prompt: str, refusal: str) -> None:
        """Store a refusal: the model would decline again, and may charge again."""
        self._write(model, prompt, 0, None, refusal)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / f"{sha256}.png"

    def _write(self, model: str, prompt: str, place: int, sha256: str | None, refusal: str | None) -> None:
        values = (_key(model, prompt), place, model, prompt, sha256, refusal)
        self._file.run(lambda db: db.execute(_PUT, values))


def _key(model: str, prompt: str) -> str:
    return sha256_hex(f"{model}\n{prompt}")


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
        cache: the stored drawings, closed with the connection.
        budget: the cost limit; by default none, but all cost is counted.
        offline: only the cache may answer.
        fresh: drawings of earlier runs are not used, but replaced.
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
        fresh: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.endpoint, self.name, self.budget = endpoint, endpoint.name, budget or Budget()
        if self.budget.limit_usd is not None and endpoint.drawing_usd(1, 0, 0) is None:
            raise UsageError(
                f"The price of {self.name} is unknown, so a cost limit cannot be enforced.",
                hint="Set price_per_request (US dollars per drawing) of [llm.image], or price_in and price_out.",
            )
        self._client, self._cache, self._is_offline = Client(endpoint, key), cache, offline
        self._tries = Tries(endpoint, retry)
        self._slots: asyncio.Semaphore | None = None
        self._turns: dict[str, asyncio.Lock] = {}
        self._most = _MOST_AT_ONCE
        self._asked_now: set[str] | None = set() if fresh and not offline else None
        """Prompts drawn by this connection; None if drawings of earlier runs are used as well."""

    @property
    def n_retries(self) -> int:
        """Number of retries so far."""
        return self._tries.n_retries

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
        """Close the HTTP connections and the cache."""
        try:
            self._client.close()
        finally:
            self._cache.close()

    async def _drawn(self, prompt: str, n: int) -> Drawings:
        async with self._turns.setdefault(prompt, asyncio.Lock()):  # equal prompts at once are drawn once
            is_used = self._asked_now is None or prompt in self._asked_now
            paths = self._cache.get(self.endpoint.key, prompt, n) if is_used else []
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
                    if self._asked_now is not None:
                        self._asked_now.add(prompt)
            cost = None if None in costs else sum(cost or 0.0 for cost in costs)
            return Drawings(paths=tuple(paths), cost_usd=cost, n_cached=n_cached, problem=problem)

    async def _new(self, prompt: str, n: int) -> tuple[list[bytes], float | None]:
        """Return up to `n` new images as PNG files, at least one, and their cost in US dollars; None if unknown."""
        if self._is_offline:
            raise NotCached(f"No cached drawing of {self.name}.", hint="Run once without --offline.")

        async def one_at_a_time(error: FieldmarkError) -> tuple[list[bytes], float | None] | None:
            if self._most == 1 or n == 1 or not (isinstance(error, BadRequest) and error.may_adapt):
                return None
            found = await self._sent(prompt, 1)
            self._most = 1
            return found

        if self._slots is None:
            self._slots = asyncio.Semaphore(self.endpoint.max_concurrent)
        async with self._slots:
            return await self._tries.result(lambda: self._sent(prompt, min(n, self._most)), one_at_a_time)

    async def _sent(self, prompt: str, n: int) -> tuple[list[bytes], float | None]:
        """Send one request within the cost limit, and count it; the provider charges for unusable images, too."""
        endpoint, meter = self.endpoint, self.budget.meter
        most_in, most_out = len(prompt.encode()) + 16, max(endpoint.image_tokens, TOKENS_PER_DRAWING)
        form = {"response_format": "b64_json"} if endpoint.model.startswith("dall-e-") else {}
        body = {"model": endpoint.model, "prompt": prompt, "n": n, **form, **endpoint.extra_body}
        most_usd = endpoint.drawing_usd(n, most_in, n * most_out) if self.budget.limit_usd is not None else 0.0
        images: list[bytes] = []
        problem: SourceError | None = None
        async with self.budget.reserve(most_usd or 0.0) as paid:
            answer = await self._client.images(body)
            items, (n_in, n_out) = items_of(answer, endpoint.address), usage_of(answer)
            cost = endpoint.drawing_usd(
                len(items), most_in if n_in is None else n_in, len(items) * most_out if n_out is None else n_out
            )
            for item in items[:n]:
                try:
                    images.append(await png_of(item, endpoint))
                except SourceError as error:  # the others count
                    problem = error
            paid.append(cost or 0.0)
        meter.calls += 1
        meter.input_tokens += n_in or 0
        meter.output_tokens += n_out or 0
        meter.unpriced += cost is None
        if not images and problem is not None:
            raise problem  # paid for, and perhaps worth another try
        return images, cost
