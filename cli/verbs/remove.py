"""`kb remove`: species and terms out of a knowledge base, for good."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@options.kb_option(needed=True)
@options.format_option("text", "json")
def remove(names: tuple[str, ...], kb: Path | None, form: str) -> None:
    """Remove species (by any name) and terms, with their texts, photos and vectors.

    They stay out: kb build and kb update skip them, and kb status counts them. kb add --name NAME undoes that.

    Example: kb remove --kb birds.kb "Northern Cardinal" "Corvus corax"
    """
    import kb as library
    from data.codec import to_json

    removed = library.remove(wiring.named(options.settings(kb=kb)), names)
    if form == "json":
        output.write(output.as_json(to_json(removed)))
    elif removed.names:
        output.write(output.as_fields({"removed": ", ".join(removed.names), "files deleted": removed.files}))
    else:
        output.write("Nothing to do: removed before.")
