"""`kb export`: a knowledge base as a bundle of Parquet tables and images."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, upkeep, upkeep_text


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@options.kb_option()
@click.option("--vectors/--no-vectors", default=True, show_default=True, help="With the vectors of texts and photos.")
@options.format_option("text", "json")
def export(out: Path, kb: Path | None, vectors: bool, form: str) -> None:
    """Write a knowledge base to the folder OUT as a dataset that other programs read: Parquet tables and images.

    It has a dataset card, every photo with author and licence, and the sha256 of every file. kb import makes the same
    knowledge base of it again.

    Example: kb export --kb birds.kb birds-dataset
    """
    from data.codec import to_json

    exported = upkeep.exported(options.settings(kb=kb), out, with_vectors=vectors)
    shown = output.as_json(to_json(exported)) if form == "json" else upkeep_text.exported_text(exported, out)
    output.write(shown)
