"""`kb index-images`: the index of a folder of photos."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.common.photo_folders import ENCODER_HELP, open_photos, reasons_text


@click.command("index-images")
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
@click.option("--encoder", metavar="NAME", help=ENCODER_HELP)
def index_images(folder: Path, encoder: str | None) -> None:
    """Encode the photos below FOLDER for kb find, once: later runs encode new and changed photos alone.

    The index is kept under FIELDMARK_HOME, one for each encoder. An interrupted run resumes.

    Example: kb index-images photos/
    """
    settings, began = options.settings(), time.monotonic()
    made = wiring.load_text_image_encoder(encoder or settings.profile)
    with open_photos(folder, made, settings, quiet=options.invocation().quiet) as collection:
        unreadable = len(collection.errors)
        fields = {
            "photos": f"{len(collection.ids):,}",
            "new or changed": f"{collection.update.n_new:,}",
            "removed": f"{collection.update.n_removed:,}",
            "unreadable": f"{unreadable:,} ({reasons_text(collection.reasons())})" if unreadable else "0",
            "encoder": made.name,
            "seconds": f"{time.monotonic() - began:.1f}",
        }
    output.write(output.as_fields(fields))
