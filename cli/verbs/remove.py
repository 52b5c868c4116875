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

    removed = library.remove(wiring.required_path(options.settings(kb=kb)), names)
    fields = {"removed": ", ".join(removed.names), "files deleted": removed.files}
    text = output.as_fields(fields) if removed.names else "Nothing to do: removed before."
    output.write_record(form, removed, lambda: text)
