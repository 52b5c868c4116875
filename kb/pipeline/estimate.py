"""Forecast of distilling with a model: calls, tokens, minutes, dollars."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from data.codec import loads
from data.contracts import ArticleSource
from data.errors import StoreError
from data.records import ChatRequest, Taxon
from kb.distill.model import PASSES, TARGET_WORDS, ModelDistiller
from kb.endpoints.endpoint import Endpoint
from kb.pipeline.stages.distil import distil_mark
from kb.pipeline.stages.fetch import read_article
from kb.store.layout import Layout
from kb.store.ledger import Ledger
from kb.store.stage_outputs import FetchOutput

ARTICLE_WORDS = 552  # VR-RAG section 3: the mean of 11,202 articles on birds
TOKENS_A_WORD = 4 / 3  # of English, for the usual tokenizers
CHARACTERS_A_TOKEN = 4
WORDS_A_STATEMENT = 12
TOKENS_AROUND_A_STATEMENT = 14  # braces, field names, numbers
# Of a hosted model of middling size; what it really is, only a run tells.
FIRST_TOKEN_S = 1.0
TOKENS_A_SECOND = 60.0
MOST_MEASURED = 200  # articles that are parsed for their length; more would take longer than they tell


@dataclass(frozen=True, slots=True, kw_only=True)
class DistilEstimate:
    """What is left to ask; tokens, minutes and dollars are estimates, and no reply is counted as asked again."""

    distiller: str
    pages: int
    """To be distilled."""
    done: int
    """Distilled before by the same model with the same prompts, from the same text."""
    measured: int
    """How many articles the lengths are taken from; without any it is the paper's mean."""
    calls: int
    input_tokens: int
    output_tokens: int
    minutes: float
    n_concurrent: int
    cost_usd: float | None
    """None where the price is not known."""


def estimate_distilling(
    path: Path, source: ArticleSource, distiller: ModelDistiller, endpoint: Endpoint, *, n_pages: int
) -> DistilEstimate:
    """Return what a build of `n_pages` pages would ask of the model; nothing is asked, fetched or written.

    Args:
        path: the knowledge base, if there is one already: what it has fetched is measured, what it has distilled is
            not counted.
        source: where the pages come from.
        distiller: the one that the build would have.
        endpoint: where the model is.
        n_pages: how many pages the build would take in.
    """
    fetched, done, lengths = _held(Layout(path), source, distiller)
    pages = fetched - done + max(0, n_pages - fetched)
    steps = PASSES[distiller.mode]
    first = sum(lengths) / len(lengths) if lengths else _mean_request_tokens(distiller)
    input_tokens, output_tokens = first, 0.0
    for place, step in enumerate(steps):
        output_tokens += _reply_tokens(TARGET_WORDS[step])
        if place:  # it is shown the reply of the pass before, under a prompt of its own
            input_tokens += _reply_tokens(TARGET_WORDS[steps[place - 1]]) + distiller.prompt_tokens(step)
    calls = pages * len(steps)
    seconds = calls * (FIRST_TOKEN_S + output_tokens / len(steps) / TOKENS_A_SECOND) / endpoint.max_concurrent
    prices = endpoint.prices
    cost = None
    if prices is not None:
        cost = prices.cost_usd(round(pages * input_tokens), round(pages * output_tokens))
        cost += (calls - 1) * prices.per_request if calls else -prices.per_request
    return DistilEstimate(
        distiller=distiller.name,
        pages=pages,
        done=done,
        measured=len(lengths),
        calls=calls,
        input_tokens=round(pages * input_tokens),
        output_tokens=round(pages * output_tokens),
        minutes=seconds / 60,
        n_concurrent=endpoint.max_concurrent,
        cost_usd=cost,
    )


def _held(layout: Layout, source: ArticleSource, distiller: ModelDistiller) -> tuple[int, int, list[float]]:
    """Return how many articles a knowledge base has fetched and distilled, and the tokens of some requests to come."""
    if not layout.ledger.is_file():
        return 0, 0, []
    with closing(Ledger(layout.ledger, read_only=True)) as ledger:
        taxa = {key: loads(Taxon, record) for key, record in ledger.subjects("taxon").items()}
        fetches = {
            key: loads(FetchOutput, step.output)
            for key, step in ledger.steps("fetch").items()
            if step.status == "done" and step.output is not None and key in taxa
        }
        marks = {key: step.fingerprint for key, step in ledger.steps("distil").items() if step.status == "done"}
    todo = [
        key
        for key, page in fetches.items()
        if marks.get(key) != distil_mark(page, parser=source.parser, distiller=distiller.name)
    ]
    lengths: list[float] = []
    # Spread over all of them: they are in the order of their names, and so of their families.
    for key in todo[:: max(1, len(todo) // MOST_MEASURED)][:MOST_MEASURED]:
        try:
            article = read_article(layout, source, key, fetches[key])
        except StoreError:
            continue  # the build fetches it again
        lengths.append(_request_tokens(distiller.first_request(article, taxa[key])))
    return len(fetches), len(fetches) - len(todo), lengths


def _request_tokens(request: ChatRequest) -> float:
    return sum(len(message.text) for message in request.messages) / CHARACTERS_A_TOKEN


def _mean_request_tokens(distiller: ModelDistiller) -> float:
    return ARTICLE_WORDS * TOKENS_A_WORD + distiller.prompt_tokens(PASSES[distiller.mode][0])


def _reply_tokens(words: int) -> float:
    return words * TOKENS_A_WORD + words / WORDS_A_STATEMENT * TOKENS_AROUND_A_STATEMENT
