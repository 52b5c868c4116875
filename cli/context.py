"""`kb context`: what a knowledge base knows of the words of a query."""

from __future__ import annotations

from pathlib import Path

import click

from cli import options, output, reports, wiring


@click.command()
@options.words_argument("query")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@options.format_option("text", "json")
def context(query: str, kb: Path | None, form: str) -> None:
    """Explain the species and terms in QUERY, with sources; finding nothing is no error.

    Example: kb context "Water frogs in amplexus position"
    """
    from data.codec import to_json

    settings = options.settings(kb=kb)
    with wiring.opened_or_starter(settings) as store:
        found = wiring.context_of(store, query)
    output.write(output.as_json(to_json(found)) if form == "json" else reports.context_text(found))
