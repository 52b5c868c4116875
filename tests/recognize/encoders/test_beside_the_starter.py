"""A knowledge base of open_clip and timm encoders: real architectures, random weights."""

from pathlib import Path
from typing import Any

import pytest

import kb
import recognize
from data.contracts import Encoders
from data.errors import MissingRequirement
from recognize.encoders.open_clip_models import OpenClipEncoder
from recognize.encoders.timm_models import TimmEncoder
from tests.pages import PageSource, made_up_taxa, picture_of
from tests.recognize.encoders import hub_cache
from tests.toy.encoders import toy_encoders

for name in ("open_clip", "timm"):
    pytest.importorskip(name, reason=f"{name} of the extra `models` is not installed (CI installs it)")

N = 4


@pytest.mark.filterwarnings("ignore")  # warnings inside transformers
def test_pretrained_encoders_build_and_identify_and_other_weights_are_refused(
    hub: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hub_cache.write_clip(hub, "tiny/clip")
    hub_cache.write_siglip(hub, "tiny/siglip")
    hub_cache.write_dino(hub, "tiny/dino", "vit_small_patch14_dinov2", side_px=70)
    tried = Encoders(
        profile="tried",
        text_image=tuple(OpenClipEncoder(f"hf-hub:tiny/{kind}", device="cpu") for kind in ("clip", "siglip")),
        visual=TimmEncoder("hf-hub:tiny/dino", device="cpu"),
        sentence=toy_encoders().sentence,
    )
    path = tmp_path / "a.kb"
    status = kb.build(path, made_up_taxa(N), PageSource(), tried)
    assert (status.failures, status.profile) == ((), "tried")
    assert kb.verify(path).problems == ()
    with kb.open(path) as store:
        chunks = [chunk for entry in store.species(store.taxon_ids) for chunk in entry.chunks]
        assert max(tried.text_image[1].count_tokens(chunk.text) for chunk in chunks) <= 64  # tokens are letters
        tables = [store.chunk_vectors(encoder.space) for encoder in tried.text_image]
        assert tables[0].ids == tables[1].ids == tuple(chunk.chunk_id for chunk in chunks)
        photo = tmp_path / "photo.png"
        photo.write_bytes(picture_of("avis-002", 0))  # identical to an anchor
        [row] = recognize.Recognizer(store, tried, preset="anchors-only").identify([photo])
        assert row.candidates[0].taxon_id == "avis-002"
        assert row.candidates[0].scores["visual"] > 0.999 > row.candidates[1].scores["visual"]
    assert "longer than" not in capfd.readouterr().err  # a transformers warning about texts before they are cut
    hub_cache.write_clip(hub, "other/clip", seed=1)
    other = Encoders(
        profile="tried", text_image=(OpenClipEncoder("hf-hub:other/clip", device="cpu"),), visual=tried.visual,
        sentence=tried.sentence,
    )  # fmt: skip
    with pytest.raises(MissingRequirement, match="these encoders make vectors of open-clip/hf-hub:other/clip"):
        kb.build(path, made_up_taxa(N), PageSource(), other)
