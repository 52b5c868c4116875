"""Reference photos are encoded like photos: from the whole and the crop to the bird."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kb
import recognize
from data.contracts import Encoders
from data.images.decode import read_image
from data.images.views import boxes_of, encode_birds
from data.starter.drawings import drawings_of
from kb.sources.starter import StarterSource

MAGPIE = "pica-pica"


def anchor_vectors(path: Path, encoders: Encoders) -> np.ndarray:
    """Return the vectors of the drawn magpies in the visual space of a new knowledge base."""
    source = StarterSource(with_vectors=False)
    kb.build(path, [taxon for taxon in source.drawn_taxa() if taxon.taxon_id == MAGPIE], source, encoders)
    with kb.open(path) as store:
        return np.array(store.anchor_vectors(encoders.visual.space).vectors)


def test_an_anchor_has_the_vector_of_its_best_bird(tmp_path: Path) -> None:
    encoders = recognize.load_encoders("starter")
    assert encoders.detector is not None
    pictures = [read_image(drawing.png()) for drawing in drawings_of(MAGPIE, "anchor")]
    boxes = [boxes_of(found)[:1] for found in encoders.detector.detect(pictures)]
    assert all(boxes)
    expected = encode_birds(encoders.visual, pictures, boxes)
    found = anchor_vectors(tmp_path / "with.kb", encoders)
    assert sorted(found.tolist()) == pytest.approx(np.array(sorted(expected.tolist())), abs=1e-6)
    whole = anchor_vectors(tmp_path / "without.kb", replace(encoders, detector=None))
    assert np.abs(np.sort(whole, axis=0) - np.sort(found, axis=0)).max() > 0.01
