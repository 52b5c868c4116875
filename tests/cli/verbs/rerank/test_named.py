"""`kb rerank` without a model: queries that name species, and queries that encoders cannot judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from data.starter.drawings import drawings_of
from tests.conftest import CommandLine

BLACKBIRD, KINGFISHER = "agelaius-phoeniceus", "alcedo-atthis"


@pytest.fixture
def drawings(tmp_path: Path) -> Path:
    """A folder with a drawing of each species of the knowledge base."""
    folder = tmp_path / "drawings"
    folder.mkdir()
    for taxon_id in (BLACKBIRD, KINGFISHER):
        (folder / f"{taxon_id}.png").write_bytes(drawings_of(taxon_id, "query")[0].png())
    return folder


def test_the_recognizer_scores_species_that_a_query_names(cli: CommandLine, birds: Path, drawings: Path) -> None:
    # The second kingfisher comes from the cache.
    named = {"Red-winged Blackbird": BLACKBIRD, "Common Kingfisher": KINGFISHER}
    for name in (*named, "Common Kingfisher"):
        query = f"a {name} standing in water"
        command = ["rerank", drawings, "--query", query, "--kb", birds, "--judge", "encoder", "--format", "jsonl"]
        run = cli.call(*command, check=True)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        assert rows[0]["image_id"] == f"{named[name]}.png" and rows[0]["score"] > rows[1]["score"]
        asked, other = rows[0]["questions"]
        assert (asked["question"], asked["obtained_by"]) == (f"Does this image show a {name}?", "recognizer")
        assert rows[0]["score"] == pytest.approx(100 * asked["probability"], abs=1e-3)
        assert (other["question"], other["answer"], other["probability"], other["obtained_by"]) == (
            f"Does this image show {query}?", None, None, "no evidence",
        )  # fmt: skip
        assert f"no evidence on 'Does this image show {query}?', which does not count" in run.stderr
