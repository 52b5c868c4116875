"""`kb update`: what is new where the pages of a knowledge base came from."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cli.common import options, output, upkeep, upkeep_text
from cli.common.progress import stage_progress

EXIT_PARTLY = 7


@click.command()
@options.kb_option()
@click.option("--contact", metavar="ADDRESS", help="Your address for the User-Agent; Wikimedia asks for one.")
@click.option(
    "--api-url", metavar="URL", help="The wiki's api.php, if what the knowledge base knows of it is not enough."
)
@click.option(
    "--source",
    "kinds",
    multiple=True,
    type=click.Choice(["wikipedia", "folder", "starter"]),
    help="Ask sources of this kind alone; may be repeated.",
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before a model costs more.")
@click.option("--offline", is_flag=True, help="Take a model's replies from the cache alone.")
@options.format_option("text", "json")
@click.pass_context
def update(
    ctx: click.Context,
    kb: Path | None,
    contact: str | None,
    api_url: str | None,
    kinds: tuple[str, ...],
    max_cost: float | None,
    offline: bool,
    form: str,
) -> None:
    """Fetch what changed since: new revisions, pages that moved or are gone, photos that are others now.

    The knowledge base knows which wiki it came from, and what made its summaries. Revisions are asked for 50 pages a
    request; a page that did not change is neither fetched nor distilled. New species are for kb build to find; what you
    removed or added yourself stays as it is.
    """
    from data.codec import to_json

    settings = options.settings(kb=kb, contact=contact)
    order = upkeep.UpdateOrder(api_url=api_url, kinds=kinds, max_cost=max_cost, is_offline=offline)
    began = time.monotonic()
    with stage_progress(quiet=options.invocation().quiet) as progress:
        found, model = upkeep.updated(settings, order, progress)
    seconds = time.monotonic() - began
    text = upkeep_text.update_text(found, model, seconds=seconds)
    output.write(output.as_json(to_json(found)) if form == "json" else text)
    if found.failures:
        ctx.exit(EXIT_PARTLY)
