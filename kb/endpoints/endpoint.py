"""One endpoint: address, model, prices and limits; and the cost limit that several of them share."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from annotated_types import Ge, Gt

from data.errors import ConfigError, CostStop, FieldmarkError, MalformedAnswer, Refused, ReplyLost, UsageError
from data.files import sha256_hex
from kb.addresses import is_loopback, split_address

if TYPE_CHECKING:
    import asyncio

OURS: Final = frozenset({"messages", "model", "stream", "n", "max_tokens", "max_completion_tokens"})
"""Fields of a request that `extra_body` may not hold."""
_SHORTEST_KEY: Final = 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an OpenAI-compatible server; the fields are the keys of a table `[llm.*]` of `fieldmark.toml`."""

    model: str
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str | None = None
    """Environment variable that holds the API key; the key itself is never written to a file."""
    price_in: Annotated[float, Ge(0)] | None = None
    """US dollars per million input tokens; 0 for your own server."""
    price_out: Annotated[float, Ge(0)] | None = None
    price_per_request: Annotated[float, Ge(0)] = 0.0
    """US dollars per request; of `[llm.image]` per drawing, where the token prices may be left out."""
    max_concurrent: Annotated[int, Ge(1)] = 8
    timeout: Annotated[float, Gt(0)] = 120.0
    """Seconds for one try, from the request to the last byte of the reply."""
    max_wait: Annotated[float, Ge(0)] = 300.0
    """Most seconds that a request waits in all for a server that is busy or loads its model."""
    stream: bool = False
    """Ask for replies piece by piece, for servers that send no others."""
    image_tokens: Annotated[int, Ge(1)] = 2000
    """Most tokens per image; only used for the cost limit."""
    image_px: Annotated[int, Ge(1)] = 1024
    """Longest side of an image in pixels; the reader scales photos down to it."""
    max_tokens: Annotated[int, Ge(1)] | None = None
    """Tokens of the first try, reasoning included; as many as the task needs by default. A reply that is cut off is
    asked for again with up to 32,768 more, and with fewer where the server refuses so many."""
    reasoning_effort: str | None = None
    """Effort of a model that reasons first, in the words of its provider: `low`, `medium`, `high`, `none`."""
    extra_body: Mapping[str, object] = field(default_factory=dict)
    """More fields of every request, such as `{chat_template_kwargs = {enable_thinking = false}}`."""

    def __post_init__(self) -> None:
        parts = split_address(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or self.base_url.split() != [self.base_url]:
            raise ConfigError("base_url: expected an address that begins with http:// or https://")
        if parts.username or parts.password or parts.query or parts.fragment:
            # Addresses are logged, and so would be a key in one.
            raise ConfigError(
                "base_url: expected an address without user, password and query", hint="Set api_key_env for a key."
            )
        if self.api_key_env is not None and not _is_variable(self.api_key_env):
            # Not repeated: it may be the key itself.
            raise ConfigError(
                "api_key_env: expected the name of an environment variable, got something else",
                hint='Put the key into a variable and its name here: export MY_KEY=...; api_key_env = "MY_KEY".',
            )
        if not self.model:
            raise ConfigError("model: expected the name of a model, got an empty text")
        if taken := sorted(OURS & set(self.extra_body)):
            raise ConfigError(f"extra_body: {', '.join(taken)} cannot be set there")

    @property
    def name(self) -> str:
        """The identity of a model's replies, without secrets: `gpt-5@api.openai.com (reasoning_effort=low)`.

        Part of the keys of summaries and runs: with the settings that change replies, where they are not the defaults.
        A loopback address has no port here: the same local server may use another port tomorrow. Replies are cached by
        `key`, which has it.
        """
        host = urlsplit(self.base_url).hostname or ""
        listed = [] if self.reasoning_effort is None else [f"reasoning_effort={self.reasoning_effort}"]
        if self.extra_body:
            listed.append(f"extra_body={sha256_hex(json.dumps(dict(self.extra_body), sort_keys=True))[:12]}")
        model = f"{self.model}@{host}" if is_loopback(host) else self.address
        return f"{model} ({', '.join(listed)})" if listed else model

    @property
    def key(self) -> str:
        """The identity of a model's replies with the whole address; part of the keys of cached replies."""
        return f"{self.base_url.rstrip('/')} {self.name}"

    @property
    def thinks(self) -> bool:
        """Whether the model may reason before it answers: no setting turns that off."""
        template = self.extra_body.get("chat_template_kwargs")
        template = template if isinstance(template, Mapping) else {}
        return self.reasoning_effort != "none" and False not in (
            template.get("enable_thinking"), template.get("thinking")
        )  # fmt: skip

    @property
    def address(self) -> str:
        """Model and provider with the port, for error messages: `llama@127.0.0.1:8000`."""
        return f"{self.model}@{urlsplit(self.base_url).netloc}"

    def cost_usd(self, input_tokens: int, output_tokens: int, *, drawings: int = 0) -> float | None:
        """Return the cost of one request in US dollars; None if the price of tokens, or of drawings, is unknown.

        Each of several drawings costs `price_per_request`, which is price enough without that of tokens.

        Example:
            >>> Endpoint(model="m", price_in=2.5, price_out=10).cost_usd(1_000_000, 100_000)
            3.5
        """
        requests_usd = self.price_per_request * max(drawings, 1)
        if self.price_in is None or self.price_out is None:
            return requests_usd or None if drawings else None
        return (input_tokens * self.price_in + output_tokens * self.price_out) / 1_000_000 + requests_usd


def _is_variable(name: str) -> bool:
    """Return whether a text is the name of an environment variable; a long one is a key by its letters and digits."""
    is_mixed = name not in (name.upper(), name.lower())
    is_numbered = any(letter.isdigit() for letter in name) and (name.upper() != name or "_" not in name)
    return name.isidentifier() and not (len(name) >= _SHORTEST_KEY and (is_mixed or is_numbered))


@dataclass(slots=True)
class Meter:
    """Calls, tokens and cost of a run so far."""

    calls: int = 0
    """Replies from a provider."""
    cached: int = 0
    """Replies from the cache."""
    input_tokens: int = 0
    output_tokens: int = 0
    spent_usd: float = 0.0
    unsure_usd: float = 0.0
    """Upper bound for requests that got no reply but may be charged; counts against the limit."""
    unpriced: int = 0
    """Replies of models without a known price."""
    cut_off: int = 0
    """Replies that ended at their limit of tokens; they were asked for again with more."""


class Budget:
    """A cost limit shared by several models, never exceeded, however many requests run at once.

    A request that does not fit waits for those in flight; with none in flight, the limit is reached. A limit of None
    only counts.
    """

    def __init__(self, limit_usd: float | None = None) -> None:
        if limit_usd is not None and not limit_usd >= 0:
            raise UsageError(f"Expected a cost limit of 0 US dollars or more, got {limit_usd}.")
        self.limit_usd = limit_usd
        self.meter = Meter()
        self.is_exhausted = False
        """Whether a request was not sent, since it could have exceeded the limit."""
        self._reserved_usd = 0.0
        self._in_flight = 0
        self._settled: asyncio.Event | None = None
        """Set when a request in flight is settled, for the waiting ones."""

    @property
    def counted_usd(self) -> float:
        """Cost that counts against the limit, without reservations."""
        return self.meter.spent_usd + self.meter.unsure_usd

    @asynccontextmanager
    async def reserve(self, most_usd: float) -> AsyncIterator[None]:
        """Reserve `most_usd` as soon as it fits, for a block that counts the real cost; only in the shared event loop.

        A block that raises counts as the whole reservation, unless the provider surely never accepted the request, or
        declined and stated its tokens.

        Raises:
            CostStop: if it can no longer fit.
        """
        import asyncio  # late, for `kb --help`

        while self.limit_usd is not None and self.counted_usd + self._reserved_usd + most_usd > self.limit_usd:
            if not self._in_flight:
                self.is_exhausted = True
                raise CostStop(
                    f"Cost limit reached: the next request could cost up to ${most_usd:.4f}, and "
                    f"${self.counted_usd:.4f} of ${self.limit_usd:g} are spent.",
                    hint="All replies so far are cached. Run the same command with a higher --max-cost to continue.",
                )
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
        self._reserved_usd += most_usd
        self._in_flight += 1
        try:
            yield
        except BaseException as error:
            if isinstance(error, Refused) and error.has_usage:
                self.count(error.input_tokens, error.output_tokens, error.cost_usd)
            elif not isinstance(error, FieldmarkError) or isinstance(error, Refused | ReplyLost | MalformedAnswer):
                self.meter.calls += isinstance(error, Refused)
                self.meter.unsure_usd += most_usd
            raise
        finally:
            self._in_flight -= 1
            # Exactly zero with nothing in flight: rounding errors would add up.
            self._reserved_usd = self._reserved_usd - most_usd if self._in_flight else 0.0
            if self._settled is not None:
                self._settled.set()
                self._settled = None

    def count(self, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
        """Count a reply."""
        meter = self.meter
        meter.calls += 1
        meter.input_tokens += input_tokens
        meter.output_tokens += output_tokens
        meter.spent_usd += cost_usd or 0.0
        meter.unpriced += cost_usd is None
