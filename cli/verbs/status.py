"""`kb status`: the contents of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring
from cli.common.groups import note_group

LEFT_OUT_COLUMNS = ("name", "reason", "detail")


@click.command()
@options.kb_option()
@click.option("--left-out", "lists_left_out", is_flag=True,
              help="List every name that was left out and every skipped photo, with the reason.")  # fmt: skip
@options.format_option("table", "json")
def status(kb: Path | None, lists_left_out: bool, form: str) -> None:
    """Count species, photos and terms of a knowledge base, failures, and names left out by reason.

    Example: kb status --kb birds.kb --left-out
    """
    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        if lists_left_out:
            rows = [*store.left_out(), *store.skipped_photos()]
            listed = [dict(zip(LEFT_OUT_COLUMNS, row, strict=True)) for row in rows]
            table = output.as_table(LEFT_OUT_COLUMNS, rows) if rows else "No name was left out."
            output.write_record(form, listed, lambda: table)
        else:
            found = store.status()
            output.write_record(form, found, lambda: reports.status_text(found, store.path))
            if form == "table":
                note_group(store)
