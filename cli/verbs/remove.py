"""`kb remove`: species and terms out of a knowledge base, for good."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, upkeep, upkeep_text


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@options.kb_option()
@options.format_option("text", "json")
def remove(names: tuple[str, ...], kb: Path | None, form: str) -> None:
    """Take species (by any name) and terms out, with their texts, photos and vectors.

    They stay out: kb build and kb update pass them over, and kb status counts them. kb add --name NAME undoes that.

    Example: kb remove --kb birds.kb "Northern Cardinal" "Corvus corax"
    """
    from data.codec import to_json

    removed = upkeep.removed(options.settings(kb=kb), names)
    output.write(output.as_json(to_json(removed)) if form == "json" else upkeep_text.removed_text(removed))
