"""`kb status`: what a knowledge base holds."""

from __future__ import annotations

from pathlib import Path

import click

from cli import options, output, reports, wiring


@click.command()
@options.kb_option()
@options.format_option("table", "json")
def status(kb: Path | None, form: str) -> None:
    """Say what a knowledge base holds, what failed, and what was left out and why."""
    from data.codec import to_json

    with wiring.opened(options.settings(kb=kb)) as store:
        found = store.status()
        output.write(output.as_json(to_json(found)) if form == "json" else reports.status_text(found, store.path))
