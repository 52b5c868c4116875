"""Tiny models with random weights, laid out as the hub's client caches them: what loads them cannot tell."""

import json
from pathlib import Path

REVISION = "0123456789abcdef0123456789abcdef01234567"
CLIP_CONFIG = {
    "model_cfg": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    },
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "interpolation": "bicubic"},
}
TIMM_ARCHITECTURE = "test_vit"  # timm's own tiny one, 160 px


def snapshot(cache: Path, repository: str) -> Path:
    """Return the folder for the files of a repository, with the reference that makes it its main revision."""
    root = cache / f"models--{repository.replace('/', '--')}"
    folder = root / "snapshots" / REVISION
    folder.mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(REVISION)
    return folder


def write_clip(cache: Path, repository: str, *, seed: int = 0):
    """Lay out a tiny CLIP and return its model."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    model = open_clip.CLIP(**CLIP_CONFIG["model_cfg"])
    folder = snapshot(cache, repository)
    (folder / "open_clip_config.json").write_text(json.dumps(CLIP_CONFIG))
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return model.eval()


def write_timm(cache: Path, repository: str, *, seed: int = 0):
    """Lay out a tiny vision transformer and return its model without classes."""
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    model = timm.create_model(TIMM_ARCHITECTURE, pretrained=False)
    folder = snapshot(cache, repository)
    pretrained = {"input_size": [3, 160, 160], "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "num_classes": 1000}
    pretrained |= {"classifier": "head", "first_conv": "patch_embed.proj"}
    pretrained |= {"interpolation": "bilinear", "crop_pct": 0.9, "crop_mode": "center", "fixed_input_size": True}
    config = {"architecture": TIMM_ARCHITECTURE, "num_classes": 1000, "pretrained_cfg": pretrained}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(model.state_dict(), folder / "model.safetensors")
    model.reset_classifier(0)
    return model.eval()
