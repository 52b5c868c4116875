"""Packages and weights that the encoders of a profile need, found without torch and without loading them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from data.contracts import Encoder, Encoders
from recognize.encoders.loading import TorchEncoder
from recognize.encoders.sentence_models import MINILM, SentenceEncoder, minilm_folder
from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder

_HUB: Final = "hf-hub:"
_LOCAL: Final = "local-dir:"
# Measured with torch 2.15 on a CPU: imports take 0.77 GB, a model its weights, and twice its weights while it loads.
_LIBRARIES_BYTES: Final = 800_000_000
_SHIPPED_BYTES: Final = 200_000_000  # the starter's encoders with onnxruntime: measured, 160 MB
_LIBRARIES: Final[Mapping[type, tuple[str, str]]] = {
    OpenClipEncoder: ("open_clip", "open_clip_torch"),
    TimmEncoder: ("timm", "timm"),
    SentenceEncoder: ("sentence_transformers", "sentence-transformers"),
    TorchEncoder: ("transformers", "transformers"),
}
"""Kind of encoder -> its library, and the package of that."""
_OPEN_CLIP_FILES: Final = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_OTHER_FILES: Final = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                       "pytorch_model.bin.index.json")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Published weights."""

    repository: str
    parameters: int
    tokenizer: str | None = None
    """Repository of the tokenizer, if another one."""


PUBLISHED: Final[Mapping[str, Published]] = {
    "ViT-L-14/openai": Published(repository="timm/vit_large_patch14_clip_224.openai", parameters=427_616_513),
    "ViT-L-14/laion2b_s32b_b82k": Published(repository="laion/CLIP-ViT-L-14-laion2B-s32B-b82K", parameters=427_616_513),
    "ViT-L-16-SigLIP-256/webli": Published(
        repository="timm/ViT-L-16-SigLIP-256", parameters=652_150_786, tokenizer="timm/ViT-B-16-SigLIP"
    ),
    "ViT-L-16-SigLIP2-384/webli": Published(repository="timm/ViT-L-16-SigLIP2-384", parameters=881_854_466),
    "hf-hub:imageomics/bioclip-2": Published(repository="imageomics/bioclip-2", parameters=427_616_513),
    "vit_large_patch14_dinov2.lvd142m": Published(
        repository="timm/vit_large_patch14_dinov2.lvd142m", parameters=304_367_616
    ),
    "vit_large_patch16_dinov3.lvd1689m": Published(
        repository="timm/vit_large_patch16_dinov3.lvd1689m", parameters=303_079_424
    ),
    MINILM: Published(repository=f"sentence-transformers/{MINILM}", parameters=22_713_216),
}
"""Models of the built-in profiles -> repository and number of parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderWeights:
    """Package and weights of one encoder."""

    role: Literal["text-image", "visual", "sentence"]
    name: str
    package: str | None = None
    """Package of the library that runs it; None for encoders of Fieldmark."""
    is_installed: bool = True
    place: Literal["built in", "cached", "package", "folder", "missing"]
    path: str | None = None
    """File or folder of the weights."""
    missing: tuple[str, ...] = ()
    """Repositories to download from."""
    disk_bytes: int | None = None
    download_bytes: int | None = None
    """Estimate: four bytes per parameter."""

    @property
    def is_ready(self) -> bool:
        """Whether it runs without a download."""
        return self.is_installed and self.place != "missing"


def weights_of(encoders: Encoders, cache: Path) -> list[EncoderWeights]:
    """Return package and weights of each encoder of a profile; `cache` is the folder of the hub's client."""
    found = [_weights("text-image", encoder, cache) for encoder in encoders.text_image]
    return [*found, _weights("visual", encoders.visual, cache), _weights("sentence", encoders.sentence, cache)]


def memory_bytes(weights: Sequence[EncoderWeights]) -> int | None:
    """Return the peak memory of a profile on a CPU, while its largest model loads; None if a size is unknown."""
    sizes = {each.name: each.disk_bytes or each.download_bytes for each in weights if each.package is not None}
    if not sizes:
        return _SHIPPED_BYTES
    known = [size for size in sizes.values() if size]
    return _LIBRARIES_BYTES + sum(known) + max(known) if len(known) == len(sizes) else None


def hub_cache() -> Path:
    """Return the cache folder of the hub's client, from its environment variables."""
    variables = (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    )
    for name, below in variables:
        if folder := os.environ.get(name):
            return Path(folder).expanduser() / below
    return Path.home() / ".cache" / "huggingface" / "hub"


def _weights(role: Literal["text-image", "visual", "sentence"], encoder: Encoder, cache: Path) -> EncoderWeights:
    if not isinstance(encoder, TorchEncoder):
        folder = Path(str(files("recognize.starter") / "weights"))  # shared by the encoders that ship
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        return EncoderWeights(role=role, name=encoder.name, place="built in", path=str(folder), disk_bytes=size)
    model = encoder.model
    library, package = next(names for kind, names in _LIBRARIES.items() if isinstance(encoder, kind))
    published = PUBLISHED.get(model.removeprefix("sentence-transformers/"))
    repository = published.repository if published else _repository(model, library)
    is_installed = all(find_spec(name) is not None for name in ("torch", library))

    def found(place: Literal["cached", "package", "folder"], path: Path, files: Sequence[Path]) -> EncoderWeights:
        return EncoderWeights(
            role=role, name=model, package=package, is_installed=is_installed, place=place, path=str(path),
            disk_bytes=_size(files),
        )  # fmt: skip

    folder = Path(model.removeprefix(_LOCAL))
    if folder.is_dir():
        return found("folder", folder, _weight_files(folder, library))
    if repository == PUBLISHED[MINILM].repository and (packaged := minilm_folder()) is not None:
        return found("package", packaged, _weight_files(packaged, library))
    weights = _weight_files(_snapshot(cache, repository), library) if repository else []
    missing = [repository] if repository and not weights else []
    tokenizer = published.tokenizer if published else None
    if tokenizer and not any(_snapshot(cache, tokenizer).glob("tokenizer*")):
        missing.append(tokenizer)
    if weights and not missing:
        return found("cached", weights[0], weights)
    return EncoderWeights(
        role=role, name=model, package=package, is_installed=is_installed, place="missing", missing=tuple(missing),
        disk_bytes=_size(weights) if weights else None,
        download_bytes=0 if weights else 4 * published.parameters if published else None,
    )  # fmt: skip


def _repository(model: str, library: str) -> str | None:
    if model.startswith(_HUB):
        return model.removeprefix(_HUB)
    if library == "transformers" or (library == "sentence_transformers" and "/" in model.lstrip("./")):
        return model
    return f"sentence-transformers/{model}" if library == "sentence_transformers" else None


def _snapshot(cache: Path, repository: str) -> Path:
    """Return the folder of the main revision of a repository, which may not exist."""
    root = cache / f"models--{repository.replace('/', '--')}"
    main = root / "refs" / "main"
    return root / "snapshots" / (main.read_text(encoding="utf-8").strip() if main.is_file() else "none")


def _weight_files(folder: Path, library: str) -> list[Path]:
    """Return the file of the weights that a library reads, or an index and its shards; empty if one is missing."""
    for name in _OPEN_CLIP_FILES if library == "open_clip" else _OTHER_FILES:
        files = [folder / name]
        if name.endswith(".index.json") and files[0].is_file():
            shards = json.loads(files[0].read_bytes())["weight_map"].values()
            files += sorted(folder / shard for shard in set(shards))
        if all(file.is_file() for file in files):
            return files
    return []


def _size(files: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files)
