"""`kb species`: the species of a knowledge base, and missing ones."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, wiring
from cli.common.reports import MISSING, species_table
from data.frames import as_csv, frame_of
from data.words import plural

MOST_ROWS = 200
"""Rows of a table with missing species, of which the checklist has thousands; CSV and JSON have all."""


@click.command()
@options.kb_option()
@click.option("--taxon", "taxa", multiple=True, metavar="T", help="Only species below this taxon; may be repeated.")
@click.option(
    "--missing",
    is_flag=True,
    help="Also list species of the checklist that the knowledge base lacks; they are known by name only.",
)
@options.format_option("table", "csv", "json")
def species(kb: Path | None, taxa: tuple[str, ...], missing: bool, form: str) -> None:
    """List the species of a knowledge base: words of the description, reference photos, notes.

    With --missing, the table shows the first 200 species; --taxon narrows the list, and --format csv has all.

    Example: kb species --taxon Anatidae --missing
    """
    from data.codec import to_json
    from kb.lookup.entries import SPECIES, list_species

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        found = list_species(store, taxa, with_missing=missing)
    if form == "json":
        output.write(output.as_json([to_json(each) for each in found]))
    elif form == "csv":
        output.write_rows(as_csv(frame_of(found, SPECIES)))
    else:
        shown = found[:MOST_ROWS] if missing else found
        output.write(species_table(shown) if shown else "No species found.")
        if len(shown) < len(found):
            output.note(f"First {MOST_ROWS} of {len(found):,} species. --taxon narrows the list; --format csv has all.")
    n_included = sum(each.is_included for each in found)
    lacking = f", {len(found) - n_included:,} {MISSING}" if missing else ""
    output.note(f"{plural(n_included, 'species', 'species')} in the knowledge base{lacking}")
