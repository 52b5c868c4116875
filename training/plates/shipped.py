"""Drawings that ship: three reference pictures of each species, and one picture of each plumage for the demo."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import data.starter
from data.files import sha256_hex, write_atomic
from data.starter.drawings import INDEX, Drawing
from training.plates.catalogue import PLATES, Plate, plates_of
from training.plates.variants import Purpose, variant_for

FOLDER = Path(data.starter.__file__).parent / "drawings"
N_ANCHORS = 3


def shipped_drawings() -> list[tuple[Plate, Purpose, int]]:
    """Return plate, purpose and number of each drawing that ships, species by species.

    The anchors of a species with two plumages take turns, the male first.
    """
    found: list[tuple[Plate, Purpose, int]] = []
    for taxon_id in dict.fromkeys(plate.taxon_id for plate in PLATES):
        plates = plates_of(taxon_id)
        found += [(plates[i % len(plates)], "anchor", i // len(plates)) for i in range(N_ANCHORS)]
        found += [(plate, "query", 0) for plate in plates]
    return found


def write_shipped(folder: Path) -> list[Drawing]:
    """Write the drawings and their index into a folder, remove other drawings from it, and return the index."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for plate, purpose, number in shipped_drawings():
        content = plate.png(purpose, number)
        suffix = "query" if purpose == "query" else str(number + 1)
        drawing = Drawing(
            file=f"{plate.name}-{suffix}.png",
            taxon_id=plate.taxon_id,
            sex=plate.sex,
            purpose="query" if purpose == "query" else "anchor",
            seed=variant_for(plate.name, purpose, number).seed,
            sha256=sha256_hex(content),
        )
        write_atomic(folder / drawing.file, content)
        written.append(drawing)
    lines = ",\n".join(json.dumps(asdict(drawing)) for drawing in written)
    write_atomic(folder / INDEX, f"[\n{lines}\n]\n".encode())
    for file in set(folder.glob("*.png")) - {folder / drawing.file for drawing in written}:
        file.unlink()
    return written
