"""`kb build`: a knowledge base from a wiki, a folder of articles, or the shipped knowledge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output, reports
from cli.common.config import Settings
from cli.common.models import chosen_distiller, estimate_fields, usage_fields
from cli.common.progress import stage_progress
from cli.common.wiring import load_encoders
from cli.verbs.build.arguments import BuildArguments
from data.errors import CostStop
from data.records import STAGES, Stage
from kb.distill.names import DISTILLERS
from recognize.settings import PROFILES

if TYPE_CHECKING:
    from kb.pipeline.selection import Selection

EXIT_PARTLY = 7


@click.command()
@click.option(
    "--taxon",
    "taxa",
    multiple=True,
    metavar="T",
    help="Class, order, family, genus or species by any name; may be repeated.",
)
@click.option(
    "--kb",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Knowledge base.  [default: FIELDMARK_KB, else ./ and the name of T, PAGE, C or CSV]",
)
@click.option(
    "--source",
    default="wikipedia",
    show_default=True,
    metavar="wikipedia|folder:DIR|starter",
    help="Source of the articles.",
)
@click.option("--api-url", metavar="URL", help="The api.php of any MediaWiki.  [default: Wikipedia's]")
@click.option("--list", "list_page", metavar="PAGE", help="Take the species linked from a list page.")
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
    help="Also take terms: one a line, optionally a tab and the title of its page.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Largest number of species.")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Encoders of a new knowledge base.  [default: starter]",
)
@click.option("--only", type=click.Choice(STAGES), metavar="STAGE", help=f"Run one stage: {', '.join(STAGES)}.")
@click.option(
    "--chroma",
    metavar="URL|folder",
    help="Place of the collections: a Chroma server or the folder; existing ones are moved.",
)
@click.option(
    "--distiller",
    type=click.Choice(DISTILLERS),
    help="Writer of the summaries; the models need [llm.text].  [default: as before, at first extractive]",
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Cost limit of the model.")
@click.option("--offline", is_flag=True, help="Use cached model replies only.")
@click.option("--dry-run", is_flag=True, help="Print what would be built and the cost of a model; write nothing.")
@click.option("--contact", metavar="ADDRESS", help="Your address for the User-Agent; Wikimedia requires one.")
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
    max_cost: float | None,
    offline: bool,
    dry_run: bool,
    contact: str | None,
) -> None:
    """Build a knowledge base: find articles, distil descriptions, download free photos, encode and index.

    An interrupted build resumes when it is run again; a second run fetches only what is new. Photos with a free licence
    are taken from the English Wikipedia; --set language=CODE and --set licences=any change that.

    Example: kb build --taxon Aves --kb birds.kb --contact you@example.org
    """
    given = BuildArguments(
        source=source, taxa=taxa, list_page=list_page, category=category, names=names, terms=terms, limit=limit,
        only=only, chroma=chroma, is_dry_run=dry_run, has_api_url=api_url is not None,
    )  # fmt: skip
    settings = options.settings(kb=kb, api_url=api_url, profile=profile, contact=contact, distiller=distiller)
    path = settings.kb or given.default_path
    with ExitStack() as stack:
        if dry_run:
            output.write(plan_text(given, settings, path, stack, max_cost=max_cost, offline=offline))
            return
        import kb as library
        from kb.pipeline.begin import profile_to_build
        from kb.pipeline.selection import require_species
        from kb.pipeline.settings import BuildSettings

        encoders = load_encoders(profile_to_build(path, settings.profile))
        began = time.monotonic()
        distilling = stack.enter_context(chosen_distiller(settings, path, max_cost=max_cost, offline=offline))
        selection = select(given, settings, stack, spaces=encoders.anchor_spaces)
        progress = stack.enter_context(stage_progress(quiet=options.invocation().quiet))
        stopped: CostStop | None = None
        try:
            status = library.build(
                path,
                selection.taxa,
                selection.source,
                encoders,
                terms=selection.terms,
                located=selection.located,
                selection=selection.name,
                limit=limit,
                only=only,
                distiller=distilling.distiller,
                settings=BuildSettings(chroma=given.chroma),
                progress=progress,
            )
        except CostStop as error:
            stopped = error
            with library.open(path) as store:
                status = store.status()
    if only is None and stopped is None:
        require_species(status, selection)
    n_requests = selection.source.n_requests or None
    seconds = time.monotonic() - began
    model = usage_fields(distilling)
    output.write(reports.build_text(status, path, seconds=seconds, n_requests=n_requests, model=model))
    if stopped is not None:
        raise stopped
    if status.failures:
        ctx.exit(EXIT_PARTLY)


def select(given: BuildArguments, settings: Settings, stack: ExitStack, *, spaces: tuple[str, ...] = ()) -> Selection:
    """Open the source and return what a build takes from it."""
    from kb.pipeline import selection

    if given.kind == "starter":
        return selection.select_shipped(given.taxa, spaces=spaces)
    if given.kind == "folder":
        return selection.select_from_folder(given.folder or Path(), given.taxa, names=given.names, terms=given.terms)
    from kb.sources.mediawiki.source import WikipediaSource

    def open_wiki() -> WikipediaSource:
        wiki = WikipediaSource(
            settings.api_url,
            contact=settings.contact,
            language=settings.language,
            allow_any_licence=settings.licences == "any",
        )
        stack.callback(wiki.close)
        return wiki

    return selection.select_from_wiki(
        open_wiki, given.taxa, list_page=given.list_page, category=given.category, names=given.names, terms=given.terms
    )


def plan_text(
    given: BuildArguments,
    settings: Settings,
    path: Path,
    stack: ExitStack,
    *,
    max_cost: float | None,
    offline: bool,
) -> str:
    """Return the contents that a build would have; pages are looked up, no body is fetched, nothing is written."""
    from kb.pipeline.selection import preview

    selection = select(given, settings, stack)
    found = preview(selection, limit=given.limit)
    fields = {
        "would build": str(path),
        "source": selection.source.name,
        "taxa looked up": found.n_taxa,
        "pages found": found.n_pages,
        "left out": reports.by_reason(found.left_out),
        "requests": selection.source.n_requests or None,
        **_estimate(settings, path, selection, stack, n_pages=found.n_pages, max_cost=max_cost, offline=offline),
    }
    return output.as_fields(fields) + "\nNothing was written."


def _estimate(
    settings: Settings,
    path: Path,
    selection: Selection,
    stack: ExitStack,
    *,
    n_pages: int,
    max_cost: float | None,
    offline: bool,
) -> Mapping[str, object]:
    """Return the cost of a model distiller; nothing for the others."""
    from kb.distill.model import ModelDistiller
    from kb.pipeline.estimate import estimate_distilling

    distilling = stack.enter_context(
        chosen_distiller(settings, path, max_cost=max_cost, offline=offline, is_dry_run=True)
    )
    if distilling.chat is None or not isinstance(distilling.distiller, ModelDistiller):
        return {}
    estimate = estimate_distilling(
        path, selection.source, distilling.distiller, distilling.chat.endpoint, n_pages=n_pages
    )
    return estimate_fields(estimate)
