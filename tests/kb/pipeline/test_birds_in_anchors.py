from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL.Image import Image

import kb
import recognize
from data.contracts import Encoders
from data.images.decode import read_image
from data.images.views import boxes_of, encode_views, views_of
from data.records import Box, Detection, Stage, taxon_id
from data.starter.knowledge import drawings_of, read_vectors
from kb import OwnPhoto
from kb.checklist.avilist import load_checklist
from kb.sources.folder import FolderSource
from kb.sources.starter import StarterSource
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders

MAGPIE = "pica-pica"


def test_an_anchor_has_the_vector_of_its_best_bird(tmp_path: Path) -> None:
    encoders, source = recognize.load_encoders("starter"), StarterSource(with_vectors=False)
    assert encoders.detector is not None
    pictures = [read_image(drawing.png()) for drawing in drawings_of(MAGPIE, "anchor")]
    boxes = [boxes_of(found)[:1] for found in encoders.detector.detect(pictures)]
    assert all(boxes)
    birds = [views for picture, found in zip(pictures, boxes, strict=True) for views in views_of(picture, found)]
    expected = encode_views(encoders.visual, birds)
    taxa = [taxon for taxon in source.drawn_taxa() if taxon.taxon_id == MAGPIE]
    kb.build(tmp_path / "a.kb", taxa, source, encoders)
    with kb.open(tmp_path / "a.kb") as store:
        found = store.anchor_vectors(encoders.visual.space).vectors
    assert sorted(found.tolist()) == pytest.approx(np.array(sorted(expected.tolist())), abs=1e-6)
    whole = encode_views(encoders.visual, [views_of(picture, ())[0] for picture in pictures])
    assert np.abs(np.sort(whole, axis=0) - np.sort(found, axis=0)).max() > 0.01


class Corner:
    """A detector that sees a bird in one corner of each picture."""

    name, part = "corner", 0.5

    def detect(self, images: Sequence[Image]) -> list[tuple[Detection, ...]]:
        return [(self._bird(image.width * self.part, image.height * self.part),) for image in images]

    def _bird(self, width: float, height: float) -> Detection:
        return Detection(box=Box(0, 0, width, height), kind="bird", score=1)


class Larger(Corner):
    """The same with a larger corner."""

    name, part = "larger", 0.8


def contents(path: Path, encoders: Encoders) -> tuple[int, str, list[list[float]]]:
    with kb.open(path) as store:
        return (
            store.outdated_anchors(encoders),
            kb.verify(path).digest,
            store.anchor_vectors(encoders.visual.space).vectors.tolist(),
        )


def test_anchors_of_another_detector_are_counted_and_encoded_again(tmp_path: Path) -> None:
    """Anchors which cannot be encoded, because their files are damaged, stay outdated."""
    encoders, taxa, path = toy_encoders(), made_up_taxa(3), tmp_path / "old.kb"
    larger, cornered = replace(encoders, detector=Larger()), replace(encoders, detector=Corner())

    def build(path: Path, encoders: Encoders, stage: Stage | None = None) -> None:
        kb.build(path, taxa, PageSource(bare=["avis-001"]), encoders, only=stage)

    build(tmp_path / "new.kb", cornered)
    expected = contents(tmp_path / "new.kb", cornered)
    assert expected[0] == 0, "a species without photos is not outdated"
    for earlier, stage in ((encoders, None), (larger, "encode")):
        build(path, earlier)
        assert contents(path, cornered)[0] == 2
        build(path, cornered, stage)  # type: ignore[arg-type]  # a stage
        assert contents(path, cornered) == expected
        assert kb.verify(path).ok
    for file in (path / "anchors").rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    for _ in range(2):
        build(path, larger, "encode")
        with kb.open(path) as store:
            assert (store.outdated_anchors(larger), store.outdated_anchors(cornered)) == (2, 0)
    build(path, larger)
    assert contents(path, larger)[0] == 0


def test_anchors_without_a_file_keep_their_vectors_and_the_others_are_encoded_once(tmp_path: Path) -> None:
    encoders, path, photo = recognize.load_encoders("starter"), tmp_path / "a.kb", tmp_path / "photo.png"
    earlier, cornered = replace(encoders, detector=Larger()), replace(encoders, detector=Corner())
    source = StarterSource(spaces=encoders.anchor_spaces)
    [taxon] = [taxon for taxon in source.taxa() if taxon.common_name == "Mallard"]
    photo.write_bytes(drawings_of(MAGPIE, "anchor")[0].png())
    kb.build(path, [taxon], source, earlier)
    kb.add(path, taxon, earlier, photos=[OwnPhoto(path=photo)])
    before = contents(path, cornered)
    kb.build(path, [taxon], source, cornered, only="encode")
    after = contents(path, cornered)
    assert (before[0], after[0]) == (1, 1), "the vectors without a file are the old ones"
    assert sum(old != new for old, new in zip(before[2], after[2], strict=True)) == 1, "the photo has a new one"
    kb.build(path, [taxon], source, cornered)
    assert contents(path, cornered) == after, "nothing is encoded again"
    kb.build(path, [taxon], source, earlier)
    assert contents(path, earlier) == (0, *before[1:])


def test_a_bird_that_the_models_know_has_the_text_vector_of_its_training_and_another_that_of_its_text(
    tmp_path: Path,
) -> None:
    encoders, checklist = recognize.load_encoders("starter"), load_checklist()
    reader, text = encoders.text_image[0], "A blue bird with a red crest."
    known, vectors = set(map(taxon_id, encoders.visual.prototypes()[0])), read_vectors()  # type: ignore[attr-defined]
    names = ["Pica pica", next(t.scientific_name for t in StarterSource().taxa() if t.taxon_id not in known)]
    for name in (*names, "Scytalopus alvarezlopezi"):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "text.txt").write_text(text)
        taxon = checklist.find(name)
        assert taxon is not None
        kb.build(tmp_path / f"{name}.kb", [taxon], FolderSource(tmp_path / "src"), encoders)
        with kb.open(tmp_path / f"{name}.kb") as store:
            (found,) = store.chunk_vectors(reader.space).vectors
            (said,) = store.chunk_texts(store.chunk_vectors(reader.space).ids)
        trained = vectors.text_vector(taxon.taxon_id, reader.space)
        expected = trained if name == "Pica pica" else reader.encode_texts([said])[0]
        assert found.tolist() == pytest.approx(np.asarray(expected).tolist(), abs=1e-6), name
