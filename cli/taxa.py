"""`kb taxa`: names, in the knowledge base and in the checklist."""

from __future__ import annotations

from pathlib import Path

import click

from cli import options, output, reports, wiring


@click.command()
@options.words_argument("name")
@options.kb_option("Also count its species in this knowledge base; without it in that of FIELDMARK_KB, if it is set.")
@options.format_option("table", "json")
def taxa(name: str, kb: Path | None, form: str) -> None:
    """Find the taxon that NAME, scientific or English, stands for, with its lineage; works without a knowledge base.

    Names are compared without case, accents and hyphens. An unknown name ends with 5 and the nearest names.
    """
    from data.codec import to_json

    found = wiring.find_taxa(options.settings(kb=kb), name)
    if form == "json":
        output.write(output.as_json([to_json(item.match) for item in found]))
    else:
        output.write(reports.taxa_table(found))
