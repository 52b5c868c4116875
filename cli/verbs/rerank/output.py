"""What `kb rerank` hands out: rows on stdout or in two files, and what it says of the run at its end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cli.common import output
from cli.verbs.rerank.listwise import summary as summary_of_lists
from cli.verbs.rerank.order import RerankOrder
from data.errors import FieldmarkError, NothingReadable

if TYPE_CHECKING:
    from cli.verbs.rerank.resources import Made
    from data.records import Job, RankedImage
    from rerank.cotrr.tally import CotrrTally
    from rerank.decompose.reranker import Tally


class Sink:
    """Rows to stdout in the order of the jobs as soon as they can come, or two files at the end."""

    def __init__(self, order: RerankOrder, jobs: Sequence[Job], *, tag: str) -> None:
        self._order, self._jobs, self._tag = order, jobs, tag
        self._done: dict[str, list[RankedImage]] = {}
        self._n_written = 0

    def take(self, job: Job, ranked: list[RankedImage]) -> None:
        """Take the rows of a job that is whole."""
        self._done[job.query_id] = ranked
        if self._order.output is None:
            while self._n_written < len(self._jobs) and self._jobs[self._n_written].query_id in self._done:
                rows = self._done[self._jobs[self._n_written].query_id]
                output.write_rows(self._lines(self._order.form, rows))
                self._n_written += 1

    def close(self) -> None:
        """Write the files, where files are wanted."""
        from data.files import write_atomic

        stem = self._order.stem
        if stem is not None:
            for form in ("trec", "jsonl"):
                text = "".join(self._lines(form, self._done[job.query_id]) for job in self._jobs)
                write_atomic(stem.with_name(f"{stem.name}.{form}"), text.encode())

    def _lines(self, form: str, rows: Sequence[RankedImage]) -> str:
        if form == "trec":
            from rerank.job import trec_lines

            if all(row.status == "error" for row in rows):
                return ""  # a run has no word for a failed query: its rows would be the first stage's order
            return "".join(f"{line}\n" for line in trec_lines(rows, tag=self._tag))

        from data.codec import to_json

        return "".join(json.dumps(to_json(row), ensure_ascii=False) + "\n" for row in rows)


def is_whole(done: Mapping[str, list[RankedImage]], tally: Tally | None, lists: CotrrTally | None = None) -> bool:
    """Return whether all went well; says what did not.

    Raises:
        FieldmarkError: if no image was judged, why.
    """
    rows = [row for ranked in done.values() for row in ranked]
    failed = [row for row in rows if row.status == "error"]
    if failed and len(failed) == len(rows):
        told = lists if tally is None else tally
        causes: list[FieldmarkError] = [] if told is None else told.failures
        raise next(iter(causes), NothingReadable(failed[0].error or "no image could be judged"))
    if failed:
        output.warn(f"{len(failed):,} of {output.plural(len(rows), 'photo')} could not be judged: {failed[0].error}")
    n_fallbacks = 0
    for query_id, plan in tally.plans.items() if tally is not None else ():
        if plan.source == "fallback":
            n_fallbacks += 1
            output.warn(f"{query_id} was asked as it is: {plan.note}")
    if lists is not None and lists.n_not_deconstructed:
        n = output.plural(lists.n_not_deconstructed, "query", "queries")
        output.warn(f"{n} could not be taken apart: used as they are")
    if lists is not None and lists.n_failed_windows:
        output.warn(f"{output.plural(lists.n_failed_windows, 'window')} stayed in the order of the first stage")
    return not failed and not n_fallbacks and (lists is None or lists.is_whole)


def summary(
    done: Mapping[str, list[RankedImage]], made: Made, tally: Tally | None, lists: CotrrTally | None = None
) -> str:
    """Return in one line what was done, how answers were obtained, and what it cost."""
    rows = [row for ranked in done.values() for row in ranked]
    parts = [f"{output.plural(len(done), 'query', 'queries')}, {output.plural(len(rows), 'photo')}"]
    if tally is not None:
        by = ", ".join(f"{name} {n:,}" for name, n in sorted(tally.obtained_by.items()))
        parts.append(f"{output.plural(tally.n_answers, 'answer')}" + (f" ({by})" if by else ""))
        if tally.n_unscored:
            parts.append(f"{tally.n_unscored:,} could not be told")
        if tally.n_not_asked:
            parts.append(f"{tally.n_not_asked:,} not asked after a sure no")
        if tally.n_kept:
            parts.append(f"{output.plural(tally.n_kept, 'photo')} judged before")
    if lists is not None:
        parts += summary_of_lists(lists)
    if made.connections or made.explaining:
        meter = made.budget.meter
        calls = output.plural(meter.calls, "call")
        parts.append(f"{calls}, {meter.cached:,} from the cache, {made.n_retries:,} tried again")
        parts.append(_cost(made, n_queries=len(done)))
    return "; ".join(parts)


def _cost(made: Made, *, n_queries: int) -> str:
    meter = made.budget.meter
    if meter.unpriced:
        return "cost unknown: set price_in and price_out"
    lost = f" and up to ${meter.unsure_usd:.4f} for replies that were lost" if meter.unsure_usd else ""
    return f"${meter.spent_usd:.4f}{lost}, ${meter.spent_usd / max(1, n_queries):.4f} a query"
