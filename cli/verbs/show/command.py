"""`kb show`: all that a knowledge base holds of one species or term."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.verbs.show import entries


@click.command()
@options.words_argument("name")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@options.format_option("text", "json")
def show(name: str, kb: Path | None, form: str) -> None:
    """Show a species or a term by any of its names: summary with the words it rests on, anchors with credits, terms.

    Example: kb show "Northern Cardinal"
    """
    with wiring.opened_or_starter(options.settings(kb=kb)) as store:
        entry = entries.find(store, name)
    output.write(output.as_json(entry.payload()) if form == "json" else entry.text())
