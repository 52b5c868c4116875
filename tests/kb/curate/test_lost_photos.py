import shutil
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

import kb
from data.errors import StoreError
from kb.curate.add import OwnPhoto, OwnText
from kb.sources.web_pages import PageClient, WebSource
from kb.store.layout import Layout
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built") / "a.kb"
    kb.build(path, made_up_taxa(2), PageSource(), toy_encoders())
    return path


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "a.kb")


def lose_photo(path: Path) -> None:
    with kb.open(path) as store:
        photo = store.species(["avis-000"])[0].anchors[0]
    assert photo.sha256 is not None
    Layout(path).anchors.path_of(photo.sha256).unlink()


def shown(path: Path, key: str = "avis-000") -> tuple[list[str], list[int]]:
    with kb.open(path) as store:
        owners = store.anchor_vectors(toy_encoders().visual.space).owners.tolist()
        return [anchor.anchor_id for anchor in store.species([key])[0].anchors], owners


def own_photo(folder: Path, colour: str = "red") -> OwnPhoto:
    Image.new("RGB", (90, 90), colour).save(folder / f"{colour}.png")
    return OwnPhoto(path=folder / f"{colour}.png")


def test_an_addition_to_a_species_with_a_lost_photo_waits_for_the_next_build(path: Path, tmp_path: Path) -> None:
    encoders, taxa, page = toy_encoders(), made_up_taxa(2), tmp_path / "page.txt"
    text = OwnText(text="The wings are violet with a golden bar.", title="my notes")
    page.write_text("Avis 000 is a bird. The tail of Avis 000 is violet with a golden bar.")
    lose_photo(path)
    before, digest = shown(path), kb.verify(path).digest
    with pytest.raises(StoreError, match="is shown without the addition: ") as raised:
        kb.add(path, taxa[0], encoders, texts=[text], photos=[own_photo(tmp_path)])
    assert raised.value.hint == (
        "The addition is kept. kb build fetches the lost photo again and then shows the addition."
    )
    assert shown(path) == before and kb.verify(path).digest == digest
    with closing(WebSource(PageClient())) as source, pytest.raises(StoreError, match="is shown without the addition"):
        kb.add_pages(path, taxa[0], [str(page)], source, encoders)
    assert kb.build(path, taxa, PageSource(), encoders).failures == ()
    assert len(shown(path)[0]) == len(before[0]) + 1 and kb.verify(path).ok
    lose_photo(path)  # the user's own, which comes first
    with pytest.raises(StoreError) as raised:
        kb.add(path, taxa[0], encoders, photos=[own_photo(tmp_path, "blue")])
    assert "Your own photo is lost: add it again" in (raised.value.hint or "")
    kb.add(path, taxa[0], encoders, photos=[own_photo(tmp_path)])
    assert len(shown(path)[0]) == len(before[0]) + 2 and kb.verify(path).ok
    with kb.open(path) as store:
        summary = store.species(["avis-000"])[0].summary
    assert summary is not None and "wings are violet" in summary.text and "tail" in summary.text
