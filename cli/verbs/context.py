"""`kb context`: an explanation of the words in a query."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.common import exit_codes, options, output, wiring
from cli.common.language_models import cost_text
from cli.common.reports import source_text
from data.errors import UsageError
from data.words import plural

if TYPE_CHECKING:
    from data.records import Context
    from kb.endpoints.endpoint import Meter
    from kb.lookup.context_settings import ContextSources


@click.command()
@click.argument("words", nargs=-1, metavar="[QUERY]")
@options.kb_option()
@click.option(
    "--file",
    type=options.FILE,
    metavar="FILE",
    help="Many queries: a CSV with a column query_text, text or query, a rerank job (.jsonl), or one query per line.",
)
@click.option("--wiki/--no-wiki", default=None, help="Ask the wiki always, or never.  [default: context.wiki]")
@options.wiki_options
@click.option("--web/--no-web", default=None, help="Search the web always, or never.  [default: context.web]")
@click.option(
    "--model/--no-model",
    default=None,
    help="Have a model ([llm.text]) write the passage; with --model its failure is an error (exit code 6).",
)
@options.cost_options
@click.option("--store/--no-store", default=True, help="Keep new explanations in the knowledge base.  [default: store]")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "jsonl")),
    default=None,
    help="Output format.  [default: text, or jsonl with --file]",
)
@click.pass_context
def context(
    ctx: click.Context,
    words: tuple[str, ...],
    kb: Path | None,
    file: Path | None,
    wiki: bool | None,
    api_url: str | None,
    contact: str | None,
    web: bool | None,
    model: bool | None,
    max_cost: float | None,
    offline: bool,
    store: bool,
    form: str | None,
) -> None:
    """Explain the species and terms in QUERY, with sources.

    Finding nothing is not an error. The knowledge base answers first, offline. What it leaves unexplained is looked up
    in a wiki, if one is set (--wiki, --api-url, or api_url in the settings), then on the web, if [llm.search] is set.
    The settings context.kb, context.wiki and context.web (always, if-needed or never) and context.order change that. If
    [llm.text] is set, that model writes the passage from knowledge base and wiki alone; if it fails, the passage is put
    together without it, and says so; with --model the exit code is then 6, or 7 if it wrote other passages. If the wiki
    or the web search fails, the passage comes from the others, and the exit code is 7. A search model's answer stays
    whole. The cost is printed on stderr.

    Example: kb context "Two frogs in amplexus"
    """
    from cli.common.query_file import FileQuery, read_queries
    from data.codec import to_json
    from kb.endpoints.endpoint import Budget
    from kb.lookup.context import contexts
    from kb.lookup.search import suggestions

    if bool(" ".join(words).strip()) == (file is not None):
        raise UsageError("Expected either a QUERY or --file FILE.")
    queries = [FileQuery(text=" ".join(words))] if file is None else read_queries(file)
    form = form or ("text" if file is None else "jsonl")
    settings = options.settings(kb=kb, api_url=api_url, contact=contact)
    budget = Budget(max_cost)
    with (
        wiring.open_knowledge_base(settings) as knowledge,
        wiring.open_context_sources(
            settings,
            context=options.context_settings(wiki=wiki, web=web),
            model=model,
            budget=budget,
            offline=offline,
            learn=store,
        ) as sources,
    ):
        written, rows = set[str](), list[object]()
        encoder = wiring.load_encoders(knowledge.info.profile).sentence
        answers = contexts(knowledge, [query.text for query in queries], encoder, sources)
        try:
            for i, (query, answer) in enumerate(zip(queries, answers, strict=True)):
                if answer.written_by is not None and answer.asked_on is None:
                    written.add(answer.query)
                if form == "text":
                    meant = [] if answer.found else suggestions(knowledge, query.text)
                    text = context_text(answer, has_model=sources.chat is not None, meant=meant)
                    output.write(text if file is None else "\n" * (i > 0) + f"# {query.text}\n{text}")
                    continue
                row = to_json(answer)
                rows.append({"query_id": query.query_id, **row} if query.query_id else row)
                if form == "jsonl":
                    output.write(json.dumps(rows.pop(), ensure_ascii=False))
            if form == "json":
                output.write(output.as_json(rows[0] if file is None else rows))
        finally:
            # Also after an interrupt: the user pays for this, and may not know that a model is configured.
            if spent := _spent(sources, budget.meter):
                output.note(spent)
        if sources.require_chat and sources.unwritten:
            ctx.exit(exit_codes.of_failures(len(sources.unwritten), len(sources.unwritten | written)))
        if sources.failed:
            ctx.exit(exit_codes.PARTLY)


def context_text(context: Context, *, has_model: bool = False, meant: Sequence[str] = ()) -> str:
    """Return the passage with its sources and, where a model is set, its author; or that nothing was found.

    Where the answer of a search model has marks such as [2], sources are numbered. `meant` are names to suggest if
    nothing was found.
    """
    if not context.found:
        quoted = " or ".join(f'"{name}"' for name in meant)
        return (
            f"Nothing found. Did you mean {quoted}?" if meant else "\n".join(["Nothing found.", *_unexplained(context)])
        )
    lines = [output.wrapped(paragraph) for paragraph in context.passage.split("\n")] if context.passage else []
    lines += [f"{group}." for group in context.groups]
    if context.asked_on is not None:
        lines += [f"(answer of {context.written_by}, {context.asked_on})"]
    elif context.written_by is not None:
        lines += [f"(written by {context.written_by} from the sources below)"]
    elif has_model and context.passage:
        lines += ["(assembled from the sources, without a model)"]
    lines += _unexplained(context)
    if context.sources:
        lines += ["", "Sources"]
    is_numbered = context.asked_on is not None and re.search(r"\[\d+\]", context.passage) is not None
    for number, source in enumerate(context.sources, start=1):
        lines.append(f"  [{number}] {source_text(source)}" if is_numbered else f"  {source_text(source)}")
    return "\n".join(lines)


def _unexplained(context: Context) -> list[str]:
    return [f"Not explained: {', '.join(context.unexplained)}"] if context.unexplained else []


def _spent(sources: ContextSources, meter: Meter) -> str:
    """Return the models, their calls and the cost; empty without calls."""
    if not (meter.calls or meter.unsure_usd):
        return ""
    off = " ".join(flag for flag, used in (("--no-web", sources.search), ("--no-model", sources.chat)) if used)
    cost = cost_text(meter, "search" if sources.chat is None else "text")
    models = " and ".join(each.name for each in (sources.search, sources.chat) if each is not None)
    return f"{models}: {plural(meter.calls, 'call')}, cost {cost} ({off} turns this off)"
