"""`kb lint`: statements in summaries that the article does not support."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output, wiring
from data.frames import as_csv, frame_of
from data.words import plural

if TYPE_CHECKING:
    from kb.curate.lint import LintReport, Severity

COLUMNS = ("severity", "rule", "species", "sentence", "detail", "text")
CSV_COLUMNS = ("severity", "rule", "taxon_id", "name", "statement", "detail", "text")

# Written out, so that the help loads nothing; a test compares it with `kb.curate.lint`.
RULES_HELP = """\b
Rules and their severity:
  no-evidence        error    a statement without evidence in the article
  unsupported        error    a colour or number that is not in its evidence
                     warning  a body part or a shade such as dark that is not there
  sex-mixed-up       error    another sex or age than in the evidence
                     warning  all birds, but the evidence describes one sex or age
  own-name           error    the name of the species in a refined summary
  not-visual         warning  a statement that is not about looks
  partly-not-visual  note     a clause on song, range, names, behaviour, breeding
  too-short          warning  fewer than 12 words (a note for facts)
  too-long           warning  more than 150 words (400 for facts)
  same-text          warning  another species has the same summary"""


@click.command(epilog=RULES_HELP)
@options.kb_option()
@click.option(
    "--severity",
    type=click.Choice(("error", "warning", "note")),
    default="error",
    show_default=True,
    help="Least severe finding that gives exit code 1.",
)
@options.format_option("table", "csv", "json", "jsonl")
@click.pass_context
def lint(ctx: click.Context, kb: Path | None, severity: Severity, form: str) -> None:
    """Check every sentence of every summary against its evidence in the article.

    All findings are printed, the worst last. Exit code 1 if one is as severe as --severity.
    """
    from data.codec import to_json
    from kb.curate.lint import lint as lint_store

    with wiring.open_knowledge_base(options.settings(kb=kb)) as store:
        report = lint_store(store)
    if form == "json":
        payload = {"ok": not report.has(severity), "counts": dict(report.counts), **to_json(report)}
        output.write(output.as_json(payload))
    elif form == "jsonl":
        output.write_rows(output.json_lines(report.findings))
    elif form == "csv":
        output.write_rows(as_csv(frame_of(report.findings, dict.fromkeys(CSV_COLUMNS, "text"))))
    else:
        output.write(_text(report))
    if report.has(severity):
        ctx.exit(exit_codes.FINDINGS)


def _text(report: LintReport) -> str:
    """Return the findings as a table, the worst last where they are in sight, and the number for each rule."""
    severities = list(report.counts)
    findings = sorted(report.findings, key=lambda finding: -severities.index(finding.severity))
    rows = [(f.severity, f.rule, f.name, f.statement, f.detail, f.text) for f in findings]
    n_by_rule = Counter((finding.severity, finding.rule) for finding in findings)
    lines = [f"{severity:<8} {rule:<18} {n:,}" for (severity, rule), n in n_by_rule.items()]
    checked = plural(report.n_statements, "sentence") + " of "
    checked += plural(report.n_species, "species", "species") + " checked"
    return "\n".join([*([output.as_table(COLUMNS, rows), ""] if rows else []), *lines, checked])
