"""`kb search`: species by a description."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring


@click.command()
@options.words_argument("text")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option("--top", "n", type=click.IntRange(min=1), default=10, show_default=True, help="How many species.")
@options.format_option("table", "json")
def search(text: str, kb: Path | None, n: int, form: str) -> None:
    """Find the species that TEXT describes, nearest first.

    Example: kb search "red crest, black mask, thick orange bill"
    """
    from data.codec import to_json

    with wiring.opened_or_starter(options.settings(kb=kb)) as store:
        found = wiring.search(store, text, n=n)
    if form == "json":
        output.write(output.as_json([to_json(match) for match in found]))
    else:
        output.write(reports.matches_table(found) if found else "nothing found")
