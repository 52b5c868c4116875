"""Requirements of a profile's encoders: packages, weights, memory.

Works without torch and the hub's client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from data.contracts import Encoder, Encoders
from recognize.encoders.pretrained.hub_cache import Snapshot, read_snapshot
from recognize.encoders.pretrained.machine import Machine
from recognize.encoders.pretrained.open_clip_models import OpenClipEncoder
from recognize.encoders.pretrained.sentence_models import MINILM, SentenceEncoder, minilm_folder
from recognize.encoders.pretrained.timm_models import TimmEncoder

Role = Literal["text-image", "visual", "sentence"]
Place = Literal["built in", "cached", "package", "folder", "missing"]
Fit = Literal["yes", "when memory is freed", "no", "unknown"]

_HUB: Final = "hf-hub:"
_LOCAL: Final = "local-dir:"
_WEIGHT_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "open_clip": ("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),
    "timm": ("model.safetensors", "pytorch_model.bin"),
    "sentence_transformers": ("model.safetensors", "pytorch_model.bin"),
}
"""Library -> file names of weights; it reads the first that exists."""
PIP_NAMES: Final = {
    "open_clip": "open_clip_torch",
    "timm": "timm",
    "sentence_transformers": "sentence-transformers",
}
"""Library -> name of its package."""

# Measured with torch 2.15 on a CPU (ViT-B/32 of open_clip, ViT-B/14 of timm): imports take 0.77 GB, a model its weights
# plus 0.05 GB, and twice its weights while it is loaded.
_LIBRARIES_BYTES: Final = 800_000_000
_SHIPPED_BYTES: Final = 200_000_000  # the starter's encoders with onnxruntime: measured, 160 MB
_BYTES_A_WEIGHT: Final = {"cpu": 4, "gpu": 2}
_BATCH_BYTES: Final = 2_000_000_000  # activations of 64 pictures on a GPU; an estimate, not measured


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
class EncoderRequirements:
    """Requirements of one encoder."""

    role: Role
    name: str
    package: str | None
    """Package of the library that runs it; None for encoders of Fieldmark."""
    is_installed: bool
    place: Place
    path: str | None = None
    """File or folder of the weights."""
    repository: str | None = None
    """Repository of the weights on the hub."""
    missing: tuple[str, ...] = ()
    """Repositories to download from."""
    disk_bytes: int | None = None
    download_bytes: int | None = None
    """Estimate: four bytes per parameter."""
    begun_bytes: int = 0
    """Bytes of an unfinished download in the cache."""
    parameters: int | None = None
    memory_bytes: int | None = None
    """Memory of the weights on the device; None if unknown."""

    @property
    def is_ready(self) -> bool:
        """Whether it runs without a download."""
        return self.is_installed and self.place != "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequirements:
    """Requirements of a profile."""

    profile: str
    encoders: tuple[EncoderRequirements, ...]
    ram_bytes: int | None
    """Peak memory, while the largest encoder is loaded; None if a size is unknown."""
    gpu_bytes: int | None
    """GPU memory in half precision, with a batch of pictures; 0 without torch."""
    fits: Fit

    @property
    def is_ready(self) -> bool:
        """Whether all encoders run without a download."""
        return all(encoder.is_ready for encoder in self.encoders)

    @property
    def packages(self) -> tuple[str, ...]:
        """Packages that are not installed."""
        return tuple(dict.fromkeys(e.package for e in self.encoders if e.package is not None and not e.is_installed))

    @property
    def download_bytes(self) -> int:
        """Bytes to download, as far as known; the same weights count once."""
        return sum({e.name: e.download_bytes or 0 for e in self.encoders}.values())


def requirements_of(encoders: Encoders, cache: Path, machine: Machine) -> ProfileRequirements:
    """Return the requirements of a profile, without loading a model; `cache` is the folder of the hub's client."""
    roles: list[tuple[Role, Encoder]] = [("text-image", encoder) for encoder in encoders.text_image]
    roles += [("visual", encoders.visual), ("sentence", encoders.sentence)]
    n_bytes = _BYTES_A_WEIGHT["cpu" if machine.device in (None, "cpu") else "gpu"]
    needs = tuple(
        replace(found, memory_bytes=found.parameters and found.parameters * n_bytes)
        for found in (_needs(role, encoder, cache) for role, encoder in roles)
    )
    ram_bytes, gpu_bytes = _memory(needs, machine)
    fits = _fit(ram_bytes, gpu_bytes, machine)
    return ProfileRequirements(
        profile=encoders.profile, encoders=needs, ram_bytes=ram_bytes, gpu_bytes=gpu_bytes, fits=fits
    )


def _needs(role: Role, encoder: Encoder, cache: Path) -> EncoderRequirements:
    for kind, library in (
        (OpenClipEncoder, "open_clip"),
        (TimmEncoder, "timm"),
        (SentenceEncoder, "sentence_transformers"),
    ):
        if isinstance(encoder, kind):
            return _of_library(role, encoder.model, library, cache)
    # The weights of the starter pair ship with it and are shared by its three encoders.
    folder = Path(str(files("recognize.starter") / "weights"))
    return EncoderRequirements(
        role=role,
        name=encoder.name,
        package=None,
        is_installed=True,
        place="built in",
        path=str(folder),
        disk_bytes=sum(file.stat().st_size for file in folder.iterdir() if file.is_file()),
    )


def _of_library(role: Role, model: str, library: str, cache: Path) -> EncoderRequirements:
    published = PUBLISHED.get(model.removeprefix("sentence-transformers/"))
    is_installed = all(find_spec(name) is not None for name in ("torch", library))
    parameters = published.parameters if published else None

    repository = _repository(model, library, published)
    needs = EncoderRequirements(
        role=role, name=model, package=PIP_NAMES[library], is_installed=is_installed, place="missing",
        repository=repository, parameters=parameters,
    )  # fmt: skip

    def found(place: Place, path: Path, size: int) -> EncoderRequirements:
        return replace(needs, place=place, path=str(path), disk_bytes=size, parameters=parameters or size // 4)

    folder = Path(model.removeprefix(_LOCAL))
    if (model.startswith(_LOCAL) or library == "sentence_transformers") and folder.is_dir():
        return found("folder", folder, _size(folder, _WEIGHT_FILES[library]))
    if repository == PUBLISHED[MINILM].repository and (packaged := minilm_folder()) is not None:
        return found("package", packaged, _size(packaged, _WEIGHT_FILES[library]))
    snapshot = read_snapshot(cache, repository) if repository else Snapshot()
    weights = next((snapshot.files[name] for name in _WEIGHT_FILES[library] if name in snapshot.files), None)
    tokenizer = published.tokenizer if published else None
    missing = [repository] if repository and weights is None else []
    if tokenizer and not any(name.startswith("tokenizer") for name in read_snapshot(cache, tokenizer).files):
        missing.append(tokenizer)
    if weights is not None and not missing:
        return found("cached", weights, weights.stat().st_size)
    return replace(
        needs,
        missing=tuple(missing),
        disk_bytes=weights.stat().st_size if weights else None,
        download_bytes=None if parameters is None else 0 if weights else 4 * parameters,
        begun_bytes=snapshot.begun_bytes,
    )


def _repository(model: str, library: str, published: Published | None) -> str | None:
    if published is not None:
        return published.repository
    if model.startswith(_HUB):
        return model.removeprefix(_HUB)
    if library == "sentence_transformers" and not model.startswith(("/", ".")):
        return model if "/" in model else f"sentence-transformers/{model}"
    return None


def _size(folder: Path, names: Sequence[str]) -> int:
    return next((file.stat().st_size for name in names if (file := folder / name).is_file()), 0)


def _memory(needs: Sequence[EncoderRequirements], machine: Machine) -> tuple[int | None, int | None]:
    """Return the bytes of memory and GPU memory of all encoders; the same weights count once."""
    models = {encoder.name: encoder.parameters for encoder in needs if encoder.package is not None}
    if not models:
        return _SHIPPED_BYTES, 0
    sizes = [parameters for parameters in models.values() if parameters is not None]
    if len(sizes) < len(models):
        return None, None
    in_float32 = _BYTES_A_WEIGHT["cpu"]
    if machine.device in (None, "cpu"):  # the largest twice: while it is being loaded
        return _LIBRARIES_BYTES + in_float32 * (sum(sizes) + max(sizes)), 0
    in_half = _BYTES_A_WEIGHT["gpu"]
    return _LIBRARIES_BYTES + in_float32 * 2 * max(sizes), in_half * sum(sizes) + _BATCH_BYTES


def _fit(ram_bytes: int | None, gpu_bytes: int | None, machine: Machine) -> Fit:
    if ram_bytes is None or gpu_bytes is None or machine.ram_bytes is None or machine.ram_free_bytes is None:
        return "unknown"
    needed = [(ram_bytes, machine.ram_bytes, machine.ram_free_bytes)]
    if gpu_bytes and machine.gpu_bytes is not None and machine.gpu_free_bytes is not None:
        needed.append((gpu_bytes, machine.gpu_bytes, machine.gpu_free_bytes))
    if any(need > all_of_it for need, all_of_it, _ in needed):
        return "no"
    return "when memory is freed" if any(need > free for need, _, free in needed) else "yes"
