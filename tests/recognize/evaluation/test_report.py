import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from scipy.stats import binomtest

from data.records import Answer, Candidate, Identification, Taxon, taxon_id
from recognize import Recognizer, evaluate, load_encoders
from recognize import encoded_photos as encoded
from recognize.encoded_photos import (
    encode_photos,
    near_duplicates,
    picture_hash,
    reference_hashes,
    training_hashes,
)
from recognize.evaluation.report import COLUMNS, RATES, report_of, wilson
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


def test_intervals_are_wilsons_as_scipy_has_them_also_of_none_and_all() -> None:
    for of in (1, 2, 5, 16, 40, 1_000):
        for n in {0, 1, of // 3, of - 1, of}:
            expected = binomtest(n, of).proportion_ci(method="wilson")
            assert wilson(n, of) == pytest.approx((expected.low, expected.high), abs=1e-6), (n, of)
    assert wilson(16, 16)[0] == pytest.approx(0.806, abs=1e-3) and wilson(0, 0) == (0, 1)


def bird(name: str, family: str = "Paridae") -> Taxon:
    lineage = {"genus": name.split()[0], "family": family}
    return Taxon(taxon_id=taxon_id(name), scientific_name=name, rank="species", lineage=lineage)


def row(
    image: str, *names: str, status: Any = "identified", rank: Any = "species", sure: float = 0.8
) -> Identification:
    """Return an answer with the first name, or with its group at another rank, and the candidates."""
    candidates = tuple(
        Candidate(taxon_id=taxon_id(name), scientific_name=name, common_name=None, score=1.0) for name in names
    )
    first = bird(names[0]) if names else None
    name = "" if first is None or status != "identified" else {"species": names[0], **first.lineage}[rank]
    answer = Answer(rank=rank if name else "none", name=name, confidence=sure)
    return Identification(image=image, status=status, answer=answer, candidates=candidates)


def test_answers_are_counted_by_what_they_name_and_by_species_with_the_most_confused_first() -> None:
    marsh, willow, kea = bird("Poecile palustris"), bird("Poecile montanus"), bird("Nestor notabilis", "Strigopidae")
    great = "Parus major"
    report = report_of(
        [
            (row("1", "Poecile palustris", great, sure=0.95), marsh),
            (row("2", "Poecile montanus", "Poecile palustris"), marsh),
            (row("3", "Poecile montanus"), marsh),
            (row("4", "Poecile montanus", rank="genus"), marsh),
            (row("5", great, rank="genus"), willow),
            (row("6", great, "Poecile montanus", status="not_sure"), willow),
            (row("7", status="no_bird"), willow),
            (row("8", great), kea),
            (row("9", great, status="unknown"), kea),
            (replace(row("10", status="error"), error="broken"), kea),
        ],
        {marsh.taxon_id, willow.taxon_id, taxon_id(great)},
    )
    assert (report.n, report.n_species, report.n_absent, report.unreadable) == (9, 3, 2, {"10": "broken"})
    assert {found.name: (found.n, found.of) for found in report.rates} == {
        "named": (3, 7), "named_right": (1, 3), "sure": (1, 7), "sure_right": (1, 1), "group": (2, 7),
        "group_right": (1, 2), "not_sure": (1, 7), "unknown": (0, 7), "no_bird": (1, 7), "first_right": (1, 7),
        "among_five": (3, 7), "absent_named": (1, 2), "absent_unknown": (1, 2),
    }  # fmt: skip
    assert set(RATES) == {found.name for found in report.rates}
    assert report["named"].share == 3 / 7 and report["named"].interval == wilson(3, 7)
    confusions = {
        of.scientific_name: [(given.text, given.n, given.is_right, given.photos) for given in of.answers]
        for of in report.species
    }
    assert list(confusions) == ["Poecile palustris", "Nestor notabilis", "Poecile montanus"]
    assert confusions["Poecile palustris"] == [
        ("Poecile palustris", 1, True, ("1",)), ("One of the genus Poecile", 1, True, ("4",)),
        ("Poecile montanus", 2, False, ("2", "3")),
    ]  # fmt: skip
    assert [text for text, *_ in confusions["Nestor notabilis"]] == ["Parus major", "not in the knowledge base"]
    frame = report.to_frame()
    assert tuple(frame.columns) == tuple(COLUMNS) and int(frame["n"].sum()) == report.n
    with pytest.raises(ValueError, match="1 that cannot"):
        report_of([(row("1", status="error"), marsh)], ())


def test_a_recognizer_is_evaluated_on_labelled_photos(encoders: Any) -> None:
    colours = ("red", "blue", "yellow", "black", "white", "green")

    def shown(colour: str, side: int) -> Image.Image:
        picture = Image.new("RGB", (side, side), colour)
        picture.paste("orange", (0, 0, side, side // 4))  # not flat
        return picture

    sketches = {f"Avis {c}": Sketch(pictures=[shown(c, 32)], texts=[f"Plumage {c}."]) for c in colours}
    photos = [(shown(c, 40), f"avis-{c}") for c in colours if c != "yellow"]
    photos += [(b"no picture", "avis-yellow"), (shown("red", 40), "not-in-the-knowledge-base")]
    for preset in ("default", "vr-rag-v1"):
        report = evaluate(Recognizer(MemoryStore(sketches, encoders), encoders, preset=preset, batch_size=2), photos)
        assert (report.n, report.n_absent, len(report.unreadable)) == (6, 1, 1), preset
        assert (report["first_right"].n, report["first_right"].of) == (5, 5), preset


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


def test_photos_are_encoded_in_order_and_copies_of_reference_photos_are_found_by_hash(
    tmp_path: Path,
) -> None:
    encoders = toy_encoders()
    scene(1).save(tmp_path / "anchor.png")
    scene(1).resize((200, 150)).save(tmp_path / "smaller.jpg", quality=60)
    scene(2).save(tmp_path / "other.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    counts: list[int] = []
    paths = [tmp_path / name for name in ("smaller.jpg", "broken.png", "other.png")]
    photos = encode_photos(encoders, paths, on_progress=counts.append)
    assert (photos.positions.tolist(), list(photos.errors), counts[-1]) == ([0, 2], [1], 3)
    store = MemoryStore({"Avis prima": Sketch(pictures=[scene(1)])}, encoders)
    known = reference_hashes(store, lambda _: tmp_path / "anchor.png")
    assert near_duplicates(photos.hashes, known).tolist() == [True, False]
    assert len(photos.only([True, False])) == 1
