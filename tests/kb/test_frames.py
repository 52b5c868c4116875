"""Tables of a knowledge base as pandas frames."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import kb
from data.frames import DTYPES
from kb.curate.credits import COLUMNS
from kb.frames import STATUS
from kb.lookup.entries import SPECIES
from tests.pages import PageSource, made_up_taxa
from tests.toy.encoders import toy_encoders


def test_species_sources_and_status_are_frames_with_plain_types(tmp_path: Path) -> None:
    taxa = [replace(taxon, lineage={"order": "Avia", "family": "Avidae"}) for taxon in made_up_taxa(3)]
    pages, encoders = PageSource(gone=["avis-001"], bare=["avis-002"]), toy_encoders()
    kb.build(tmp_path / "a.kb", taxa, pages, encoders, terms=[("Amplexus", None)])
    notes = kb.OwnText(text="An osmeterium is a forked organ of a caterpillar.", title="Notes")
    kb.add(tmp_path / "a.kb", "osmeterium", encoders, texts=[notes])
    with kb.open(tmp_path / "a.kb") as store:
        found = {table: kb.to_frame(store, table) for table in ("species", "sources", "status")}
        assert kb.to_frame(store).equals(found["species"])
        hashes = [anchor.sha256 for anchor in store.species(["avis-000"])[0].anchors]
        with pytest.raises(ValueError, match="expected species, sources or status, got 'birds'"):
            kb.to_frame(store, "birds")  # type: ignore[arg-type]
    zero, wiki = "https://creativecommons.org/publicdomain/zero/1.0/", "http://localhost"
    species = [("Avis 000", "Bird 000", "Avia", "Avidae", True, 24, 2, "", "avis-000"),
               ("Avis 002", "Bird 002", "Avia", "Avidae", True, 24, 0, "no-anchors", "avis-002")]  # fmt: skip
    sources = [("article", name, f"{wiki}/{name}", 1, None, None, None, "unknown", False, False, name, None, None)
               for name in ("Amplexus", "Bird 000", "Bird 002")]  # fmt: skip
    sources += [("own", "Notes", *[None] * 5, "own", True, False, "osmeterium", None, None)]
    sources += [("photo", f"avis-000 {n}.png", f"{wiki}/File:avis-000_{n}.png", None, "A. Painter", "CC0", zero, "free",
                 True, False, "Bird 000", hashes[n], None) for n in range(2)]  # fmt: skip
    status = [("Avidae", 3, 2, 2, 1)]
    for table, columns, rows in zip(found, (SPECIES, COLUMNS, STATUS), (species, sources, status), strict=True):
        wanted = pd.DataFrame(rows, columns=list(columns), dtype=object)
        pd.testing.assert_frame_equal(found[table], wanted.astype({name: DTYPES[columns[name]] for name in columns}))
