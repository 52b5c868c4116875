"""`kb status`: what a knowledge base holds."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring


@click.command()
@options.kb_option()
@click.option("--left-out", "is_about_left_out", is_flag=True, help="List each name that was left out, and why.")
@options.format_option("table", "json")
def status(kb: Path | None, is_about_left_out: bool, form: str) -> None:
    """Say what a knowledge base holds, what failed, and what was left out and why."""
    from data.codec import to_json

    with wiring.opened(options.settings(kb=kb)) as store:
        if is_about_left_out:
            rows = sorted(store.ledger.left_out(), key=lambda row: (row[1], row[0]))
            output.write(
                output.as_json([dict(zip(reports.LEFT_OUT_COLUMNS, row, strict=True)) for row in rows])
                if form == "json"
                else output.as_table(reports.LEFT_OUT_COLUMNS, rows)
            )
            return
        found = store.status()
        output.write(output.as_json(to_json(found)) if form == "json" else reports.status_text(found, store.path))
