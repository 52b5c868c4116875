import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from data.files import sha256_hex
from recognize import PhotoRanking, Recognizer, evaluate, load_encoders
from recognize.evaluation import encoded_photos as encoded
from recognize.evaluation.encoded_photos import (
    encode_photos,
    find_leaks,
    near_duplicates,
    picture_hash,
    training_hashes,
)
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


def ranking(*ids: str, chunks: tuple[str, ...] = (), error: str | None = None) -> PhotoRanking:
    return PhotoRanking(image="x", taxon_ids=ids, chunk_taxon_ids=chunks, error=error)


def report_of(labelled: Sequence[tuple[PhotoRanking, str]]) -> Any:
    class Ranked:
        def rank(self, images: Any) -> Any:
            return (each for each, _ in zip(images, labelled, strict=True))

    return evaluate(Ranked(), labelled)  # type: ignore[arg-type]


def test_figures_match_hand_computation_and_unreadable_photos_are_left_out() -> None:
    far = tuple(f"other-{i}" for i in range(29))
    photos = [
        (ranking("robin", "wren"), "robin"),
        (ranking("wren", "robin"), "robin"),
        (ranking(*far, "robin"), "robin"),
        (ranking("robin"), "wren"),
        (ranking(error="broken"), "robin"),
    ]
    report = report_of(photos)
    assert (report.n, report.n_species, report.n_unreadable) == (4, 2, 1)
    micro = {measured.name: measured.micro for measured in report.measures}
    assert micro == pytest.approx(
        {"top-1": 1 / 4, "top-5": 1 / 2, "hit@30": 3 / 4, "MRR@1": 1 / 4, "MRR@5": 1.5 / 4, "MRR@10": 1.5 / 4}
    )
    assert (report["top-1"].macro, report["hit@30"].macro) == pytest.approx(((1 / 3 + 0) / 2, (1 + 0) / 2))
    chunks = report_of([(ranking("wren", "robin", chunks=("wren", "wren", "robin")), "robin")])
    assert (chunks["MRR@10"].micro, chunks["chunk MRR@10"].micro) == pytest.approx((1 / 2, 1 / 3))
    with pytest.raises(ValueError, match="1 that cannot"):
        report_of(photos[-1:])


def test_a_recognizer_is_evaluated_on_labelled_photos(encoders: Any) -> None:
    colours = ("red", "blue", "yellow", "black", "white", "green")
    shown = {c: Image.new("RGB", (32, 32), c) for c in colours}
    sketches = {f"Avis {c}": Sketch(pictures=[shown[c]], texts=[f"Plumage {c}."]) for c in colours}
    photos = [(Image.new("RGB", (40, 40), c), f"avis-{c}") for c in colours if c != "yellow"]
    photos += [(b"no picture", "avis-yellow"), (Image.new("RGB", (40, 40), "red"), "not-in-the-knowledge-base")]
    for preset in ("default", "vr-rag-v1", "vr-rag-v2", "anchors-only"):
        report = evaluate(Recognizer(MemoryStore(sketches, encoders), encoders, preset=preset, batch_size=2), photos)
        assert (report.n, report.n_species, report.n_unreadable, report.n_without_anchors) == (6, 6, 1, 0), preset
        assert report["top-1"].micro == pytest.approx(5 / 6)
        low, high = report["top-1"].micro_interval
        assert 0 <= low <= 5 / 6 <= high <= 1
    bare = {name: Sketch(texts=sketch.texts) for name, sketch in sketches.items() if name != "Avis red"}
    store = MemoryStore({"Avis red": sketches["Avis red"], **bare}, encoders)
    for preset in ("default", "vr-rag-v1", "vr-rag-v2"):
        assert evaluate(Recognizer(store, encoders, preset=preset), photos).n_without_anchors == 5.0, preset


def scene(seed: Any) -> Any:
    rows = np.random.default_rng(seed).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    return Image.fromarray(rows).resize((360, 270), Image.Resampling.BICUBIC)


def saved(image: Any, quality: Any) -> Any:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(file)


def test_the_hash_finds_scaled_but_not_cropped_copies() -> None:
    """As documented. A hash that also found mirrored and cropped copies would be better."""

    def bits_between(one: Any, other: Any) -> int:
        return (picture_hash(one) ^ picture_hash(other)).bit_count()

    assert bits_between(scene(1), scene(2)) > 3 * encoded.HASH_BITS
    for change, is_found in (
        (lambda image: image.resize((image.width // 2, image.height // 2)), True),
        (lambda image: saved(image, quality=30), True),
        (lambda image: ImageEnhance.Brightness(image).enhance(1.15), True),
        (ImageOps.mirror, False),
        (lambda image: ImageOps.crop(image, border=image.width // 10), False),
    ):
        found = {bits_between(scene(seed), change(scene(seed))) <= encoded.HASH_BITS for seed in range(5)}
        assert found == {is_found}, change


def test_hashes_are_near_up_to_four_bits_and_the_encoder_knows_those_of_its_training_photos() -> None:
    hashes = np.array([0b1111, 0b11111, 2**64 - 1], dtype=np.uint64)
    assert near_duplicates(hashes, np.array([0], dtype=np.uint64)).tolist() == [True, False, False]
    assert near_duplicates(hashes, np.array([], dtype=np.uint64)).tolist() == [False] * 3
    known = training_hashes(load_encoders("starter"))
    changed = np.array([known[7] ^ np.uint64(0b1111), known[7] ^ np.uint64(0b11111)])
    assert near_duplicates(changed, known).tolist() == [True, False]
    assert not len(training_hashes(toy_encoders()))


def test_copies_are_found_by_file_and_scaled_copies_by_hash(tmp_path: Path) -> None:
    encoders = toy_encoders()
    scene(1).save(tmp_path / "anchor.png")
    (tmp_path / "copy.png").write_bytes((tmp_path / "anchor.png").read_bytes())
    scene(1).resize((200, 150)).save(tmp_path / "smaller.jpg", quality=60)
    scene(2).save(tmp_path / "other.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    paths = [tmp_path / name for name in ("copy.png", "broken.png", "smaller.jpg", "other.png")]
    counts = []
    photos = encode_photos(encoders, paths, on_progress=counts.append)
    assert (photos.positions.tolist(), list(photos.errors), counts[-1]) == ([0, 2, 3], [1], 4)
    anchor = tmp_path / "anchor.png"
    leaks = find_leaks(
        photos, encoders.visual.encode_images([scene(1)]), digests=[sha256_hex(anchor.read_bytes())],
        hashes=np.array([*encoded.iter_hashes([anchor])], dtype=np.uint64),
    )  # fmt: skip
    assert leaks.same_file.tolist() == [True, False, False]
    assert leaks.near_hash.tolist() == [True, True, False]
    assert leaks.near_vector.tolist()[::2] == [True, False]
    assert leaks.any.tolist() == [True, True, False]
    kept = photos.only(~leaks.any)
    assert (kept.positions.tolist(), len(kept.queries), kept.digests) == ([3], 1, photos.digests[2:])


def test_any_one_check_marks_a_leak_and_survives_merging() -> None:
    for way in ("same_file", "near_hash", "near_vector"):
        nothing, one = np.zeros(2, dtype=np.bool_), np.array([False, True])
        ways = dict.fromkeys(("same_file", "near_hash", "near_vector"), nothing)
        found = encoded.Leaks(**{**ways, way: one})
        assert found.any.tolist() == [False, True], way
        for joined in (encoded.Leaks(**ways) | found, found | encoded.Leaks(**ways)):
            assert joined.any.tolist() == getattr(joined, way).tolist() == [False, True], way
