"""`kb import`: a bundle as a knowledge base. The command's name is a word of Python, so it bears it with a `_`."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, upkeep, upkeep_text
from cli.common.config import PROFILES
from cli.common.progress import stage_progress


@click.command("import")
@click.argument("bundle", type=click.Path(path_type=Path))
@options.kb_option("Where the knowledge base goes, a folder that is new or empty; without it FIELDMARK_KB.")
@click.option("--re-encode", is_flag=True, help="Take a bundle of other models too, and encode it with the profile's.")
@click.option("--profile", type=click.Choice(PROFILES), help="The models to ask it with.  [default: the bundle's]")
@options.format_option("text", "json")
def import_(bundle: Path, kb: Path | None, re_encode: bool, profile: str | None, form: str) -> None:
    """Make a knowledge base of the folder BUNDLE, which kb export wrote.

    Every file is held against its sha256 first, and no path may leave the folder. What is refused leaves nothing.

    Example: kb import birds-dataset --kb birds.kb
    """
    from data.codec import to_json

    settings = options.settings(kb=kb, profile=profile)
    with stage_progress(quiet=options.invocation().quiet) as progress:
        imported = upkeep.imported(settings, bundle, profile=profile, re_encode=re_encode, progress=progress)
    output.write(
        output.as_json(to_json(imported)) if form == "json" else upkeep_text.imported_text(imported, str(settings.kb))
    )
