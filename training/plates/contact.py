"""Contact sheet: every plate in a grid, with the names of the birds."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

from data.starter.knowledge import read_species
from training.plates.catalogue import PLATES, Plate
from training.plates.drawing.palette import ink
from training.plates.variants import Purpose

CELL_PX = 224
CAPTION_PX = 40
COLUMNS = 6


def contact_sheet(*, variants: bool = False) -> Image.Image:
    """Return all plates side by side, each above its names; with `variants` two anchors and a query of each."""
    names = {species.taxon.taxon_id: species.taxon for species in read_species()}
    purposes: tuple[tuple[Purpose, int], ...] = (
        (("anchor", 0), ("anchor", 1), ("query", 0)) if variants else (("plate", 0),)
    )
    cells: list[tuple[Plate, Purpose, int]] = [(plate, *purpose) for plate in PLATES for purpose in purposes]
    rows = -(-len(cells) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * CELL_PX, rows * (CELL_PX + CAPTION_PX)), (250, 249, 244))
    pen = ImageDraw.Draw(sheet)
    large, small = ImageFont.load_default(size=14), ImageFont.load_default(size=11)
    for i, (plate, purpose, number) in enumerate(cells):
        left, upper = i % COLUMNS * CELL_PX, i // COLUMNS * (CELL_PX + CAPTION_PX)
        sheet.paste(plate.draw(purpose, number, size=CELL_PX), (left, upper))
        taxon = names[plate.taxon_id]
        sex = "" if plate.sex == "both" else f", {plate.sex}"
        middle = left + CELL_PX // 2
        pen.text((middle, upper + CELL_PX + 10), taxon.common_name + sex, font=large, fill=ink("black"), anchor="mm")
        pen.text((middle, upper + CELL_PX + 27), taxon.scientific_name, font=small, fill=ink("slate"), anchor="mm")
    return sheet
