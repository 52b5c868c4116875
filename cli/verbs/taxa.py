"""`kb taxa`: names in the checklist and in a knowledge base."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output, wiring
from cli.common.reports import lineage_text
from data.errors import BadInput, UnknownTaxon, UsageError
from data.frames import as_csv, frame_of

if TYPE_CHECKING:
    from data.contracts import Checklist
    from data.records import Taxon
    from kb.checklist.reconcile import MatchedName, Reconciled, UnmatchedName

COLUMNS = (
    *("name", "scientific_name", "common_name", "taxon_id", "rule", "matched_name"),
    *("other_species", "reason", "suggestions"),
)


@click.command()
@click.argument("name", nargs=-1)
@options.kb_option("Also count the species of this knowledge base.", needed=True)
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True), metavar="FILE",
              help="Match the names of a file: one a line (- is stdin), or a table or JSON list as for "
              "--species-list.")  # fmt: skip
@options.checklist_option
@options.format_option("table", "csv", "json")
def taxa(name: tuple[str, ...], kb: Path | None, file: Path | None, checklist: str | None, form: str) -> None:
    """Find the taxon with the scientific or common NAME, and its lineage.

    Names are compared without case, accents and hyphens; author and year may follow. Synonyms, subspecies, plurals,
    abbreviated genera, labels of datasets (`009.Brewer_Blackbird`) and eBird codes match too, and *matched as* gives
    the rule. An unknown name gives exit code 5 and the nearest names, a name of several taxa the choices. With --file,
    the report has a row for each name.

    Example: kb taxa Strigiformes
    """
    if bool(name) == (file is not None):
        raise UsageError(
            "Expected either a NAME or --file FILE.", hint="kb taxa Strigiformes, or kb taxa --file list.txt"
        )
    if file is not None:
        report_file(kb, file, form, checklist)
    elif form == "csv":
        raise UsageError("--format csv needs --file.", hint="Use --format json.")
    else:
        report_taxon(kb, " ".join(name), form, checklist)


def report_taxon(kb: Path | None, name: str, form: str, listed: str | None) -> None:
    """Print the taxon with a name, and the number of its species in the knowledge base, if there is one."""
    from kb.checklist.wiki_checklist import WikiChecklist
    from kb.lookup.entries import missing_species, why_missing

    settings = options.settings(kb=kb)
    held, notes = None, ""
    checklist = wiring.open_checklist(settings, listed, settings.kb)
    if settings.kb is not None:
        with wiring.open_knowledge_base(settings) as store:
            held = frozenset(store.taxon_ids)
            if isinstance(checklist, WikiChecklist):
                checklist = WikiChecklist(store.taxa())
            if checklist.group and (missing := missing_species(store, name)) is not None:
                notes = " ".join(why_missing(store, missing))
    elif isinstance(checklist, WikiChecklist):
        raise UsageError("--checklist wiki is for kb build, and for a knowledge base built with it.", hint="Add --kb.")
    taxon, matched_as = find_by_any_rule(checklist, name)
    if notes:
        output.note(notes)
    if form == "json":
        names = ("taxon_id", "scientific_name", "common_name", "rank")
        row = {**{name: getattr(taxon, name) for name in names}, "score": 1.0, "lineage": dict(taxon.lineage)}
        output.write(output.as_json([{**row, "matched_as": matched_as}]))
        return
    fields = {
        "rank": taxon.rank,
        "scientific name": taxon.scientific_name,
        "common name": taxon.common_name,
        "lineage": lineage_text(taxon),
        "species": f"{checklist.n_species_of(taxon):,}",
    }
    if held is not None:
        fields["in knowledge base"] = f"{sum(each in held for each in checklist.species_ids(taxon)):,}"
    if matched_as:
        fields["matched as"] = matched_as
    output.write(output.as_table(list(fields), [list(fields.values())], right=["species", "in knowledge base"]))


def find_by_any_rule(checklist: Checklist, name: str) -> tuple[Taxon, str]:
    """Return the taxon with a name, and the rule and name that matched; empty for a name that it goes by.

    Raises:
        UnknownTaxon: with suggestions.
        AmbiguousTaxon: with the choices, if several taxa have the name.
        BadInput: for the name of a hybrid or of several species.
    """
    from kb.checklist.names import fold
    from kb.checklist.reconcile import Reconciler
    from kb.checklist.selection import find_taxon

    unknown: UnknownTaxon | None = None
    try:
        found = find_taxon(checklist, name)
        if found.rank != "species" or fold(name) in map(fold, (found.scientific_name, *found.common_names[:1])):
            return found, ""
    except UnknownTaxon as error:
        unknown = error
    result = Reconciler(checklist).reconcile([name])
    for match in result.matched:
        return match.taxon, f"{match.rule}: {match.matched_name}"
    if unknown is None:
        return found, ""
    missed = result.unmatched[0]
    if missed.is_of_several:
        what = {"hybrid": "a hybrid", "genus only": "a genus without a species"}.get(missed.reason, "several species")
        names = missed.suggestions or unknown.suggestions
        near = f"Did you mean {', '.join(names)}?" if names else None
        raise BadInput(f'"{name}" names {what}, expected one taxon.', hint=near)
    raise unknown


def report_file(kb: Path | None, file: Path, form: str, checklist: str | None) -> None:
    """Print the species for each name of a file."""
    from kb.checklist.reconcile import Reconciler
    from kb.checklist.species_lists import read_list
    from kb.checklist.wiki_checklist import WikiChecklist

    read = read_list(sys.stdin.buffer.read(), "stdin") if str(file) == "-" else read_list(file)
    listed = [row.names for row in read.rows]
    settings = options.settings(kb=kb)
    opened = wiring.open_checklist(settings, checklist, settings.kb)
    if isinstance(opened, WikiChecklist):
        if settings.kb is None:
            raise UsageError("--checklist wiki needs a knowledge base built with it.", hint="Add --kb.")
        with wiring.open_knowledge_base(settings) as store:
            opened = WikiChecklist(store.taxa())
    found = Reconciler(opened).reconcile_rows(listed)
    matches = [row_of(result) for result in found.results]
    if form == "table":
        output.write(table(matches))
    elif form == "json":
        output.write(output.as_json(matches))
    else:
        output.write_rows(as_csv(frame_of(matches, dict.fromkeys(COLUMNS, "text"))))
    for note in read.notes:
        output.note(f"{file}: {note}")
    output.note(summary(found))


def row_of(result: MatchedName | UnmatchedName) -> dict[str, object]:
    """Return a row with the `COLUMNS`."""
    from kb.checklist.reconcile import MatchedName

    if isinstance(result, MatchedName):
        taxon = result.taxon
        values = [taxon.scientific_name, taxon.common_name, taxon.taxon_id, result.rule, result.matched_name]
        row = [result.name, *values, list(result.elsewhere), None, []]
    else:
        row = [result.name, *(None,) * 5, [], result.reason, list(result.suggestions)]
    return dict(zip(COLUMNS, row, strict=True))


def table(listed: Sequence[dict[str, object]]) -> str:
    """Return the rows for people: matches, ambiguous names, names without a match."""
    shown = ("name", "scientific_name", "common_name", "rule", "matched_name")
    ambiguous = ("name", "scientific_name", "other_species")
    missed = ("name", "reason", "suggestions")
    tables = (
        (["name", "scientific name", "common name", "rule", "matched name"], shown, "rule", True),
        (["name", "matched to", "also a name of"], ambiguous, "other_species", True),
        (["not matched", "reason", "suggestions"], missed, "rule", False),
    )
    parts = []
    for heads, columns, key, is_given in tables:
        cells = [
            ["; ".join(cell) if isinstance(cell := row[name], list) else cell for name in columns]
            for row in listed
            if bool(row[key]) == is_given
        ]
        parts += [output.as_table(heads, cells)] if cells else []
    return "\n\n".join(parts)


def summary(found: Reconciled) -> str:
    """Return the number of names matched, in all and by each rule."""
    n = len(found.matched) + len(found.unmatched)
    rules = Counter(match.rule for match in found.matched)
    by = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common())
    has = "has" if len(found.shared) == 1 else "have"
    several = f"; {len(found.shared):,} species {has} several names" if found.shared else ""
    return f"{len(found.matched):,} of {n:,} names matched{several}" + (f"\nby {by}" if by else "")
