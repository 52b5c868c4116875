"""Drawings by a real pipeline of diffusers with tiny random weights: seeds, cache, and unknown models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from data.errors import MissingRequirement
from kb.endpoints.cache import DrawingCache
from kb.endpoints.images import PipelineImages

ARGUMENTS = {"num_inference_steps": 1, "height": 32, "width": 32}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Stable Diffusion pipeline of a few thousand random weights."""
    diffusers = pytest.importorskip(
        "diffusers", reason="diffusers of the extra `draw` is not installed (CI installs it)"
    )
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("pipeline")
    letters = {letter: i for i, letter in enumerate(["<|startoftext|>", "<|endoftext|>", *"abcdefghij", "a</w>"])}
    (folder / "vocab.json").write_text(json.dumps(letters))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    text = transformers.CLIPTextConfig(
        hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=1, vocab_size=len(letters),
        bos_token_id=0, eos_token_id=1, pad_token_id=1, max_position_embeddings=16,
    )  # fmt: skip
    blocks: dict[str, Any] = {"block_out_channels": (32, 64), "layers_per_block": 1}
    pipeline = diffusers.StableDiffusionPipeline(
        unet=diffusers.UNet2DConditionModel(
            sample_size=8, in_channels=4, out_channels=4, cross_attention_dim=32, norm_num_groups=8,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=8, **blocks,
        ),
        vae=diffusers.AutoencoderKL(
            latent_channels=4, norm_num_groups=8, down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2, **blocks,
        ),
        scheduler=diffusers.DDIMScheduler(steps_offset=1, clip_sample=False),
        text_encoder=transformers.CLIPTextModel(text),
        tokenizer=transformers.CLIPTokenizer(
            str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16
        ),
        safety_checker=None, feature_extractor=None, requires_safety_checker=False,
    )  # fmt: skip
    pipeline.save_pretrained(folder / "model")
    return folder / "model"


def drawn(model: Path, home: Path, n: int, *, seed: int = 0) -> list[bytes]:
    images = PipelineImages(str(model), cache=DrawingCache(home), seed=seed, arguments=ARGUMENTS)
    found = asyncio.run(images.draw("a bad cab", n))
    assert found.problem is None and found.cost_usd == 0
    return [path.read_bytes() for path in found.paths]


def test_drawings_are_seeded_stored_and_continued(model: Path, tmp_path: Path) -> None:
    whole = drawn(model, tmp_path / "one", 3)
    assert len(set(whole)) == 3 and all(content.startswith(b"\x89PNG") for content in whole)
    drawn(model, tmp_path / "two", 1)
    assert drawn(model, tmp_path / "two", 3) == whole  # as if it had not stopped after the first
    assert drawn(model, tmp_path / "one", 3, seed=1)[:2] == whole[1:]


def test_an_unknown_model_is_named(model: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingRequirement, match="none cannot be loaded"):
        drawn(model.parent / "none", tmp_path, 1)
