"""`kb build`: a knowledge base out of a wiki, a folder of articles, or what ships with Fieldmark."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cli.common import options, output, reports
from cli.common.config import DISTILLERS, PROFILES, Licences
from cli.common.models import distiller_name
from cli.common.progress import stage_progress
from cli.verbs.build import sources as building
from cli.verbs.build.order import BuildOrder
from data.errors import UsageError
from data.records import STAGES, Stage

EXIT_PARTLY = 7


@click.command()
@click.option(
    "--taxon",
    "taxa",
    multiple=True,
    metavar="T",
    help="A class, order, family, genus or species by any name; may be repeated.",
)
@options.kb_option("Where it goes; without it FIELDMARK_KB, else ./ and the name of TAXON, PAGE, C or CSV.")
@click.option(
    "--source",
    default="wikipedia",
    show_default=True,
    metavar="wikipedia|folder:DIR|starter",
    help="Where articles come from.",
)
@click.option("--api-url", metavar="URL", help="The api.php of any MediaWiki; without it Wikipedia's.")
@click.option("--list", "list_page", metavar="PAGE", help="Take the species that a list page links to.")
@click.option("--category", metavar="C", help="Take the species in a category of the wiki.")
@click.option(
    "--names",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Take the species named in a CSV file.",
)
@click.option(
    "--terms",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Add terms: one a line, optionally a tab and the title of its page.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop at so many species.")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Encoders of a new knowledge base.  [default: starter]",
)
@click.option("--only", type=click.Choice(STAGES), metavar="STAGE", help=f"Run one stage: {', '.join(STAGES)}.")
@click.option(
    "--chroma",
    metavar="URL|folder",
    help="Where the collections go: a Chroma server that others read too, or the folder; moves those that are there.",
)
@click.option(
    "--distiller",
    type=click.Choice(DISTILLERS),
    help="What makes the summaries; the models need [llm.text].  [default: as before, at first extractive]",
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Prompts that replace those of the model distillers, by file name.",
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before a model costs more.")
@click.option("--offline", is_flag=True, help="Take a model's replies from the cache alone.")
@click.option("--dry-run", is_flag=True, help="Say what would be built and what a model would cost; write nothing.")
@click.option("--contact", metavar="ADDRESS", help="Your address for the User-Agent; Wikimedia asks for one.")
@click.option("--language", metavar="CODE", help="The Wikipedia to read.  [default: en]")
@click.option(
    "--licences",
    type=click.Choice(["free", "any"]),
    help="Photos to take; with any, do not publish them.  [default: free]",
)
@click.pass_context
def build(
    ctx: click.Context,
    taxa: tuple[str, ...],
    kb: Path | None,
    source: str,
    api_url: str | None,
    list_page: str | None,
    category: str | None,
    names: Path | None,
    terms: Path | None,
    limit: int | None,
    profile: str | None,
    only: Stage | None,
    chroma: str | None,
    distiller: str | None,
    prompts: Path | None,
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    contact: str | None,
    language: str | None,
    licences: Licences | None,
) -> None:
    """Build a knowledge base of species: find their articles, distil what they look like, take free photos, index all.

    A build that was stopped goes on where it was when it is run again; a second run fetches only what is new.

    Example: kb build --taxon Aves --kb birds.kb --contact you@example.org
    """
    order = BuildOrder(
        source=source, taxa=taxa, list_page=list_page, category=category, names=names, terms=terms, limit=limit,
        only=only, chroma=chroma, max_cost=max_cost, is_offline=offline, is_dry_run=dry_run,
        has_api_url=api_url is not None,
    )  # fmt: skip
    settings = options.settings(
        kb=kb, api_url=api_url, profile=profile, contact=contact, language=language, licences=licences,
        distiller=distiller, prompts=prompts,
    )  # fmt: skip
    path = settings.kb or order.default_path
    if prompts is not None and not (name := distiller_name(settings, path)).startswith("model"):
        raise UsageError(f"--prompts is for models, and the distiller {name} asks none", hint="--distiller model")
    if dry_run:
        output.write(_plan_text(building.planned(order, settings, path)))
        return
    began = time.monotonic()
    with stage_progress(quiet=options.invocation().quiet) as progress:
        built = building.built(order, settings, path, progress)
    seconds = time.monotonic() - began
    output.write(
        reports.build_text(built.status, path, seconds=seconds, n_requests=built.n_requests, model=built.model)
    )
    if built.stopped is not None:
        raise built.stopped
    if built.status.failures:
        ctx.exit(EXIT_PARTLY)


def _plan_text(plan: building.Plan) -> str:
    """Return what a build would take in."""
    fields = {
        "would build": str(plan.path),
        "from": plan.source,
        "taxa looked up": plan.n_taxa,
        "pages found": plan.n_pages,
        "left out": reports.by_reason(plan.left_out),
        "requests": plan.n_requests,
        **plan.model,
    }
    return output.as_fields(fields) + "\nnothing was written"
