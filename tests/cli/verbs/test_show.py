"""`kb show`: species and terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.verbs.show import photo_lines
from data.records import Anchor
from tests.cli.verbs.conftest import build_folder, write_bird


def test_show_finds_a_species_by_any_of_its_names_and_quotes_its_evidence(cli: Any, built_kb: Path) -> None:
    for name in ("Snowy Owl", "bubo scandiacus", "SNOWY-OWL", "bubo-scandiacus"):
        found = json.loads(cli.call("show", *name.split(), "--kb", built_kb, "--format", "json", check=True).stdout)
        assert found["taxon"]["taxon_id"] == "bubo-scandiacus", name
    quotes = [span["quote"] for statement in found["summary"]["statements"] for span in statement["evidence"]]
    assert quotes and all(quote.strip() for quote in quotes)
    assert all(anchor["credit"] for anchor in found["anchors"] if anchor["sha256"])


def test_show_prints_ranks_and_range_statements_with_their_sentences(cli: Any, tmp_path: Path) -> None:
    write_bird(tmp_path, "Snowy Owl", "A white owl with yellow eyes. It breeds in Greenland and winters in Canada.")
    build_folder(tmp_path, tmp_path / "kb")
    text = cli.call("show", "Snowy Owl", "--kb", tmp_path / "kb", check=True).stdout
    assert "Aves > Strigiformes > Strigidae > Bubo" in text
    assert "It breeds in Greenland and winters in Canada." in text
    assert "read as: breeds Greenland; winters Canada" in text


def test_photos_held_as_vectors_are_counted_not_listed_by_hash() -> None:
    photo = Anchor(
        anchor_id="a" * 64, subject_id="avis-avis", sha256="a" * 64, file="1.jpg", author="Ann", licence="CC0"
    )
    vectors = [Anchor(anchor_id=letter * 64, subject_id="avis-avis") for letter in "bc"]
    assert photo_lines([photo, *vectors]) == ["  1.jpg: Ann, CC0", "  2 photos as vectors only"]
