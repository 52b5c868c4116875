"""`kb show`: species and terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.verbs.show import photo_lines
from data.records import Anchor


@pytest.mark.parametrize("name", ["Snowy Owl", "bubo scandiacus", "SNOWY-OWL", "bubo-scandiacus"])
def test_show_finds_a_species_by_any_of_its_names(cli: Any, built_kb: Path, name: str) -> None:
    outcome = cli.call("show", *name.split(), "--kb", built_kb, "--format", "json", check=True)
    found = json.loads(outcome.stdout)
    assert found["taxon"]["taxon_id"] == "bubo-scandiacus"
    assert found["summary"]["statements"] != []


def test_show_quotes_the_evidence_of_a_summary(cli: Any, built_kb: Path) -> None:
    found = json.loads(cli.call("show", "Snowy Owl", "--kb", built_kb, "--format", "json", check=True).stdout)
    quotes = [span["quote"] for statement in found["summary"]["statements"] for span in statement["evidence"]]
    assert quotes != []
    assert all(quote.strip() for quote in quotes)
    assert all(anchor["credit"] for anchor in found["anchors"] if anchor["sha256"])


def test_show_prints_the_ranks_from_the_highest_down(cli: Any, built_kb: Path) -> None:
    text = cli.call("show", "Snowy Owl", "--kb", built_kb, check=True).stdout
    assert "Aves > Strigiformes > Strigidae > Bubo" in text


def test_show_lists_range_statements_with_their_sentences(cli: Any, tmp_path: Path) -> None:
    article = tmp_path / "birds" / "Snowy Owl" / "article.txt"
    article.parent.mkdir(parents=True)
    article.write_text("A white owl with yellow eyes. It breeds in Greenland and winters in southern Canada.")
    cli.call("build", "--kb", tmp_path / "kb", "--source", f"folder:{tmp_path / 'birds'}", check=True)
    text = cli.call("show", "Snowy Owl", "--kb", tmp_path / "kb", check=True).stdout
    assert "It breeds in Greenland and winters in southern Canada." in text
    assert "read as: breeds Greenland; winters southern Canada" in text


def test_photos_held_as_vectors_are_counted_not_listed_by_hash() -> None:
    photo = Anchor(
        anchor_id="a" * 64, subject_id="avis-avis", sha256="a" * 64, file="1.jpg", author="Ann", licence="CC0"
    )
    vectors = [Anchor(anchor_id=letter * 64, subject_id="avis-avis") for letter in "bc"]
    assert photo_lines([photo, *vectors]) == ["  1.jpg: Ann, CC0", "  2 photos as vectors only"]
