"""`kb species`: the species of a knowledge base, and missing ones."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import delimited, options, output, wiring
from cli.common.reports import NOTES
from data.words import plural

COLUMNS = (
    *("scientific_name", "common_name", "order", "family", "is_included", "description_words", "reference_photos"),
    *("notes", "taxon_id"),
)


@click.command()
@options.kb_option()
@click.option("--taxon", "taxa", multiple=True, metavar="T", help="Only species below this taxon; may be repeated.")
@click.option("--missing", is_flag=True, help="Also list species of the checklist that the knowledge base lacks.")
@options.format_option("table", "csv", "json")
def species(kb: Path | None, taxa: tuple[str, ...], missing: bool, form: str) -> None:
    """List the species of a knowledge base: words of the description, reference photos, notes.

    Example: kb species --taxon Anatidae --missing
    """
    from data.codec import to_json
    from kb.lookup.species_list import list_species

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        found = list_species(store, taxa, with_missing=missing)
    if form == "json":
        output.write(output.as_json([to_json(each) for each in found]))
    elif form == "csv":
        records = ({**to_json(each), "notes": "; ".join(each.notes)} for each in found)
        rows = (delimited.escape_formulas(record[name] for name in COLUMNS) for record in records)
        output.write_rows(delimited.as_csv(COLUMNS, rows))
    else:
        table = [
            (each.common_name, each.scientific_name, each.description_words or None, each.reference_photos or None,
             ", ".join(NOTES[note] for note in each.notes) if each.is_included else "not included")
            for each in found
        ]  # fmt: skip
        heads = ["common name", "scientific name", "words", "photos", "notes"]
        output.write(output.as_table(heads, table, right=["words", "photos"]) if table else "No species found.")
    n_included = sum(each.is_included for each in found)
    lacking = f", {len(found) - n_included:,} not included" if missing else ""
    output.note(f"{plural(n_included, 'species', 'species')}{lacking}")
