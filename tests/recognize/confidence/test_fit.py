import colorsys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.contracts import Encoders
from data.errors import BadInput
from recognize import Recognizer
from recognize.confidence.calibration import calibration_bytes
from recognize.confidence.fit import calibrate, check_enough
from recognize.confidence.labelled import LabelledSource, photos_of_anchors, photos_of_files
from recognize.encoded_photos import picture_hash
from recognize.scoring.knowledge import Knowledge, read_knowledge
from tests.toy.encoders import PlainLook, toy_encoders
from tests.toy.store import MemoryStore, Sketch

N_SPECIES = 14


def bird(species: int, number: int) -> Image.Image:
    """A photo of a species with its own hue and shape; neighbours are alike, and photos differ."""
    rng = np.random.default_rng(species * 1_000 + number)
    hue = species / N_SPECIES + rng.normal() * 0.02
    picture = Image.new("RGB", (96, 96), "white")
    for _ in range(12):  # the ground, so that no two photos have the same perceptual hash
        left, top = rng.integers(0, 80, 2).tolist()
        shade = int(rng.integers(190, 256))
        ImageDraw.Draw(picture).rectangle((left, top, left + 40, top + 40), fill=(shade, shade, shade))
    left, top, width, height = (rng.integers((10, 15, 40, 30), (25, 35, 60, 45))).tolist()
    colour = tuple(int(255 * v) for v in colorsys.hsv_to_rgb(hue % 1, 0.8, 0.4 + 0.4 * (species % 2)))
    ImageDraw.Draw(picture).ellipse((left, top, left + width, top + height), fill=colour)
    ImageDraw.Draw(picture).rectangle((left, top + 10, left + 10 + species, top + 16), fill="black")
    return picture


class World:
    def __init__(self, folder: Path, pictures: Any, encoders: Encoders | None = None) -> None:
        self.encoders = encoders or toy_encoders()
        lineage = {"genus": "Avis", "family": "Avidae"}
        birds = {i: Sketch(texts=["A bird."], pictures=given, lineage=lineage) for i, given in pictures.items()}
        self.store = MemoryStore({f"Avis a{i:02}": sketch for i, sketch in birds.items()}, self.encoders)
        self.folder = folder
        folder.mkdir()
        by_id = {anchor.anchor_id: anchor for e in self.store.species(self.store.taxon_ids) for anchor in e.anchors}
        every = [picture for i in sorted(pictures) for picture in pictures[i]]
        for anchor, picture in zip(by_id.values(), every, strict=True):
            picture.save(self.path(anchor.sha256 or ""))

    def path(self, sha256: str) -> Path:
        return self.folder / f"{sha256}.png"

    @property
    def knowledge(self) -> Knowledge:
        return read_knowledge(self.store, self.encoders)

    def anchors(self, **options: Any) -> LabelledSource:
        return photos_of_anchors(self.store, self.encoders, self.knowledge, anchor_path=self.path, **options)

    def files(self, labelled: Any) -> LabelledSource:
        paths, ids = zip(*labelled, strict=True)
        return photos_of_files(self.store, self.encoders, self.knowledge, paths, ids, anchor_path=self.path)

    def calibrate(self, source: LabelledSource, **options: Any) -> Any:
        return calibrate(self.store, self.encoders, self.knowledge, source, preset="vr-rag-v2", **options)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    pictures = {i: [bird(i, number) for number in range(5)] for i in range(N_SPECIES)}
    return World(tmp_path_factory.mktemp("world") / "anchors", pictures)


TWIN = bird(0, 1).resize((80, 80))
"""A scaled copy has another hash of its file; it would name the species of its twin."""
ONE, TWO = ([bird(i, 1), bird(i, 2)] for i in range(2))
CASES: Any = {
    "copies leave each other out": ({0: [bird(0, 1), TWIN, bird(0, 2)], 1: TWO}, [[0, 1], [0, 1], [2], [3], [4]], {}),
    "the only photo of a species": (
        {0: ONE, 1: [bird(1, 1), bird(1, 1).resize((80, 80))], 2: [bird(2, 1)]}, [[0], [1]],
        {"the only reference photo of a species": 3},
    ),
    "a photo of two species": (
        {i: [bird(9, 9), bird(i, 1), bird(i, 2)] for i in range(2)}, [[1], [2], [4], [5]],
        {"reference photos of two species": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pictures", "same", "skipped"), CASES.values(), ids=CASES.keys())
def test_copies_and_ambiguous_anchors_are_no_photos(tmp_path: Path, pictures: Any, same: Any, skipped: Any) -> None:
    found = World(tmp_path / "anchors", pictures).anchors()
    assert ([rows.tolist() for rows in found.photos.same], found.skipped) == (same, skipped)


def test_anchors_without_a_file_are_skipped(tmp_path: Path) -> None:
    """They ship as vectors: the encoders may have been trained on them."""
    world = World(tmp_path / "anchors", {0: ONE, 1: TWO})
    min(world.folder.iterdir()).unlink()
    assert world.anchors().skipped["reference photos without a file"] == 1


def test_training_photos_of_the_encoders_are_skipped(tmp_path: Path) -> None:
    class Trained(PlainLook):
        def photo_hashes(self) -> Any:
            return np.array([picture_hash(bird(0, 1))], dtype=np.uint64)

    encoders = replace(toy_encoders(), visual=Trained())
    world = World(tmp_path / "anchors", {i: [bird(i, n) for n in range(3)] for i in range(2)}, encoders)
    assert world.anchors().skipped == {"training photos of the encoders": 1}
    bird(0, 1).save(tmp_path / "a.png")
    bird(0, 7).save(tmp_path / "b.png")
    found = world.files([(tmp_path / name, "avis-a00") for name in ("a.png", "b.png")])
    assert (len(found.photos), found.skipped) == (1, {"training photos of the encoders": 1})


def test_files_leave_out_the_anchors_that_they_show(world: World, tmp_path: Path) -> None:
    bird(3, 2).save(tmp_path / "anchor.png")
    bird(3, 50).save(tmp_path / "new.png")
    bird(4, 0).save(tmp_path / "other.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    names = ("anchor.png", "broken.png", "new.png", "other.png")
    found = world.files([(tmp_path / name, "avis-a03") for name in names])
    assert [rows.tolist() for rows in found.photos.same] == [[17], []]
    assert found.photos.species.tolist() == [3, 3]
    assert found.skipped == {"reference photos of another species": 1}
    assert list(found.errors) == [str(tmp_path / "broken.png")]


def test_a_calibration_of_the_anchors_is_used_and_calibrated(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, int, int]] = []
    made = world.calibrate(world.anchors(), on_progress=lambda *step: shown.append(step))
    last = {noun: (done, total) for noun, done, total in shown}
    assert last == {"scale": (70, 70), "with species": (70, 70), "without": (70, 70)}, "photos count once in each"
    recognizer = Recognizer(world.store, world.encoders, preset="vr-rag-v2", calibration=made.calibration)
    assert (recognizer.misfit, recognizer.calibration) == ("", made.calibration)
    photos = [bird(i, number) for i in range(N_SPECIES) for number in range(100, 106)]
    rows = list(recognizer.identify(photos))
    right = [row.candidates[0].taxon_id == f"avis-a{at // 6:02}" for at, row in enumerate(rows)]
    sure = [row.candidates[0].confidence for row in rows]
    assert 0.3 < np.mean(right) < 0.98, "not a trivial world"
    assert np.mean(sure) == pytest.approx(np.mean(right), abs=0.15)
    assert made.calibration.kind == "own"
    assert made.calibration.fitted_on.startswith("70 reference photos of 14 species, calibration error 0.")
    assert (made.quality.n_photos, made.quality.n_species, made.quality.estimated) == (70, 14, None)

    fewer = World(tmp_path / "anchors", {i: [bird(i, 0), bird(i, 1)] for i in range(3)})
    for its, preset, misfit in (
        (world, "vr-rag-v1", "was made for the preset vr-rag-v2"),
        (fewer, "vr-rag-v2", "was made for other species than the knowledge base holds now"),
    ):
        assert Recognizer(its.store, its.encoders, preset=preset, calibration=made.calibration).misfit == misfit
    kept = {"vr-rag-v2": calibration_bytes(made.calibration).decode()}
    monkeypatch.setattr(world.store, "calibration_text", kept.get)
    assert Recognizer(world.store, world.encoders, preset="vr-rag-v2").calibration == made.calibration
    assert Recognizer(world.store, world.encoders, preset="vr-rag-v1").calibration is None


def test_too_few_photos_or_species_are_refused() -> None:
    check_enough(60, 10, noun="reference photo")
    for n_photos, n_species in ((63, 9), (56, 14)):
        found = f"{n_photos} reference photos of {n_species} species"
        with pytest.raises(BadInput, match=found) as refused:
            check_enough(n_photos, n_species, noun="reference photo")
        assert "at least 60 photos of 10 species" in str(refused.value)
        assert "--photos" in str(refused.value.hint)
