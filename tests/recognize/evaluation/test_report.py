"""Figures of recognition, computed by hand."""

from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image

from recognize import PhotoRanking, Recognizer, evaluate
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


def test_each_measure_stops_at_its_named_rank() -> None:
    """One photo for each rank of the species."""
    ranks = (1, 2, 5, 6, 10, 11, 30, 31)
    others = [f"other-{i}" for i in range(31)]
    report = report_of([(ranking(*others[: rank - 1], "robin", *others[rank:]), "robin") for rank in ranks])
    found = {measured.name: measured.micro * len(ranks) for measured in report.measures}
    five = 1 + 1 / 2 + 1 / 5
    expected = {"top-1": 1, "top-5": 3, "hit@30": 7, "MRR@1": 1, "MRR@5": five, "MRR@10": five + 1 / 6 + 1 / 10}
    assert found == pytest.approx(expected)


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
