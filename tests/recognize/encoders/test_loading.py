import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import kb
from data.contracts import Encoders
from data.errors import ConfigError, MissingRequirement
from recognize.encoders.profiles import LOADERS
from recognize.encoders.sentence_models import SentenceEncoder
from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder
from recognize.encoders.weights import PUBLISHED
from tests.recognize.encoders import hub_cache

for name in ("open_clip", "timm", "sentence_transformers"):
    pytest.importorskip(name, reason=f"{name} of the extra `models` is not installed (CI installs it)")


def pictures(n: int = 5) -> Any:
    rng = np.random.default_rng(3)
    sizes = [(64, 48), (33, 90), (1, 1), (200, 10), (32, 32)]
    return [Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)) for width, height in sizes[:n]]


TEXTS = ["A small grey bird with a red cap.", "", "a heron", "wings " * 300, "Ελληνικά"]


@pytest.fixture
def clip(hub: Any) -> Any:
    model = hub_cache.write_clip(hub, "tiny/clip")
    return model, OpenClipEncoder("hf-hub:tiny/clip", device="cpu")


@pytest.fixture
def vit(hub: Any) -> Any:
    model = hub_cache.write_timm(hub, "tiny/vit")
    return model, TimmEncoder("hf-hub:tiny/vit", device="cpu")


def test_open_clip_vectors_match_the_library(clip: Any) -> None:
    import open_clip
    import torch

    model, encoder = clip
    preprocess = open_clip.image_transform(
        32, is_train=False, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), interpolation="bicubic", resize_mode="shortest"
    )
    with torch.inference_mode():
        pixels = torch.stack([preprocess(picture) for picture in pictures()])
        photos = model.encode_image(pixels, normalize=True).numpy()
        texts = model.encode_text(open_clip.tokenize(TEXTS), normalize=True).numpy()
    np.testing.assert_allclose(encoder.encode_images(pictures()), photos, atol=1e-5)
    np.testing.assert_allclose(encoder.encode_texts(TEXTS), texts, atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers
def test_siglip_uses_a_tokenizer_from_another_repository(hub: Any) -> None:
    import torch

    model, tokenizer = hub_cache.write_siglip(hub, "tiny/siglip")
    encoder = OpenClipEncoder("hf-hub:tiny/siglip", device="cpu")
    assert encoder.max_tokens == 64
    assert encoder.count_tokens("a grey bird") == len("a grey bird") + 1  # letters and the end token
    # Its text cleaning removes punctuation and capitals.
    cleaned = ["a small grey bird with a red cap", "a heron"]
    tokens = tokenizer(cleaned, padding="max_length", max_length=64, truncation=True, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        texts = model.encode_text(tokens, normalize=True).numpy()
        pixels = torch.stack([_squashed(picture) for picture in pictures()])
        photos = model.encode_image(pixels, normalize=True).numpy()
    np.testing.assert_allclose(
        encoder.encode_texts(["A small, grey bird with a red cap.", "a heron"]), texts, atol=1e-5
    )
    np.testing.assert_allclose(encoder.encode_images(pictures()), photos, atol=1e-5)


def _squashed(picture: Any) -> Any:
    """Return a picture resized to a square without cropping, as SigLIP does."""
    import torch

    square = np.asarray(picture.resize((160, 160), Image.Resampling.BICUBIC), dtype=np.float32) / 255
    return torch.from_numpy((square - 0.5) / 0.5).permute(2, 0, 1)


@pytest.mark.parametrize(
    ("architecture", "own_px", "asked_px"),
    [("vit_small_patch14_dinov2", 518, 224), ("vit_small_patch16_dinov3", 256, None)],
)
def test_dino_encodes_at_its_native_or_the_requested_size(
    hub: Any, architecture: str, own_px: int, asked_px: int | None
) -> None:
    import timm
    import torch

    model = hub_cache.write_timm(hub, "tiny/dino", architecture, side_px=own_px)
    side_px = asked_px or own_px
    encoder = TimmEncoder("hf-hub:tiny/dino", image_px=asked_px, device="cpu")
    if asked_px:
        model.set_input_size(img_size=asked_px)
    preprocess = timm.data.create_transform((3, side_px, side_px), interpolation="bicubic", crop_pct=0.9)
    with torch.inference_mode():
        features = model.forward_features(torch.stack([preprocess(picture) for picture in pictures(2)]))
        rows = (features[:, 0] if "dinov2" in architecture else model.forward_head(features)).numpy()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert encoder.space.split("/")[-1].startswith(f"{side_px}-")
    assert np.abs(rows[0] - rows[1]).max() > 1e-3  # vectors depend on the picture
    np.testing.assert_allclose(encoder.encode_images(pictures(2)), rows, atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers
@pytest.mark.parametrize(("kind", "precision"), [("siglip", "bfloat16"), ("vit", "float16")])
def test_half_precision_gives_nearly_the_same_vectors(hub: Any, kind: str, precision: str) -> None:
    """On a CPU, which is slow but covers every part of a model; a GPU uses half precision by default."""
    name = f"tiny/{kind}"
    {"siglip": hub_cache.write_siglip, "vit": hub_cache.write_timm}[kind](hub, name)
    make = OpenClipEncoder if kind == "siglip" else TimmEncoder
    whole, half = (make(f"hf-hub:{name}", device="cpu", precision=given) for given in (None, precision))
    assert half.space == whole.space
    vectors, exact = half.encode_images(pictures()), whole.encode_images(pictures())
    assert vectors.dtype == np.float32
    assert exact[0] @ exact[1] < 0.999 < (vectors * exact).sum(axis=1).min()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    if make is OpenClipEncoder:
        assert (half.encode_texts(TEXTS) * whole.encode_texts(TEXTS)).sum(axis=1).min() > 0.999


@pytest.mark.parametrize("kind", ["clip", "vit"])
def test_a_vector_does_not_depend_on_the_batch(kind: str, request: pytest.FixtureRequest) -> None:
    _, encoder = request.getfixturevalue(kind)
    encoder.batch_size = 2
    together = encoder.encode_images(pictures())
    alone = np.concatenate([encoder.encode_images([picture]) for picture in pictures()])
    np.testing.assert_array_equal(together, alone)
    assert together.dtype == np.float32
    assert together.shape == (5, encoder.dim)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_the_space_depends_on_the_weights_and_the_image_size(hub: Any) -> None:
    hub_cache.write_clip(hub, "tiny/a", seed=0)
    hub_cache.write_clip(hub, "tiny/b", seed=1)
    first, again, other = (OpenClipEncoder(f"hf-hub:tiny/{name}", device="cpu") for name in ("a", "a", "b"))
    assert first.space == again.space
    assert first.space.split("/")[-2] != other.space.split("/")[-2]
    hub_cache.write_timm(hub, "tiny/vit")
    whole, small = (TimmEncoder("hf-hub:tiny/vit", device="cpu", image_px=px) for px in (None, 96))
    assert whole.space != small.space


def test_unknown_models_precisions_and_devices_are_refused_with_a_remedy(hub: Any, clip: Any) -> None:
    import torch

    for name in ("ViT-L-14/opanai", "ViT-L-14", "nonsense/openai", ""):
        with pytest.raises(ConfigError) as caught:
            _ = OpenClipEncoder(name, device="cpu").dim
        assert "/openai" in caught.value.hint
    with pytest.raises(ConfigError, match="Unknown timm model"):
        _ = TimmEncoder("vit_enormous", device="cpu").dim
    for make in (OpenClipEncoder, TimmEncoder):
        with pytest.raises(MissingRequirement, match="hf-hub:tiny/nowhere cannot be loaded") as missing:
            _ = make("hf-hub:tiny/nowhere", device="cpu").space
        assert "HF_HUB_OFFLINE" in missing.value.hint
    with pytest.raises(ConfigError, match=r'"int8"\. Expected one of float32, float16, bfloat16'):
        _ = OpenClipEncoder("hf-hub:tiny/clip", device="cpu", precision="int8").dim
    for device in ("tpu", *(() if torch.cuda.is_available() else ("cuda",))):
        with pytest.raises(ConfigError, match=device):
            _ = OpenClipEncoder("hf-hub:tiny/clip", device=device).dim


def test_the_table_of_published_weights_matches_the_libraries() -> None:
    """Repositories and parameter counts that `kb doctor encoders` reads without the libraries."""
    import open_clip
    import timm
    import torch

    for name, published in PUBLISHED.items():
        architecture, _, tag = name.partition("/")
        if timm.is_model(name):
            assert published.repository == timm.get_pretrained_cfg(name).hf_hub_id
            with torch.device("meta"):
                model = timm.create_model(name, num_classes=0, **({"img_size": 224} if "dinov2" in name else {}))
            n_parameters = sum(weights.numel() for weights in model.parameters())
            # A smaller picture has fewer patches, and so fewer position embeddings.
            assert abs(published.parameters - n_parameters) < 1.5e6
        elif tag in open_clip.list_pretrained_tags_by_model(architecture):
            assert published.repository == open_clip.get_pretrained_cfg(architecture, tag)["hf_hub"].rstrip("/")
            config = open_clip.get_model_config(architecture)
            with torch.device("meta"):
                model = (open_clip.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP)(**config)
            assert published.parameters == sum(weights.numel() for weights in model.parameters())
            tokenizer = config["text_cfg"].get("hf_tokenizer_name", published.repository)
            assert tokenizer == (published.tokenizer or published.repository)


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers and sentence-transformers
def test_photos_and_descriptions_are_answered_from_the_matrices_and_from_chroma_alike(
    cli: Any, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are random, but a species is known by its own photo."""
    for seed, name in enumerate(("openai", "laion")):
        hub_cache.write_clip(hub, f"tiny/{name}", seed=seed)
    hub_cache.write_siglip(hub, "tiny/siglip")
    hub_cache.write_timm(hub, "tiny/vit")
    encoders = Encoders(
        profile="paper",
        text_image=tuple(OpenClipEncoder(f"hf-hub:tiny/{one}", device="cpu") for one in ("openai", "laion", "siglip")),
        visual=TimmEncoder("hf-hub:tiny/vit", device="cpu"),
        sentence=SentenceEncoder(str(hub_cache.write_sentence_model(hub)), device="cpu"),
    )
    monkeypatch.setitem(LOADERS, "paper", lambda: encoders)
    cli.call("build", "--source", "starter", "--taxon", "Strigiformes", "--taxon", "Upupidae", "--profile", "paper",
             "--kb", "a.kb", check=True)  # fmt: skip
    with kb.open("a.kb") as store:
        assert (store.info.profile, len(store.spaces)) == ("paper", 5)
        [owl] = store.species(["bubo-scandiacus"])
        photo = store.anchor_path(owl.anchors[0].sha256 or "")
    words = "rounded flat countenance made of stiff plumes that conduct noise"  # a facial disc
    asked = (("identify", photo, "--format", "jsonl"), ("context", words, "--format", "json"))
    answers = []
    for _ in range(2):
        done = [cli.call(*each, "--kb", "a.kb", check=True) for each in asked]
        answers.append([{**json.loads(each.stdout), "seconds": None} for each in done])
        for matrix in Path("a.kb").rglob("*.npy"):
            matrix.unlink()
    assert answers[0] == answers[1] and answers[0][0]["candidates"][0]["taxon_id"] == "bubo-scandiacus"
    assert all("is missing or damaged; kb verify repairs it" in each.stderr for each in done)
