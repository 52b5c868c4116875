"""Estimate of distilling with a model: calls, tokens, minutes, dollars."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from data.codec import loads
from data.errors import StoreError
from data.records import Taxon
from kb.distill.model import PASSES, TARGET_WORDS, ModelDistiller
from kb.endpoints.endpoint import Endpoint
from kb.pipeline.stages.distil import distil_mark
from kb.pipeline.stages.fetch import read_article
from kb.sources.article_source import ArticleSource
from kb.store.layout import Layout
from kb.store.ledger import ledger_so_far
from kb.store.stage_outputs import FetchOutput

ARTICLE_WORDS = 552  # VR-RAG section 3: the mean of 11,202 articles on birds
TOKENS_A_WORD = 4 / 3  # of English, for the usual tokenizers
CHARACTERS_A_TOKEN = 4
WORDS_A_STATEMENT = 12
TOKENS_AROUND_A_STATEMENT = 14  # braces, field names, numbers
# Guesses for a hosted model of middling size.
FIRST_TOKEN_S = 1.0
TOKENS_A_SECOND = 60.0
MOST_MEASURED = 200  # articles that are parsed for their length


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilEstimate:
    """Remaining work of a distiller; tokens, minutes and dollars are estimates that count no cached reply."""

    distiller: str
    pages: int
    """Pages to distil."""
    done: int
    """Pages with a summary by the same model and prompts from the same text."""
    measured: int
    """Articles that the lengths are measured on; 0 means the mean of the paper."""
    calls: int
    input_tokens: int
    output_tokens: int
    minutes: float
    n_concurrent: int
    cost_usd: float | None
    """None if the price is unknown."""


def estimate_distilling(
    path: Path, source: ArticleSource, distiller: ModelDistiller, endpoint: Endpoint, *, n_pages: int
) -> DistilEstimate:
    """Return the estimated work of a model in a build of `n_pages` pages; nothing is requested or written.

    If the knowledge base exists, its fetched articles are measured, and finished summaries are not counted.
    """
    fetched, done, lengths = _measure(Layout(path), source, distiller)
    pages = fetched - done + max(0, n_pages - fetched)
    steps = PASSES[distiller.mode]
    tokens_a_word = TOKENS_A_WORD + TOKENS_AROUND_A_STATEMENT / WORDS_A_STATEMENT
    replies = [TARGET_WORDS[step] * tokens_a_word for step in steps]
    usual = ARTICLE_WORDS * TOKENS_A_WORD + distiller.prompt_tokens(steps[0])
    first = sum(lengths) / len(lengths) if lengths else usual
    # A later pass reads the reply of the pass before it, under its own prompt.
    later = sum(reply + distiller.prompt_tokens(step) for reply, step in zip(replies[:-1], steps[1:], strict=True))
    input_tokens, output_tokens = round(pages * (first + later)), round(pages * sum(replies))
    calls = pages * len(steps)
    seconds = calls * (FIRST_TOKEN_S + sum(replies) / len(steps) / TOKENS_A_SECOND) / endpoint.max_concurrent
    cost = endpoint.cost_usd(input_tokens, output_tokens)
    if cost is not None:
        cost += (calls - 1) * endpoint.price_per_request
    return DistilEstimate(
        distiller=distiller.name,
        pages=pages,
        done=done,
        measured=len(lengths),
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        minutes=seconds / 60,
        n_concurrent=endpoint.max_concurrent,
        cost_usd=cost,
    )


def _measure(layout: Layout, source: ArticleSource, distiller: ModelDistiller) -> tuple[int, int, list[float]]:
    with ledger_so_far(layout.ledger) as ledger:
        if ledger is None:
            return 0, 0, []
        taxa = {key: loads(Taxon, record) for key, record in ledger.subjects("taxon").items()}
        fetched = {key: page for key, page in ledger.outputs("fetch", FetchOutput, "done").items() if key in taxa}
        done = {key: step.fingerprint for key, step in ledger.steps("distil").items() if step.status == "done"}
    todo = [
        key
        for key, page in fetched.items()
        if done.get(key) != distil_mark(page, parser=source.parser, distiller=distiller.name_for(taxa[key]))
    ]
    lengths: list[float] = []
    # Evenly spaced, since neighbours in the order of names are of one family.
    for key in todo[:: max(1, len(todo) // MOST_MEASURED)][:MOST_MEASURED]:
        try:
            article = read_article(layout, source, key, fetched[key])
        except StoreError:
            continue  # the build fetches it again
        messages = distiller.first_request(article, taxa[key]).messages
        lengths.append(sum(len(message.text) for message in messages) / CHARACTERS_A_TOKEN)
    return len(fetched), len(fetched) - len(todo), lengths
