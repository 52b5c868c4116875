"""`kb status`: the contents of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring

LEFT_OUT_COLUMNS = ("name", "reason", "detail")


@click.command()
@options.kb_option()
@click.option("--left-out", "lists_left_out", is_flag=True, help="List every name that was left out, with the reason.")
@options.format_option("table", "json")
def status(kb: Path | None, lists_left_out: bool, form: str) -> None:
    """Count species, photos and terms of a knowledge base, failures, and names left out by reason."""
    from data.codec import to_json

    with wiring.opened(options.settings(kb=kb)) as store:
        if lists_left_out:
            rows = store.left_out()
            output.write(
                output.as_json([dict(zip(LEFT_OUT_COLUMNS, row, strict=True)) for row in rows])
                if form == "json"
                else output.as_table(LEFT_OUT_COLUMNS, rows)
            )
            return
        found = store.status()
        output.write(output.as_json(to_json(found)) if form == "json" else reports.status_text(found, store.path))
