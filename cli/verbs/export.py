"""`kb export`: a knowledge base as a bundle of Parquet tables and images."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@options.kb_option(needed=True)
@click.option("--vectors/--no-vectors", default=True, show_default=True, help="Include the vectors.")
@options.format_option("text", "json")
def export(out: Path, kb: Path | None, vectors: bool, form: str) -> None:
    """Write a knowledge base to the folder OUT as Parquet tables and images.

    Other programs can read it. It has a dataset card, author and licence of every photo, and the sha256 of every file.
    kb import turns it into the same knowledge base again.

    Example: kb export --kb birds.kb birds-dataset
    """
    import kb as library

    exported = library.export_bundle(wiring.required_path(options.settings(kb=kb)), out, with_vectors=vectors)
    fields = {
        "bundle": str(out),
        "species": f"{exported.species:,}",
        "terms": f"{exported.terms:,}",
        "images": f"{exported.images:,}",
        "files": f"{exported.files:,}",
        "size": f"{exported.bytes / 1e6:,.1f} MB",
        "digest": exported.digest,
    }
    output.write_record(form, exported, lambda: output.as_fields(fields))
