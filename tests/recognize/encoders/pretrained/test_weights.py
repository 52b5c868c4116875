"""Requirements of encoders, computed without torch: packages, cached weights, memory."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.contracts import Encoders
from recognize.encoders.pretrained.hub_cache import cache_folder, read_snapshot
from recognize.encoders.pretrained.machine import Machine, this_machine
from recognize.encoders.pretrained.open_clip_models import OpenClipEncoder
from recognize.encoders.pretrained.sentence_models import MINILM_PACKAGE, SentenceEncoder
from recognize.encoders.pretrained.timm_models import TimmEncoder
from recognize.encoders.pretrained.weights import PUBLISHED, requirements_of
from recognize.encoders.profiles import load_encoders
from tests.toy.encoders import toy_encoders

REVISION = "f" * 40
CPU = Machine(ram_bytes=16 * 10**9, ram_free_bytes=12 * 10**9)
GPU = replace(CPU, device="cuda", precision="float16", gpu_bytes=8 * 10**9, gpu_free_bytes=6 * 10**9)


def put(cache: Path, repository: str, name: str, size: int) -> Path:
    """Store a file in the layout of the hub's cache: the content under its hash, and a link to it."""
    root = cache / f"models--{repository.replace('/', '--')}"
    content = root / "blobs" / f"{name}-hash"
    link = root / "snapshots" / REVISION / name
    for folder in (content.parent, link.parent, root / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    content.write_bytes(b"x" * size)
    link.symlink_to(content)
    (root / "refs" / "main").write_text(REVISION)
    return link


def requirements_with(encoder: object, cache: Path, machine: Machine = CPU) -> Any:
    """Return the requirements of a profile with one visual or text-image encoder, and of that encoder."""
    toys = toy_encoders()
    is_visual = isinstance(encoder, TimmEncoder)
    profile = Encoders(
        profile="tried",
        text_image=() if is_visual else (encoder,),
        visual=encoder if is_visual else toys.visual,
        sentence=toys.sentence,
    )
    found = requirements_of(profile, cache, machine)
    return found, next(needs for needs in found.encoders if needs.name == encoder.name)


def test_the_bundled_profile_needs_no_download(tmp_path: Path) -> None:
    found = requirements_of(load_encoders("starter"), tmp_path, CPU)
    assert found.is_ready
    assert (found.fits, found.packages, found.download_bytes) == ("yes", (), 0)


def test_a_profile_without_weights_lists_its_downloads(tmp_path: Path) -> None:
    found = requirements_of(load_encoders("paper"), tmp_path / "none", CPU)
    assert not found.is_ready
    openai = found.encoders[0]
    assert (openai.place, openai.missing) == ("missing", ("timm/vit_large_patch14_clip_224.openai",))
    assert openai.download_bytes == 4 * 427_616_513
    siglip = found.encoders[2]
    assert siglip.missing == ("timm/ViT-L-16-SigLIP-256", "timm/ViT-B-16-SigLIP")
    for needs in found.encoders:
        module = {"open_clip_torch": "open_clip"}.get(needs.package, needs.package.replace("-", "_"))
        assert needs.is_installed == all(importlib.util.find_spec(name) for name in ("torch", module))


def test_cached_weights_are_found_with_their_size(tmp_path: Path) -> None:
    link = put(tmp_path, "owner/bird", "open_clip_model.safetensors", 4_000)
    _, needs = requirements_with(OpenClipEncoder("hf-hub:owner/bird"), tmp_path)
    assert (needs.place, needs.path, needs.disk_bytes, needs.parameters) == ("cached", str(link), 4_000, 1_000)
    assert needs.memory_bytes == 4_000
    _, halved = requirements_with(OpenClipEncoder("hf-hub:owner/bird"), tmp_path, GPU)
    assert halved.memory_bytes == 2_000


def test_other_files_of_a_repository_do_not_count_as_weights(tmp_path: Path) -> None:
    put(tmp_path, "owner/bird", "config.json", 10)
    found, needs = requirements_with(TimmEncoder("hf-hub:owner/bird"), tmp_path)
    assert (needs.place, needs.download_bytes, found.ram_bytes, found.fits) == ("missing", None, None, "unknown")


def test_a_broken_link_counts_as_missing(tmp_path: Path) -> None:
    put(tmp_path, "owner/bird", "model.safetensors", 10).resolve().unlink()
    assert requirements_with(TimmEncoder("hf-hub:owner/bird"), tmp_path)[1].place == "missing"


def test_only_files_of_the_main_revision_count(tmp_path: Path) -> None:
    put(tmp_path, "owner/bird", "model.safetensors", 10)
    (tmp_path / "models--owner--bird" / "refs" / "main").write_text("e" * 40)
    assert read_snapshot(tmp_path, "owner/bird").files == {}


def test_an_interrupted_download_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "owner/bird", "config.json", 10)
    (tmp_path / "models--owner--bird" / "blobs" / "abc.incomplete").write_bytes(b"x" * 700)
    assert requirements_with(TimmEncoder("hf-hub:owner/bird"), tmp_path)[1].begun_bytes == 700


def test_a_model_without_its_tokenizer_is_not_ready(tmp_path: Path) -> None:
    published = PUBLISHED["ViT-L-16-SigLIP-256/webli"]
    put(tmp_path, published.repository, "open_clip_model.safetensors", 4_000)
    encoder = OpenClipEncoder("ViT-L-16-SigLIP-256/webli")
    _, needs = requirements_with(encoder, tmp_path)
    assert (needs.place, needs.missing, needs.download_bytes) == ("missing", ("timm/ViT-B-16-SigLIP",), 0)
    put(tmp_path, published.tokenizer, "tokenizer.json", 10)
    assert requirements_with(encoder, tmp_path)[1].place == "cached"


def test_sentence_models_are_found_in_a_folder_and_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.safetensors").write_bytes(b"x" * 40)
    toys = toy_encoders()
    for name, place in ((str(tmp_path / "own"), "folder"), ("owner/words", "cached"), ("unheard-of", "missing")):
        put(tmp_path, "owner/words", "model.safetensors", 40) if name == "owner/words" else None
        profile = Encoders(profile="tried", text_image=(), visual=toys.visual, sentence=SentenceEncoder(name))
        assert requirements_of(profile, tmp_path, CPU).encoders[-1].place == place


@pytest.mark.skipif(importlib.util.find_spec(MINILM_PACKAGE) is not None, reason="it is installed")
def test_minilm_is_found_under_its_full_name(tmp_path: Path) -> None:
    put(tmp_path, "sentence-transformers/all-MiniLM-L6-v2", "model.safetensors", 40)
    assert requirements_of(load_encoders("paper"), tmp_path, CPU).encoders[-1].place == "cached"


def test_memory_is_summed_over_all_encoders_of_a_profile(tmp_path: Path) -> None:
    """On a CPU all weights in float32, the largest twice while it is loaded, plus the libraries."""
    sizes = [published.parameters for name, published in PUBLISHED.items() if name in PAPER]
    found = requirements_of(load_encoders("paper"), tmp_path, CPU)
    assert found.ram_bytes == 4 * (sum(sizes) + max(sizes)) + 800_000_000
    assert requirements_of(load_encoders("paper"), tmp_path, GPU).gpu_bytes == 2 * sum(sizes) + 2_000_000_000


PAPER = (
    "ViT-L-14/openai", "ViT-L-14/laion2b_s32b_b82k", "ViT-L-16-SigLIP-256/webli",
    "vit_large_patch14_dinov2.lvd142m", "all-MiniLM-L6-v2",
)  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "fits"),
    [
        (CPU, "yes"),
        (replace(CPU, ram_free_bytes=10**9), "when memory is freed"),
        (replace(CPU, ram_bytes=8 * 10**9, ram_free_bytes=8 * 10**9), "no"),
        (Machine(), "unknown"),
        (replace(GPU, gpu_free_bytes=10**9), "when memory is freed"),
        (replace(GPU, gpu_bytes=4 * 10**9), "no"),
        (GPU, "yes"),
    ],
)
def test_the_fit_depends_on_total_and_free_memory(machine: Any, fits: str, tmp_path: Path) -> None:
    assert requirements_of(load_encoders("paper"), tmp_path, machine).fits == fits


def test_this_machine_reports_memory_and_with_torch_a_device() -> None:
    machine = this_machine()
    assert machine.ram_bytes > 10**8
    assert machine.ram_free_bytes is None or 0 < machine.ram_free_bytes <= machine.ram_bytes
    assert (machine.device is not None) == (importlib.util.find_spec("torch") is not None)
    assert machine.precision == {None: None, "cpu": "float32"}.get(machine.device, "float16")


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/ada/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/huggingface/hub"),
        ({"HF_HOME": "/hf", "XDG_CACHE_HOME": "/cache"}, "/hf/hub"),
        ({"HF_HUB_CACHE": "/here", "HF_HOME": "/hf"}, "/here"),
    ],
)
def test_the_cache_folder_follows_environment_variables(environment: Any, folder: str) -> None:
    assert cache_folder(environment, Path("/ada")) == Path(folder)
