"""Drawings as stored PNG files, by a model behind an images API (`[llm.image]`) or by diffusers on this machine."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from data.errors import (
    BadImage,
    FieldmarkError,
    MalformedAnswer,
    MissingDependency,
    MissingRequirement,
    NotCached,
    Refused,
    SourceError,
)
from data.event_loop import in_background
from data.files import file_state, sha256_hex
from data.records import Drawings
from kb.endpoints.answer import tokens_of
from kb.endpoints.cache import DrawingCache
from kb.endpoints.client import Client
from kb.endpoints.failures import shortened

TOKENS_PER_DRAWING: Final = 6_240  # of gpt-image-1 at quality "high", 1024 x 1536; the least reserved for a cost limit
MAX_BYTES: Final = 50 * 2**20
"""Most bytes of one drawing."""
Made = tuple[list[Path], float | None]
"""New drawings, stored, at least one, and their cost in US dollars; None if unknown."""


async def _drawings(
    cache: DrawingCache, model: str, prompt: str, n: int, make: Callable[[int, int], Awaitable[Made]]
) -> Drawings:
    """Return `n` drawings of a prompt, or fewer with the problem.

    `make(place, n)` makes up to `n` new ones, of which the first is number `place` of the prompt. A refusal without
    any drawing is stored, too.
    """
    paths = cache.get(model, prompt, n)
    n_cached, costs = len(paths), list[float | None]()
    problem: FieldmarkError | None = None
    while len(paths) < n and problem is None:
        try:
            new, cost = await make(len(paths), n - len(paths))
        except (SourceError, NotCached) as error:
            if isinstance(error, Refused) and not paths:
                cache.refuse(model, prompt, str(error))
            if not paths:
                raise
            problem = error
        else:
            costs.append(cost)
            paths += new
    total = None if None in costs else sum(cost or 0.0 for cost in costs)
    return Drawings(paths=tuple(paths), cost_usd=total, n_cached=n_cached, problem=problem)


# an images API


class ImageConnection(Client):
    """Draws images of prompts behind `[llm.image]`.

    Each answer is stored before the next request, so a kill loses the drawings of one request at most. A server that
    sends fewer images than requested is asked again for the rest, and one that refuses several at a time for one at a
    time. Size, quality and format are fields of the endpoint's `extra_body`. Base64 is asked for, since many servers
    send addresses otherwise, until a server refuses that. It needs a cache.
    """

    path = "images/generations"
    _drawings = 1
    _cache: DrawingCache
    _most = 100  # at once

    def _begin(self) -> None:
        self._forms: tuple[Mapping[str, str], ...] = ({"response_format": "b64_json"}, {})
        if "response_format" in self.endpoint.extra_body:
            self._forms = ({},)

    async def draw(self, prompt: str, n: int) -> Drawings:
        """Return `n` drawings of a prompt, or fewer with the problem if not all could be drawn.

        Raises:
            CostStop: if a drawing could exceed the cost limit; those so far are stored.
            NotCached, Refused, SourceError: without any drawing, as `Connection.reply`.
        """
        self.check_process()
        return await in_background(self._drawn(prompt, n))

    async def _drawn(self, prompt: str, n: int) -> Drawings:
        async with self._turns.setdefault(prompt, asyncio.Lock()):  # equal prompts at once are drawn once
            await self.settled(prompt)
            found = await _drawings(self._cache, self.endpoint.key, prompt, n, partial(self._new, prompt))
            self.budget.meter.cached += found.n_cached > 0
            return found

    async def _new(self, prompt: str, place: int, n: int) -> Made:
        if self._is_offline:
            raise NotCached(f"No cached drawing of {self.name}.", hint="Run once without --offline.")
        n_faults = 0

        async def attempt() -> Made:
            nonlocal n_faults
            most = min(n, self._most)
            failure: FieldmarkError
            for form, each in [(form, each) for form in self._forms for each in dict.fromkeys((most, 1))]:
                try:
                    made = await self.paid(self._sent(prompt, place, each, form), prompt)
                except FieldmarkError as error:
                    failure = error
                    n_faults += error.retryable
                    if not error.may_adapt or (error.retryable and n_faults == 1):  # it may pass
                        raise
                    continue
                if not n_faults:
                    self._forms, self._most = (form,), each if each < most else self._most
                return made
            raise failure

        async with self._slots:
            return await self.tried(attempt)

    async def _sent(self, prompt: str, place: int, n: int, form: Mapping[str, str]) -> Made:
        """Send one request within the cost limit; count and store its drawings. Unusable ones are charged, too."""
        endpoint = self.endpoint
        most_in, most_out = len(prompt.encode()) + 16, max(endpoint.image_tokens, TOKENS_PER_DRAWING)
        body = {"model": endpoint.model, "prompt": prompt, "n": n, **form, **endpoint.extra_body}
        await self.free()
        async with self.budget.reserve(endpoint.cost_usd(most_in, n * most_out, drawings=n) or 0.0):
            answer = await self.answer(body)
            data = answer.get("data") if isinstance(answer, Mapping) else None
            items = [item for item in data if isinstance(item, Mapping)] if isinstance(data, list) else []
            if not items:
                raise MalformedAnswer(f"{endpoint.address}: expected images, got {shortened(answer)}")
            n_in, n_out = tokens_of(answer, "input_tokens", "output_tokens")
            cost = endpoint.cost_usd(n_in or most_in, n_out or len(items) * most_out, drawings=len(items))
            self.budget.count(n_in, n_out, cost)
        paths, problem = list[Path](), None
        for item in items[:n]:
            try:
                png = self._png_of(item)
            except SourceError as error:  # the others count
                problem = error
            else:
                paths.append(self._cache.put(endpoint.key, prompt, place + len(paths), png))
        if not paths and problem is not None:
            raise problem  # paid for, and perhaps worth another try
        return paths, cost

    def _png_of(self, item: Mapping[str, Any]) -> bytes:
        """Return one image of an answer as a PNG file, from base64 or a data URL.

        Raises:
            MalformedAnswer: if it is no image within the limits.
            SourceError: if it is elsewhere; another drawing would be, too, and would be paid for.
        """
        from data.images.decode import read_image

        where, url = self.endpoint.address, item.get("url")
        source = item.get("b64_json") or url
        if not isinstance(source, str) or not source:
            raise MalformedAnswer(f"{where}: an image without b64_json")
        if source == url and not source.startswith("data:"):
            raise SourceError(
                f"{where}: sends the address of a drawing, not the drawing",
                hint="Set extra_body = {response_format = ...} of [llm.image] to the server's word for base64.",
            )
        try:  # an answer has at most 64 MiB
            content = base64.b64decode(source.partition(",")[2] or source, validate=True)
        except ValueError:
            raise MalformedAnswer(f"{where}: an image that is not base64") from None
        try:
            image = read_image(content, max_bytes=MAX_BYTES)
        except BadImage as error:
            raise MalformedAnswer(f"{where}: an unreadable drawing: {error}") from None
        if image.convert("RGB").getbbox() is None:  # some filters answer with a black image instead of a refusal
            raise MalformedAnswer(f"{where}: a black image, as filters of content return")
        return content if content.startswith(b"\x89PNG") else _png(image)


# diffusers


class PipelineImages:
    """Draws images of prompts by a model of diffusers on this machine.

    Drawing number i has the random seed `seed` + i, so that a resumed run equals an uninterrupted one. The model loads
    with the first drawing that is not stored; diffusers downloads missing weights, unless `HF_HUB_OFFLINE` is set.

    Args:
        model: a name on the hub, or a folder.
        cache: the stored drawings.
        seed: the random seed of the first drawing of a prompt.
        arguments: arguments of the pipeline, such as `num_inference_steps`.

    Raises:
        MissingDependency: if diffusers or torch is not installed.
    """

    def __init__(
        self, model: str, *, cache: DrawingCache, seed: int = 0, arguments: Mapping[str, Any] | None = None
    ) -> None:
        self._model, self._cache, self._seed, self._arguments = model, cache, seed, dict(arguments or {})
        self._diffusers, self._torch = _require("diffusers"), _require("torch")
        parts = (_identity(model), f"seed {seed}", json.dumps(self._arguments, sort_keys=True, default=str))
        self.name = f"diffusers {' '.join(parts)}"
        self._turn = asyncio.Lock()
        self._pipeline: Any = None

    async def draw(self, prompt: str, n: int) -> Drawings:
        """Return `n` drawings of a prompt, or fewer with the problem where the model's filter removes one.

        Raises:
            Refused: if the filter removes the first.
            MissingRequirement: if the model cannot be loaded.
        """
        return await in_background(self._drawn(prompt, n))

    async def _drawn(self, prompt: str, n: int) -> Drawings:
        async def make(place: int, _n: int) -> Made:
            drawing = await asyncio.to_thread(self._drawing, prompt, self._seed + place)
            return [self._cache.put(self.name, prompt, place, drawing)], 0.0

        async with self._turn:
            return await _drawings(self._cache, self.name, prompt, n, make)

    def _drawing(self, prompt: str, seed: int) -> bytes:
        if self._pipeline is None:
            self._pipeline = self._loaded()
        generator = self._torch.Generator("cpu").manual_seed(seed)
        made = self._pipeline(prompt, generator=generator, **self._arguments)
        if any(getattr(made, "nsfw_content_detected", None) or ()):  # a black image in its place
            raise Refused(f"{self._model}: its filter removed a drawing")
        return _png(made.images[0])

    def _loaded(self) -> Any:  # noqa: ANN401  # diffusers has no useful types
        torch = self._torch
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        precision = torch.float32 if device == "cpu" else torch.bfloat16
        try:
            pipeline = self._diffusers.DiffusionPipeline.from_pretrained(self._model, dtype=precision).to(device)
        except Exception as error:  # diffusers, the hub's client and torch share no class of errors
            raise MissingRequirement(
                f"The model {self._model} cannot be loaded: {type(error).__name__}: {error}",
                hint="Set visret.model to a model of diffusers; check the network and HF_HUB_OFFLINE.",
            ) from error
        pipeline.set_progress_bar_config(disable=True)
        return pipeline


def _identity(model: str) -> str:
    """Return the name of a model; for a folder with a hash of its files' sizes and times."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    states = [(str(path.relative_to(folder)), file_state(path)) for path in sorted(folder.rglob("*"))]
    return f"{folder.name} {sha256_hex(repr(states))[:12]}"


def _require(module: str) -> Any:  # noqa: ANN401
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency(module, extra="draw") from error


def _png(image: Any) -> bytes:  # noqa: ANN401  # of Pillow, which is imported late
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
