"""`kb status`: the contents of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring
from data.errors import UsageError, did_you_mean

LEFT_OUT_COLUMNS = ("name", "reason", "detail")
FAMILY_COLUMNS = ("family", "species", "articles", "summaries", "with photos")


@click.command()
@options.kb_option()
@click.option("--left-out", "left_out", metavar="[REASON]", is_flag=False, flag_value="",
              help="List every name that was left out and every skipped photo, with the reason; or those of a "
              "REASON, such as 'no page'.")  # fmt: skip
@click.option("--by-family", "is_by_family", is_flag=True,
              help="Count the species looked for by family, and those with article, summary, photos.")  # fmt: skip
@options.format_option("table", "json")
def status(kb: Path | None, left_out: str | None, is_by_family: bool, form: str) -> None:
    """Count species, photos and terms of a knowledge base, failures, and names left out by reason.

    Example: kb status --kb birds.kb --left-out "no page"
    """
    if left_out is not None and is_by_family:
        raise UsageError("--left-out and --by-family cannot be combined: each prints a table.", hint="Give one.")
    from data.codec import to_json
    from kb.store.status import family_coverage

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        if left_out is not None:
            rows = [*store.left_out(), *store.skipped_photos()]
            if left_out:
                known = list(dict.fromkeys(reason for _, reason, _ in rows))
                rows = [row for row in rows if row[1].lower() == left_out.lower()]
                if not rows:
                    hint = did_you_mean(left_out, known) or f"Reasons: {'; '.join(known) or 'none'}."
                    raise UsageError(f'Nothing was left out for the reason "{left_out}".', hint=hint)
            listed = [dict(zip(LEFT_OUT_COLUMNS, row, strict=True)) for row in rows]
            table = output.as_table(LEFT_OUT_COLUMNS, rows) if rows else "No name was left out."
            output.write_record(form, listed, lambda: table)
        elif is_by_family:
            families = family_coverage(store.ledger)
            cells = [
                (each.family or "(unknown)", each.species, each.articles, each.summaries, each.reference_photos)
                for each in families
            ]
            table = output.as_table(FAMILY_COLUMNS, cells, right=FAMILY_COLUMNS[1:]) if cells else "No species."
            output.write_record(form, [to_json(each) for each in families], lambda: table)
        else:
            found = store.status()
            output.write_record(form, found, lambda: reports.status_text(found, store.path))
            if form == "table":
                reports.note_group(store)
