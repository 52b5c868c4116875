"""`kb taxa`: names, in the knowledge base and in the checklist."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options, output, reports, wiring
from cli.verbs.taxa import names
from data.errors import UsageError


@click.command()
@click.argument("name", nargs=-1)
@options.kb_option("Also count its species in this knowledge base; without it in that of FIELDMARK_KB, if it is set.")
@click.option(
    "--file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Bring the names of a file to species, and report those that none fits: one a line (- is stdin), or a CSV or "
    "JSON list as --species-list takes it.",
)
@options.format_option("table", "csv", "json")
def taxa(name: tuple[str, ...], kb: Path | None, file: Path | None, form: str) -> None:
    """Find the taxon that NAME, scientific or English, stands for, with its lineage; works without a knowledge base.

    Names are compared without case, accents and hyphens. An unknown name ends with 5 and the nearest names.

    With --file, class labels of data sets (`009.Brewer_Blackbird`), names of other lists, codes of eBird, subspecies
    and spellings without the possessive are brought to species too, and each match says by which rule.
    """
    if bool(name) == (file is not None):
        raise UsageError(
            "expected either a NAME or --file FILE", hint="kb taxa Strigiformes, or kb taxa --file list.txt"
        )
    if file is not None:
        _report(file, form)
        return
    if form == "csv":
        raise UsageError("--format csv goes with --file", hint="--format json")
    from data.codec import to_json

    found = wiring.find_taxa(options.settings(kb=kb), " ".join(name))
    if form == "json":
        output.write(output.as_json([to_json(item.match) for item in found]))
    else:
        output.write(reports.taxa_table(found))


def _report(file: Path, form: str) -> None:
    listed = names.read_rows(file)
    found = wiring.reconciled_rows(listed)
    rows = names.rows([given[0] for given in listed], found)
    if form == "table":
        output.write(names.table(rows))
    elif form == "json":
        output.write(output.as_json(rows))
    else:
        output.write_rows(names.as_csv(rows))
    output.note(names.summary(found))
