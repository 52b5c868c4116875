"""Settings of a build: their validation and effects."""

from __future__ import annotations

from pathlib import Path

import pytest

import kb
from data.contracts import Encoders
from data.errors import SourceUnavailable
from kb.pipeline.settings import BuildSettings
from kb.store.layout import Layout
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders


@pytest.fixture(scope="module")
def encoders() -> Encoders:
    return toy_encoders()


def test_a_value_out_of_range_is_refused() -> None:
    for values, message in (
        ({"anchors_per_species": -1}, "anchors_per_species of at least 0, got -1"),
        ({"max_failures_in_a_row": 0}, "max_failures_in_a_row of at least 1, got 0"),
        ({"chroma": "localhost:8000"}, "chroma as http://HOST:PORT or folder, got 'localhost:8000'"),
        ({"chroma": "http://"}, "chroma as http://HOST:PORT or folder"),
    ):
        with pytest.raises(ValueError, match=message):
            BuildSettings(**values)  # type: ignore[arg-type]  # wrong on purpose


def test_an_explicit_chroma_folder_differs_from_the_default() -> None:
    assert BuildSettings(chroma="folder").chroma_address == ""
    assert BuildSettings().chroma_address is None
    assert BuildSettings(chroma="http://localhost:8000").chroma_address == "http://localhost:8000"


def test_a_species_has_at_most_the_chosen_number_of_reference_photos(tmp_path: Path, encoders: Encoders) -> None:
    for n in (0, 1, 3):
        settings = BuildSettings(anchors_per_species=n)
        status = kb.build(tmp_path / f"{n}.kb", made_up_taxa(2), PageSource(), encoders, settings=settings)
        assert status.anchors == 2 * min(n, 2)


def test_an_update_respects_the_number_of_reference_photos(tmp_path: Path, encoders: Encoders) -> None:
    path, one = tmp_path / "a.kb", BuildSettings(anchors_per_species=1)
    kb.build(path, made_up_taxa(2), PageSource(), encoders, settings=one)
    kb.update(path, [PageSource(revision=2)], encoders, settings=one)
    with kb.open(path) as store:
        assert store.status().anchors == 2


def test_a_build_stops_after_the_chosen_number_of_failures_in_a_row(tmp_path: Path, encoders: Encoders) -> None:
    taxa = made_up_taxa(20)
    source = PageSource(failing=[taxon.taxon_id for taxon in taxa])
    with pytest.raises(SourceUnavailable, match=r"failed in a row \(2\)"):
        kb.build(tmp_path / "a.kb", taxa, source, encoders, settings=BuildSettings(max_failures_in_a_row=2))
    assert Layout(tmp_path / "a.kb").toml.exists()
