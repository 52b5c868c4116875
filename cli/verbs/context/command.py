"""`kb context`: what is known of the words of a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import options, output, reports, wiring
from cli.common.models import cost_text
from data.errors import UsageError

if TYPE_CHECKING:
    from cli.verbs.context.queries import AskedQuery


@click.command()
@click.argument("words", nargs=-1, metavar="[QUERY]")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Many queries: a CSV with a column query_text, text or query, job lines (.jsonl), or a query a line.",
)
@click.option("--wiki/--no-wiki", default=None, help="Look up in the wiki what the knowledge base does not explain.")
@click.option("--api-url", metavar="URL", help="The wiki's api.php, which is then asked; --wiki alone asks Wikipedia.")
@click.option("--contact", metavar="TEXT", help="Who asks, for the User-Agent; Wikimedia's wikis want to know.")
@click.option("--web/--no-web", default=None, help="Search the web ([llm.search]) where nothing else is found.")
@click.option(
    "--model/--no-model",
    default=None,
    help="Let a model ([llm.text]) write the passage from what is found; with --model its failure is an error.",
)
@click.option(
    "--prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A folder whose context.md replaces our prompt for the model.",
)
@click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before search and model together cost more."
)
@click.option("--offline", is_flag=True, help="Ask nobody: replies come from those that are kept.")
@click.option("--store/--no-store", default=True, help="Keep what was learnt in the knowledge base.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "jsonl")),
    default=None,
    help="How to print: text, or jsonl with --file.",
)
def context(
    words: tuple[str, ...],
    kb: Path | None,
    file: Path | None,
    wiki: bool | None,
    api_url: str | None,
    contact: str | None,
    web: bool | None,
    model: bool | None,
    prompts: Path | None,
    max_cost: float | None,
    offline: bool,
    store: bool,
    form: str | None,
) -> None:
    """Explain the species and terms in QUERY, with sources; finding nothing is no error.

    The knowledge base answers, offline. For words that it does not know a wiki is asked where one is named (--wiki,
    --api-url, or api_url in the settings), then the web where [llm.search] is set; where [llm.text] is set, that model
    writes the passage, out of what was found alone; where it cannot be asked, the passage is put together without it,
    and says so. What search and model cost is said on stderr.

    Example: kb context "Two frogs in amplexus"
    """
    from cli.verbs.context.queries import AskedQuery, read_queries
    from data.codec import to_json

    if bool(words) == (file is not None):
        raise UsageError("expected a query or --file FILE, and not both")
    asked = [AskedQuery(text=" ".join(words))] if file is None else read_queries(file)
    form = form or ("text" if file is None else "jsonl")
    settings = options.settings(kb=kb, api_url=api_url, contact=contact, prompts=prompts)
    with (
        wiring.opened_or_starter(settings) as knowledge,
        wiring.helpers_of_context(
            settings, wiki=wiki, web=web, model=model, max_cost=max_cost, offline=offline
        ) as helpers,
    ):
        if prompts is not None and helpers.chat is None:
            raise UsageError("--prompts is for a model, and none writes the passage", hint="[llm.text], or --model")
        rows = zip(
            asked, wiring.contexts_of(knowledge, [query.text for query in asked], helpers, learn=store), strict=True
        )
        try:
            if form == "json":
                found = [_row(query, to_json(answer)) for query, answer in rows]
                output.write(output.as_json(found[0] if file is None else found))
                return
            for i, (query, answer) in enumerate(rows):
                if form == "jsonl":
                    output.write(json.dumps(_row(query, to_json(answer)), ensure_ascii=False))
                else:
                    text = reports.context_text(answer, is_model_asked=helpers.chat is not None)
                    output.write(text if file is None else "\n" * (i > 0) + f"# {query.text}\n{text}")
        finally:
            # Also where it was stopped: somebody pays for this, and may not know that a model is set.
            if spent := _spent(helpers):
                output.note(spent)


def _spent(helpers: wiring.ContextHelpers) -> str:
    """Return who was asked and what it cost; empty where nobody was."""
    if helpers.budget is None:
        return ""
    meter = helpers.budget.meter
    if not (meter.calls or meter.unsure_usd):
        return ""
    calls = f"{meter.calls:,} call{'' if meter.calls == 1 else 's'}"
    without = " ".join(
        flag for flag, asked in (("--no-web", helpers.search), ("--no-model", helpers.chat)) if asked is not None
    )
    cost = cost_text(meter, "search" if helpers.chat is None else "text")
    return f"{' and '.join(helpers.models)}: {calls}, cost {cost} (with {without} nobody is asked)"


def _row(query: AskedQuery, answer: object) -> object:
    return {"query_id": query.query_id, **answer} if query.query_id and isinstance(answer, dict) else answer
