"""`kb verify`: integrity of a knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import exit_codes, options, output, wiring


@click.command()
@options.kb_option(needed=True)
@options.format_option("text", "json")
@click.pass_context
def verify(ctx: click.Context, kb: Path | None, form: str) -> None:
    """Check a knowledge base, repair it where possible, and print its digest.

    The ledger is compared with Chroma, files and cache. Knowledge bases with the same content have the same digest.
    Exit code 1 if anything was found, repaired or not; once everything is repaired, the next run ends with 0.

    Example: kb verify --kb birds.kb
    """
    import kb as library

    found = library.verify(wiring.required_path(options.settings(kb=kb)))
    lines = [f"problem   {problem}" for problem in found.problems if problem not in found.mended]
    lines += [f"repaired  {problem}" for problem in found.mended]
    is_repaired = len(found.mended) == len(found.problems)
    lines += [f"ok        {'yes' if found.ok else 'repaired' if is_repaired else 'no'}", f"digest    {found.digest}"]
    output.write_record(form, found, lambda: "\n".join(lines))
    if not found.ok:
        ctx.exit(exit_codes.FINDINGS)
