"""Writes the contact sheet of all plates: `python -m data.starter.plates OUT.png`."""

from __future__ import annotations

from pathlib import Path

import click
from PIL import Image

from data.starter.plates.contact import contact_sheet


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--variants", is_flag=True, help="Three drawings of each bird, as anchors and queries have them.")
def main(out: Path, variants: bool) -> None:
    """Draw every plate on one sheet and write it to OUT (PNG)."""
    sheet = contact_sheet(variants=variants)
    # A palette of 256 colours is enough in print size, and a third of the bytes.
    sheet.quantize(256, dither=Image.Dither.NONE).save(out, optimize=True)


main()
