"""`kb rerank`: photos that a first stage found, ranked anew by what an expert's words ask for."""

from __future__ import annotations

from pathlib import Path

import click

from cli.common import options
from cli.common.config import PROFILES
from cli.verbs.rerank.listwise import STAGES, ListwiseOrder
from cli.verbs.rerank.order import JUDGES, METHODS, PRESETS, RerankOrder
from cli.verbs.rerank.run import rerank_all

EXIT_PARTLY = 7


@click.command()
@click.argument("job", type=click.Path(exists=True, path_type=Path), metavar="JOB")
@click.option("--query", metavar="TEXT", help="What to look for, where JOB is a folder of photos.")
@click.option(
    "--method", type=click.Choice(METHODS), default="decompose", show_default=True, help="How photos are ranked."
)
@click.option(
    "--preset", type=click.Choice(PRESETS), default="default", show_default=True,
    help="decompose: ours, which costs less, or the paper's constants.",
)  # fmt: skip
@click.option(
    "--context/--no-context", "uses_context", default=True,
    help="decompose: with or without what the knowledge base knows of the query's words.  [default: with]",
)  # fmt: skip
@click.option(
    "--web/--no-web", "asks_web", default=None,
    help="decompose: search the web for words that nothing else explains.  [default: where [llm.search] is set and a "
    "vision model judges]",
)  # fmt: skip
@click.option("--direct", is_flag=True, help="decompose: ask the query as it is, as one question.")
@click.option(
    "--chain/--no-chain", "is_chained", default=None,
    help="Whether a question comes with the answers before it.  [default: with context]",
)  # fmt: skip
@click.option(
    "--together/--apart", "is_together", default=None, help="All questions on a photo in one call, or a call each."
)
@click.option(
    "--stop-below", type=click.FloatRange(0, 1), metavar="P",
    help="After an answer with a probability of yes below P, ask no more about the photo; 0: always ask all.",
)  # fmt: skip
@click.option(
    "--route", "is_routed", is_flag=True,
    help="Ask queries about appearance as they are, with context: a rule read off INQUIRE's test queries.",
)  # fmt: skip
@click.option(
    "--unscored", type=click.Choice(("zero", "mean")),
    help="What a missing answer counts: a no, or the mean of the query's other photos.  [default: zero]",
)  # fmt: skip
@click.option("--judge", type=click.Choice(JUDGES), help="Who answers.  [default: vision where [llm.vision] is set]")
@click.option("--reasoning", is_flag=True, help="vision: the model writes its reasons before each answer.")
@click.option(
    "--votes", type=click.IntRange(1, 9), default=1, show_default=True,
    help="vision: ask so many times (an odd number); the majority answers.",
)  # fmt: skip
@click.option(
    "--without-logprobs", type=click.Choice(("stated", "votes", "text")), default="stated", show_default=True,
    help="vision: where the server gives none, ask for a number, ask five times, or take the word for it.",
)  # fmt: skip
@click.option(
    "--questions-by", type=click.Choice(("model", "rule")),
    help="Who takes queries apart.  [default: the model with --judge vision, a rule with --judge encoder]",
)  # fmt: skip
@click.option(
    "--max-unscored", type=click.FloatRange(0, 1), metavar="SHARE",
    help="A query fails if a larger share of its answers is missing.  [default: 0.2]",
)  # fmt: skip
@click.option(
    "--stages", type=click.Choice(STAGES), default=STAGES[0], show_default=True,
    help="cotrr: all three, or the ranking with photos evaluated, with the query taken apart, or alone.",
)  # fmt: skip
@click.option("--one-call", is_flag=True, help="cotrr: all stages and photos in one call, as its authors' code does.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="cotrr: a ranking names the best N; others follow.")
@click.option(
    "--window", type=click.IntRange(2), metavar="N",
    help="cotrr: photos in one ranking; longer lists go in overlapping windows.  [default: 20, of notes 50]",
)  # fmt: skip
@click.option(
    "--orders", type=click.IntRange(1, 16), metavar="N",
    help="cotrr: show the photos in N orders and fuse the ranks.  [default: 2; paper: 1]",
)  # fmt: skip
@click.option("--prompts", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="Prompts that replace ours, by file name.")  # fmt: skip
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before the run costs more.")
@click.option("--offline", is_flag=True, help="Answer from what earlier runs were told; ask nobody.")
@click.option("--again", is_flag=True, help="Judge all photos again; replies that are kept still answer.")
@click.option("--split", type=click.Choice(("test", "validation")), help="Of INQUIRE-Rerank as published.")
@click.option("--dry-run", is_flag=True, help="Say how many calls the run would make, and stop.")
@options.kb_option("The knowledge base; without it FIELDMARK_KB, else the starter knowledge.")
@click.option(
    "--profile", type=click.Choice(PROFILES), help="similarity: encoders to compare with.  [default: starter]"
)
@click.option(
    "--format", "form", type=click.Choice(("trec", "jsonl")), default="trec", show_default=True,
    help="What goes to stdout: the run, or each photo with its evidence.",
)  # fmt: skip
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="NAME", help="Write NAME.trec and NAME.jsonl instead."
)
@click.pass_context
def rerank(ctx: click.Context, /, job: Path, kb: Path | None, **chosen: object) -> None:
    """Rank the photos of JOB by what its queries ask for, with each question, answer and probability.

    JOB: a file of JSON lines, a query a line ({"query_id", "text", "candidates": [{"image_id", "path", "score"}]});
    INQUIRE-Rerank as published (a Parquet file or its folder); or a folder of photos with --query.

    decompose asks yes/no questions about each photo and takes the mean probability of yes. A run that was stopped goes
    on where it was: what was answered is not asked again. cotrr takes a query apart, notes how well each photo fits,
    and ranks the notes of all photos at once.

    Examples: kb rerank photos/ --query "a warbler with a black cap"; kb rerank jobs.jsonl --judge vision --output run
    """
    names = ("stages", "one_call", "top", "window", "orders")
    listwise = ListwiseOrder(**{name: chosen.pop(name) for name in names})  # type: ignore[arg-type]  # by click too
    order = RerankOrder(job=job, listwise=listwise, **chosen)  # type: ignore[arg-type]  # click has checked them
    is_whole = rerank_all(options.settings(kb=kb), order, quiet=options.invocation().quiet)
    if not is_whole:
        ctx.exit(EXIT_PARTLY)
