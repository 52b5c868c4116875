"""Output of `kb rerank`: rows on stdout or in two files, the summary of a run, and its forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.common import output
from data.words import plural

if TYPE_CHECKING:
    from cli.common.rerank_resources import OpenResources
    from data.records import Job, RankedImage
    from rerank.forecast import Forecast, PricedModel
    from rerank.run import RunResult
    from rerank.run_plan import RunPlan


class RowWriter:
    """Writes rows to stdout in the order of the jobs as soon as possible, or two files at the end."""

    def __init__(self, jobs: Sequence[Job], *, form: str, stem: Path | None, tag: str) -> None:
        self._jobs, self._form, self._stem, self._tag = jobs, form, stem, tag
        self._done: dict[str, list[RankedImage]] = {}
        self._n_written = 0

    def take(self, job: Job, ranked: list[RankedImage]) -> None:
        """Take the rows of a completed job."""
        self._done[job.query_id] = ranked
        if self._stem is None:
            while self._n_written < len(self._jobs) and self._jobs[self._n_written].query_id in self._done:
                rows = self._done[self._jobs[self._n_written].query_id]
                output.write_rows(self._lines(self._form, rows))
                self._n_written += 1

    def close(self) -> None:
        """Write the files, if files were asked for."""
        from data.files import write_atomic

        if self._stem is not None:
            for form in ("trec", "jsonl"):
                text = "".join(self._lines(form, self._done[job.query_id]) for job in self._jobs)
                write_atomic(self._stem.with_name(f"{self._stem.name}.{form}"), text.encode())

    def _lines(self, form: str, rows: Sequence[RankedImage]) -> str:
        if form == "trec":
            from rerank.job import trec_lines

            if all(row.status == "error" for row in rows):
                return ""  # a TREC run cannot mark a failed query: its rows would show first-stage order
            return "".join(f"{line}\n" for line in trec_lines(rows, tag=self._tag))
        return output.json_lines(rows)


def summary(result: RunResult, opened: OpenResources) -> str:
    """Return one line on a run: counts, and the model calls with their cost."""
    n_queries = len(result.rows)
    parts = [f"{plural(n_queries, 'query', 'queries')}, {plural(result.n_images, 'photo')}"]
    return "; ".join([*parts, *result.tally.lines(), *costs(opened, n_queries=n_queries)])


def costs(opened: OpenResources, *, n_queries: int) -> list[str]:
    """Return the model calls of a run and their cost; nothing if no model may be asked."""
    if opened.budget is None:
        return []
    meter = opened.budget.meter
    made = plural(meter.calls, "model call")
    calls = f"{made}, {meter.cached:,} from the cache, {plural(opened.n_retries, 'retry', 'retries')}"
    if meter.unpriced:
        return [calls, "cost unknown: set price_in and price_out"]
    lost = f", up to ${meter.unsure_usd:.4f} more for lost replies" if meter.unsure_usd else ""
    return [calls, f"${meter.spent_usd:.4f}{lost}, ${meter.spent_usd / max(1, n_queries):.4f} per query"]


def forecast_text(forecast: Forecast, plan: RunPlan, models: Mapping[str, PricedModel]) -> str:
    """Return the upper bounds of a run: model calls and cost."""
    by = "judge" if plan.method in ("decompose", "cotrr") else "compared by"
    shown: dict[str, object] = {"queries": forecast.n_queries, "photos": forecast.n_photos, by: plan.judge}
    if forecast.n_calls:
        shown["model calls, without retries"] = forecast.n_calls
        if forecast.context_calls:
            shown["of these for context"] = sum(call.n for call in forecast.context_calls)
        cost = forecast.cost_usd(models)
        shown["approximate cost, at most"] = (
            "unknown: set price_in and price_out"
            if cost is None
            else f"${cost:.2f}, ${cost / max(1, forecast.n_queries):.4f} per query"
        )
    return output.as_fields(shown)
