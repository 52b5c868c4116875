"""Commands that draw: `python -m training.plates ship` and `python -m training.plates sheet OUT.png`."""

from __future__ import annotations

from pathlib import Path

import click

import data.starter
from training.plates.files import contact_sheet, write_shipped

SHIPPED = Path(data.starter.__file__).parent / "drawings"


@click.group()
def main() -> None:
    """Draw birds."""


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=SHIPPED)
def ship(folder: Path) -> None:
    """Draw the reference pictures and the pictures of the demo into FOLDER, with their index."""
    written = write_shipped(folder)
    click.echo(f"{len(written)} drawings in {folder}")


@main.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
def sheet(out: Path) -> None:
    """Draw every plate on one contact sheet and write it to OUT (PNG)."""
    # Steps of four levels are invisible and cost a third less than all 256; a palette would lose the rarer colours.
    contact_sheet().point([min(255, (level + 2) // 4 * 4) for level in range(256)] * 3).save(out, optimize=True)


if __name__ == "__main__":
    main()
