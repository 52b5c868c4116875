"""Tiny models with random weights, in the layout of the hub's cache."""

import json
import string
from pathlib import Path
from typing import Any

REVISION = "0123456789abcdef0123456789abcdef01234567"
CLIP_CONFIG = {
    "model_cfg": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    },
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "interpolation": "bicubic"},
}
TIMM_ARCHITECTURE = "test_vit"  # timm's tiny test model, 160 px


def snapshot(cache: Path, repository: str) -> Path:
    root = cache / f"models--{repository.replace('/', '--')}"
    folder = root / "snapshots" / REVISION
    folder.mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(REVISION)
    return folder


def write(folder: Path, config_name: str, config: Any, weights_name: str, model: Any) -> None:
    from safetensors.torch import save_file

    (folder / config_name).write_text(json.dumps(config))
    save_file(model.state_dict(), folder / weights_name)


def write_clip(cache: Path, repository: str, *, seed: int = 0) -> Any:
    import open_clip
    import torch

    torch.manual_seed(seed)
    model = open_clip.CLIP(**CLIP_CONFIG["model_cfg"])
    write(snapshot(cache, repository), "open_clip_config.json", CLIP_CONFIG, "open_clip_model.safetensors", model)
    return model.eval()


def write_siglip(cache: Path, repository: str, *, seed: int = 0) -> Any:
    """Lay out a tiny SigLIP, with its tokenizer in another repository, and return model and tokenizer.

    Like the real models: an image tower of timm, and a text tower without a causal mask that pools the last token.
    """
    import open_clip
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = {"<pad>": 1, "</s>": 0, "<unk>": 2} | {
        letter: i + 3 for i, letter in enumerate("abcdefghijklmnop qrstuvwxyz")
    }
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=64
    )
    folder = snapshot(cache, f"{repository}-tokenizer")
    wrapped.save_pretrained(folder)
    (folder / "config.json").write_text("{}")  # transformers requires one when it is offline
    text = {"context_length": 64, "vocab_size": 40, "width": 32, "heads": 2, "layers": 1, "no_causal_mask": True}
    text |= {"hf_tokenizer_name": f"{repository}-tokenizer", "tokenizer_kwargs": {"clean": "canonicalize"}}
    text |= {"proj_bias": True, "pool_type": "last", "norm_kwargs": {"eps": 1e-6}}
    vision = {"image_size": 160, "timm_model_name": TIMM_ARCHITECTURE, "timm_model_pretrained": False}
    vision |= {"timm_pool": "avg", "timm_proj": "none"}
    model_config = {"embed_dim": 64, "init_logit_bias": -10, "custom_text": True}
    model_config |= {"vision_cfg": vision, "text_cfg": text}
    preprocess = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash"}
    config = {"model_cfg": model_config, "preprocess_cfg": preprocess}
    torch.manual_seed(seed)
    model = open_clip.CustomTextCLIP(**{key: value for key, value in model_config.items() if key != "custom_text"})
    write(snapshot(cache, repository), "open_clip_config.json", config, "open_clip_model.safetensors", model)
    return model.eval(), wrapped


def write_timm(cache: Path, repository: str, architecture: str = TIMM_ARCHITECTURE, *, side_px: int = 160) -> Any:
    """Lay out a vision transformer with one thin layer, but all parts of the architecture, and return its model."""
    import timm
    import torch

    # An untrained layer adds almost nothing (its scale is 1e-5), so vectors would not depend on the picture.
    thin = {"embed_dim": 32, "depth": 1, "num_heads": 2, "init_values": 1.0}
    torch.manual_seed(0)
    model = timm.create_model(architecture, pretrained=False, num_classes=0, **thin)
    pretrained = {"input_size": [3, side_px, side_px], "fixed_input_size": True, "num_classes": 0, "crop_pct": 0.9}
    pretrained |= {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "interpolation": "bicubic"}
    pretrained |= {"crop_mode": "center", "classifier": "head", "first_conv": "patch_embed.proj"}
    config = {"architecture": architecture, "num_classes": 0, "pretrained_cfg": pretrained, "model_args": thin}
    write(snapshot(cache, repository), "config.json", config, "model.safetensors", model)
    return model.eval()


def write_sentence_model(folder: Path) -> Path:
    """Write a sentence-transformers model of letters, and return its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    bert = folder / "bert"
    bert.mkdir()
    pieces = [*string.ascii_lowercase, *("##" + letter for letter in string.ascii_lowercase), ".", "?", "!"]
    (bert / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]))
    BertTokenizer(str(bert / "vocab.txt")).save_pretrained(bert)
    torch.manual_seed(5)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(pieces) + 5, max_position_embeddings=64, **sizes)
    BertModel(config).save_pretrained(bert)
    words = Transformer(str(bert), max_seq_length=32)
    SentenceTransformer(modules=[words, Pooling(16)], device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"
