"""The profile `paper` with tiny models, from a build to answers out of Chroma."""

import json
from pathlib import Path
from typing import Any

import pytest

import kb
from data.contracts import Encoders
from recognize.encoders.profiles import LOADERS
from recognize.encoders.sentence_models import SentenceEncoder
from recognize.encoders.vision_models import OpenClipEncoder, TimmEncoder
from tests.recognize.encoders import hub_cache

for name in ("open_clip", "timm", "sentence_transformers"):
    pytest.importorskip(name, reason=f"{name} of the extra `models` is not installed (CI installs it)")


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers and sentence-transformers
def test_photos_and_descriptions_are_answered_from_the_matrices_and_from_chroma_alike(
    cli: Any, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are random: a species is known by its own photo and by its own words."""
    for seed, name in enumerate(("openai", "laion")):
        hub_cache.write_clip(hub, f"tiny/{name}", seed=seed)
    hub_cache.write_siglip(hub, "tiny/siglip")
    hub_cache.write_timm(hub, "tiny/vit")
    encoders = Encoders(
        profile="paper",
        text_image=tuple(
            OpenClipEncoder(f"hf-hub:tiny/{one}", device="cpu") for one in ("openai", "laion", "siglip")
        ),
        visual=TimmEncoder("hf-hub:tiny/vit", device="cpu"),
        sentence=SentenceEncoder(str(hub_cache.write_sentence_model(hub)), device="cpu"),
    )
    monkeypatch.setitem(LOADERS, "paper", lambda: encoders)
    cli.call("build", "--source", "starter", "--taxon", "Strigiformes", "--taxon", "Upupidae", "--profile", "paper",
             "--kb", "a.kb", check=True)  # fmt: skip
    with kb.open("a.kb") as store:
        assert (store.info.profile, len(store.spaces)) == ("paper", 4)
        [owl] = store.species(["bubo-scandiacus"])
        photo = store.anchor_path(owl.anchors[0].sha256 or "")
    asked = (
        ("identify", photo, "--preset", "vr-rag-v1", "--format", "jsonl"),
        ("context", owl.summary.text, "--format", "json"),
    )
    answers = [json.loads(cli.call(*each, "--kb", "a.kb", check=True).stdout) for each in asked]
    assert answers[0]["candidates"][0]["taxon_id"] == "bubo-scandiacus"
    for matrix in Path("a.kb").rglob("*.npy"):
        matrix.unlink()
    for each, answer in zip(asked, answers, strict=True):
        done = cli.call(*each, "--kb", "a.kb", check=True)
        assert "is missing or damaged; kb verify repairs it" in done.stderr and json.loads(done.stdout) == answer
