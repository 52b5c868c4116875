"""Drawings as files: reference pictures and demo pictures that ship, and a contact sheet."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from data.files import sha256_hex, write_atomic
from data.starter.knowledge import INDEX, Drawing, read_species
from training.plates.catalogue import PLATES, Plate, plates_of
from training.plates.drawing.palette import ink
from training.plates.variants import Purpose, variant_for

N_ANCHORS = 3
CELL_PX = 224
CAPTION_PX = 40
COLUMNS = 6


def shipped_drawings() -> list[tuple[Plate, Purpose, int]]:
    """Return plate, purpose and number of each drawing that ships, species by species.

    There are three anchors of each species and one query of each plumage. Anchors of a species with two plumages
    alternate, the male first.
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
        drawing = Drawing(
            file=f"{plate.name}-{'query' if purpose == 'query' else number + 1}.png",
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


def contact_sheet() -> Image.Image:
    """Return all plates side by side, each above the names of its species."""
    names = {species.taxon.taxon_id: species.taxon for species in read_species()}
    rows = -(-len(PLATES) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * CELL_PX, rows * (CELL_PX + CAPTION_PX)), (250, 249, 244))
    pen = ImageDraw.Draw(sheet)
    large, small = ImageFont.load_default(size=14), ImageFont.load_default(size=11)
    for i, plate in enumerate(PLATES):
        left, upper = i % COLUMNS * CELL_PX, i // COLUMNS * (CELL_PX + CAPTION_PX)
        sheet.paste(plate.draw("plate", size=CELL_PX), (left, upper))
        taxon = names[plate.taxon_id]
        sex = "" if plate.sex == "both" else f", {plate.sex}"
        middle = left + CELL_PX // 2
        pen.text((middle, upper + CELL_PX + 10), taxon.common_name + sex, font=large, fill=ink("black"), anchor="mm")
        pen.text((middle, upper + CELL_PX + 27), taxon.scientific_name, font=small, fill=ink("slate"), anchor="mm")
    return sheet
