"""Figures of recognition, computed by hand."""

from typing import Any

import pytest
from PIL import Image

from recognize import PhotoRanking, Recognizer, evaluate, evaluate_rankings
from tests.toy.encoders import toy_encoders
from tests.toy.store import MemoryStore, Sketch


def ranking(*ids: Any, chunks: tuple[()] = (), error: Any = None) -> PhotoRanking:
    return PhotoRanking(image="x", taxon_ids=ids, chunk_taxon_ids=chunks, error=error)


def test_figures_of_four_photos_match_hand_computation() -> None:
    far = tuple(f"other-{i}" for i in range(29))
    report = evaluate_rankings(
        [
            (ranking("robin", "wren"), "robin"),
            (ranking("wren", "robin"), "robin"),
            (ranking(*far, "robin"), "robin"),
            (ranking("robin"), "wren"),
        ]
    )
    assert (report.n, report.n_species, report.n_unreadable) == (4, 2, 0)
    micro = {measured.name: measured.micro for measured in report.measures}
    assert micro == pytest.approx(
        {"top-1": 1 / 4, "top-5": 1 / 2, "hit@30": 3 / 4, "MRR@1": 1 / 4, "MRR@5": 1.5 / 4, "MRR@10": 1.5 / 4}
    )
    assert report["top-1"].macro == pytest.approx((1 / 3 + 0) / 2)
    assert report["hit@30"].macro == pytest.approx((1 + 0) / 2)


def test_chunks_have_their_own_mrr() -> None:
    report = evaluate_rankings([(ranking("wren", "robin", chunks=("wren", "wren", "robin")), "robin")])
    assert report["MRR@10"].micro == 1 / 2
    assert report["chunk MRR@10"].micro == pytest.approx(1 / 3)


def test_unreadable_photos_are_counted_and_left_out() -> None:
    report = evaluate_rankings([(ranking("robin"), "robin"), (ranking(error="broken"), "robin")])
    assert (report.n, report.n_unreadable, report["top-1"].micro) == (1, 1, 1.0)


def test_pool_species_without_anchors_are_counted() -> None:
    for preset in ("default", "vr-rag-v1", "vr-rag-v2"):
        encoders = toy_encoders()
        red, blue = (Image.new("RGB", (32, 32), colour) for colour in ("red", "blue"))
        store = MemoryStore(
            {
                "Rubra rubra": Sketch(texts=["Plumage red."], pictures=[red]),
                "Nigra nigra": Sketch(texts=["Plumage black."]),
                "Alba alba": Sketch(texts=["Plumage white."]),
            },
            encoders,
        )
        photos = [(red, "rubra-rubra"), (blue, "alba-alba"), (b"broken", "alba-alba")]
        assert evaluate(Recognizer(store, encoders, preset=preset), photos).n_without_anchors == 2.0, preset


def test_unreadable_photos_alone_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 that cannot"):
        evaluate_rankings([(ranking(error="broken"), "robin")])


def test_a_recognizer_is_evaluated_on_labelled_photos() -> None:
    encoders = toy_encoders()
    colours = ("red", "blue", "yellow", "black", "white", "green")
    store = MemoryStore(
        {f"Avis {c}": Sketch(pictures=[Image.new("RGB", (32, 32), c)], texts=[f"Plumage {c}."]) for c in colours},
        encoders,
    )
    photos = [(Image.new("RGB", (40, 40), c), f"avis-{c}") for c in colours]
    photos[2] = (b"no picture", "avis-yellow")
    photos.append((Image.new("RGB", (40, 40), "red"), "not-in-the-knowledge-base"))
    for preset in ("default", "vr-rag-v1", "vr-rag-v2", "anchors-only"):
        report = evaluate(Recognizer(store, encoders, preset=preset, batch_size=2), photos)
        assert (report.n, report.n_species, report.n_unreadable) == (6, 6, 1)
        assert report["top-1"].micro == pytest.approx(5 / 6)
        low, high = report["top-1"].micro_interval
        assert 0 <= low <= 5 / 6 <= high <= 1


def test_each_measure_stops_at_its_named_rank() -> None:
    """One photo for each rank of the species."""
    ranks = (1, 2, 5, 6, 10, 11, 30, 31)
    others = [f"other-{i}" for i in range(31)]
    report = evaluate_rankings([(ranking(*others[: rank - 1], "robin", *others[rank:]), "robin") for rank in ranks])
    found = {measured.name: measured.micro * len(ranks) for measured in report.measures}
    first_five = 1 + 1 / 2 + 1 / 5
    assert found == pytest.approx(
        {"top-1": 1, "top-5": 3, "hit@30": 7, "MRR@1": 1, "MRR@5": first_five, "MRR@10": first_five + 1 / 6 + 1 / 10}
    )
