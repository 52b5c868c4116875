"""Drawings by a pipeline of diffusers on this machine, stored like those of an images API."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from data.errors import FieldmarkError, MissingDependency, MissingRequirement, Refused
from data.files import file_state, sha256_hex
from kb.endpoints.images import DrawingCache, Drawings

EXTRA: Final = "draw"


class PipelineImages:
    """Draws images of prompts by a model on this machine.

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
        _require("diffusers")
        _require("torch")
        parts = (_identity(model), f"seed {seed}", json.dumps(self._arguments, sort_keys=True, default=str))
        self.name = f"diffusers {' '.join(parts)}"
        self._turn = threading.Lock()
        self._pipeline: Any = None

    async def draw(self, prompt: str, n: int) -> Drawings:
        """Return `n` drawings of a prompt, or fewer with the problem where the model's filter removes one.

        Raises:
            Refused: if the filter removes all of them.
            MissingRequirement: if the model cannot be loaded.
        """
        return await asyncio.to_thread(self._drawings, prompt, n)

    def _drawings(self, prompt: str, n: int) -> Drawings:
        with self._turn:
            paths = self._cache.get(self.name, prompt, n)
            n_cached = len(paths)
            problem: FieldmarkError | None = None
            while len(paths) < n and problem is None:
                content = self._png(prompt, self._seed + len(paths))
                if content is None:
                    problem = Refused(f"{self._model}: its filter removed a drawing")
                else:
                    paths.append(self._cache.put(self.name, prompt, len(paths), content))
        if problem is not None and not paths:
            raise problem
        return Drawings(paths=tuple(paths), n_cached=n_cached, problem=problem)

    def _png(self, prompt: str, seed: int) -> bytes | None:
        """Return a drawing as a PNG file; None where the model's filter left a black image in its place."""
        if self._pipeline is None:
            self._pipeline = _loaded(self._model)
        generator = _require("torch").Generator("cpu").manual_seed(seed)
        made = self._pipeline(prompt, generator=generator, **self._arguments)
        if any(getattr(made, "nsfw_content_detected", None) or ()):
            return None
        out = io.BytesIO()
        made.images[0].save(out, "PNG")
        return out.getvalue()


def _loaded(model: str) -> Any:  # noqa: ANN401  # diffusers has no useful types
    torch, diffusers = _require("torch"), _require("diffusers")
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    precision = torch.float32 if device == "cpu" else torch.bfloat16
    try:
        pipeline = diffusers.DiffusionPipeline.from_pretrained(model, dtype=precision).to(device)
    except Exception as error:  # diffusers, the hub's client and torch share no class of errors
        raise MissingRequirement(
            f"The model {model} cannot be loaded: {type(error).__name__}: {error}",
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
        raise MissingDependency(module, extra=EXTRA) from error
