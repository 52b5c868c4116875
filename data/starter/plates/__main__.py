"""Writes the contact sheet of all plates: `python -m data.starter.plates OUT.png`."""

from __future__ import annotations

from pathlib import Path

import click

from data.starter.plates.contact import contact_sheet


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--variants", is_flag=True, help="Three drawings of each bird, as anchors and queries have them.")
def main(out: Path, variants: bool) -> None:
    """Draw every plate on one sheet and write it to OUT (PNG)."""
    sheet = contact_sheet(variants=variants)
    # Steps of four levels are not seen and cost a third less than all 256; a palette would lose the rarer colours.
    sheet.point([min(255, (level + 2) // 4 * 4) for level in range(256)] * 3).save(out, optimize=True)


main()
