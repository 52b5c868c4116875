"""Evaluation on a labelled dataset: selection of photos, and the setups of a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.labelled_photos import LabelledPhoto
from data.records import Taxon
from recognize.evaluation.datasets import Dataset
from recognize.evaluation.labelled import LabelledRequest, select_photos, setups_of
from recognize.settings import EvaluationSettings

LABELS = ("Mallard", "Kea", "Mallard", "Nothing", "Wren", "Mallard")


def taxon(taxon_id: str, name: str) -> Taxon:
    return Taxon(taxon_id=taxon_id, scientific_name=name, rank="species", common_names=(), lineage={})


TAXA = {
    "Mallard": taxon("anas-platyrhynchos", "Anas platyrhynchos"),
    "Kea": taxon("nestor-notabilis", "Nestor notabilis"),
    "Wren": taxon("troglodytes-troglodytes", "Troglodytes troglodytes"),
}
HELD = {"anas-platyrhynchos", "troglodytes-troglodytes"}


def dataset() -> Dataset:
    photos = tuple(LabelledPhoto(path=Path(f"{i}.jpg"), label=label) for i, label in enumerate(LABELS))
    return Dataset(kind="class folders", photos=photos, anchors={"train": photos[:2]}, covered=("Mallard", "Nothing"))


def test_photos_outside_the_knowledge_base_are_counted_not_selected() -> None:
    found = select_photos(dataset(), TAXA, HELD)
    assert [photo.path.name for photo in found.photos] == ["0.jpg", "2.jpg", "4.jpg", "5.jpg"]
    assert found.labels[2] == "troglodytes-troglodytes"
    assert (found.n_photos, found.n_unmatched, found.absent, found.n_absent) == (6, 1, ("Nestor notabilis",), 1)
    assert [label for _, label in found.anchors["train"]] == ["anas-platyrhynchos", "nestor-notabilis"]
    assert found.covered == ("anas-platyrhynchos",)


def test_a_limit_spreads_the_photos_evenly() -> None:
    found = select_photos(dataset(), TAXA, HELD, limit=2)
    assert [photo.path.name for photo in found.photos] == ["0.jpg", "4.jpg"]


@pytest.mark.parametrize(
    ("presets", "anchors", "settings", "expected"),
    [
        (
            ("text-only", "default"),
            ("kb", "train"),
            {"vocabulary": "open"},
            [
                ("text-only", "kb", "descriptions"),
                ("default", "kb", "descriptions"),
                ("default", "train", "descriptions"),
            ],
        ),
        (
            ("anchors-only", "default"),
            ("kb",),
            {"vocabulary": "bounded", "texts": "both"},
            [("anchors-only", "kb", "descriptions"), ("default", "kb", "descriptions"), ("default", "kb", "names")],
        ),
        (("anchors-only",), ("kb",), {"vocabulary": "open", "texts": "names"}, [("anchors-only", "kb", "names")]),
    ],
)
def test_duplicate_setups_are_left_out(
    presets: tuple[str, ...], anchors: tuple[str, ...], settings: dict[str, str], expected: list[tuple[str, ...]]
) -> None:
    """`text-only` uses no reference photos, `anchors-only` no texts."""
    chosen = EvaluationSettings(**settings)  # type: ignore[arg-type]
    setups = setups_of(LabelledRequest(presets=presets, anchors=anchors, settings=chosen), 1)
    assert [(setup.preset, setup.anchors, setup.texts) for setup in setups] == expected


def test_an_ablation_replaces_the_presets() -> None:
    request = LabelledRequest(presets=("default",), ablation=True, settings=EvaluationSettings(vocabulary="open"))
    setups = setups_of(request, 2)
    assert {setup.preset for setup in setups} == {"text-only", "vr-rag-v1"}
    assert {setup.encoders for setup in setups} == {(0,), (1,), (0, 1)}
