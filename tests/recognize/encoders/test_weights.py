import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.errors import ConfigError
from recognize.encoders.profiles import LOADERS, load_encoders, load_text_image_encoder
from recognize.encoders.sentence_models import MINILM_PACKAGE, SentenceEncoder
from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder
from recognize.encoders.weights import PUBLISHED, EncoderWeights, hub_cache, memory_bytes, weights_of
from recognize.settings import PROFILES
from tests.recognize.encoders.hub_cache import write_sentence_model
from tests.toy.encoders import toy_encoders

REVISION = "f" * 40


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


def found(encoder: Any, cache: Path) -> EncoderWeights:
    encoders = toy_encoders()
    role = "sentence" if isinstance(encoder, SentenceEncoder) else "visual"
    profile: Any = type("Profile", (), {"text_image": (), "visual": encoders.visual, "sentence": encoders.sentence})
    setattr(profile, role, encoder)
    return next(each for each in weights_of(profile, cache) if each.role == role)


def test_profiles_have_loaders_and_the_bundled_one_needs_no_download(tmp_path: Path) -> None:
    assert tuple(LOADERS) == PROFILES
    with pytest.raises(ConfigError, match=r'Unknown profile "big"\. Expected one of starter, general, paper, best'):
        load_encoders("big")
    weights = weights_of(load_encoders("starter"), tmp_path)
    assert [(each.is_ready, each.package, each.place) for each in weights] == [(True, None, "built in")] * 3
    assert memory_bytes(weights) == 200_000_000


def test_an_installed_package_offers_a_profile_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tests/guards/test_readme.py` builds and identifies with the profile of the how-to."""
    (tmp_path / "own-1.dist-info").mkdir()
    (tmp_path / "own-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    offers = "bad = no_such_module:load\nmine = tests.toy.encoders:TOYS\nnone = builtins:len\nstarter = builtins:len\n"
    (tmp_path / "own-1.dist-info" / "entry_points.txt").write_text(f"[fieldmark.encoders]\n{offers}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tests.toy.encoders.TOYS", lambda profile: toy_encoders(), raising=False)
    assert (load_encoders("mine").profile, load_encoders("starter").profile) == ("mine", "starter")
    assert load_text_image_encoder("mine").space == toy_encoders().text_image[0].space
    with pytest.raises(ConfigError, match=r"builtins:len returned int, expected .*Encoders"):
        load_encoders("none")
    with pytest.raises(ConfigError, match="no_such_module:load of the profile bad failed: ModuleNotFoundError: No mod"):
        load_encoders("bad")
    with pytest.raises(ConfigError, match=r'Unknown profile "big"\. Expected one of .*, blip-2, bad, mine, none\.'):
        load_encoders("big")


def test_a_profile_without_weights_lists_its_downloads(tmp_path: Path) -> None:
    weights = weights_of(load_encoders("paper"), tmp_path / "none")
    openai, _, siglip, *_ = weights
    assert (openai.place, openai.missing) == ("missing", ("timm/vit_large_patch14_clip_224.openai",))
    assert openai.download_bytes == 4 * 427_616_513
    assert siglip.missing == ("timm/ViT-L-16-SigLIP-256", "timm/ViT-B-16-SigLIP")
    sizes = [4 * PUBLISHED[each.name].parameters for each in weights]
    if importlib.util.find_spec(MINILM_PACKAGE) is None:
        assert memory_bytes(weights) == sum(sizes) + max(sizes) + 800_000_000
    [e5v, *_] = weights_of(load_encoders("e5-v"), tmp_path)
    assert (e5v.package, e5v.place, e5v.missing) == ("transformers", "missing", ("royokong/e5-v",))
    assert memory_bytes([e5v]) is None


def test_weights_of_the_main_revision_are_found_with_their_size(tmp_path: Path) -> None:
    link = put(tmp_path, "owner/bird", "model.safetensors", 4_000)
    encoder = TimmEncoder("hf-hub:owner/bird")
    cached = found(encoder, tmp_path)
    assert (cached.place, cached.path, cached.disk_bytes) == ("cached", str(link), 4_000)
    main = tmp_path / "models--owner--bird" / "refs" / "main"
    main.write_text("e" * 40)
    assert found(encoder, tmp_path).place == "missing"
    main.write_text(REVISION)
    link.resolve().unlink()
    assert (found(encoder, tmp_path).place, found(encoder, tmp_path).download_bytes) == ("missing", None)


def test_shards_count_together_and_a_file_of_another_library_is_none(tmp_path: Path) -> None:
    encoder = TimmEncoder("hf-hub:owner/bird")
    put(tmp_path, "owner/bird", "open_clip_model.safetensors", 4_000)
    assert found(encoder, tmp_path).place == "missing"
    index = put(tmp_path, "owner/bird", "model.safetensors.index.json", 0)
    index.write_text('{"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"}}')
    put(tmp_path, "owner/bird", "1.safetensors", 4_000)
    assert found(encoder, tmp_path).place == "missing"
    put(tmp_path, "owner/bird", "2.safetensors", 500)
    cached = found(encoder, tmp_path)
    assert (cached.path, cached.disk_bytes) == (str(index), 4_500 + index.stat().st_size)


def test_a_model_without_its_tokenizer_is_not_ready(tmp_path: Path) -> None:
    published = PUBLISHED["ViT-L-16-SigLIP-256/webli"]
    put(tmp_path, published.repository, "open_clip_model.safetensors", 4_000)
    encoder = OpenClipEncoder("ViT-L-16-SigLIP-256/webli")
    needs = found(encoder, tmp_path)
    assert (needs.place, needs.missing, needs.download_bytes) == ("missing", ("timm/ViT-B-16-SigLIP",), 0)
    put(tmp_path, published.tokenizer or "", "tokenizer.json", 10)
    assert found(encoder, tmp_path).place == "cached"


def test_sentence_models_are_found_in_a_folder_and_in_the_cache(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.safetensors").write_bytes(b"x" * 40)
    put(tmp_path, "owner/words", "model.safetensors", 40)
    for name, place in ((str(tmp_path / "own"), "folder"), ("owner/words", "cached"), ("unheard-of", "missing")):
        assert found(SentenceEncoder(name), tmp_path).place == place
    if importlib.util.find_spec(MINILM_PACKAGE) is None:
        put(tmp_path, "sentence-transformers/all-MiniLM-L6-v2", "model.safetensors", 40)
        assert found(SentenceEncoder(), tmp_path).place == "cached"


def test_the_cache_folder_follows_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/ada")
    assert hub_cache() == Path("/ada/.cache/huggingface/hub")
    for name, value, folder in (
        ("XDG_CACHE_HOME", "/cache", "/cache/huggingface/hub"), ("HF_HOME", "/hf", "/hf/hub"),
        ("HF_HUB_CACHE", "/here", "/here"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
        assert hub_cache() == Path(folder)


TEXTS = ["A red cap.", "", "the long bill of a heron is yellow and sharp at its tip", "?!", "wings " * 60]


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers and sentence-transformers
def test_vectors_match_the_library_and_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="one of the extra `models` is not installed (CI installs it)")
    from sentence_transformers import SentenceTransformer

    folder = write_sentence_model(tmp_path)
    encoder = SentenceEncoder(str(folder), device="cpu")
    vectors = encoder.encode_texts(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 16), np.dtype("float32"))
    alone = np.stack([encoder.encode_texts([text])[0] for text in TEXTS])
    np.testing.assert_array_equal(vectors, alone)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 0, 1], atol=1e-6)
    own = SentenceTransformer(str(folder), device="cpu").encode([TEXTS[0]], normalize_embeddings=True)
    np.testing.assert_allclose(vectors[0], own[0], atol=1e-6)
    assert (encoder.name, encoder.max_tokens, encoder.count_tokens("cap")) == ("tiny", 32, 5)
    assert encoder.space.startswith("sentence-transformers/tiny/") and str(folder.parent) not in encoder.space
    assert encoder.encode_texts([]).shape == (0, encoder.dim)
