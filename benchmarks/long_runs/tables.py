"""Samples of a run as a table and a chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from benchmarks.long_runs.sampling import Sample
from training.starter.confidence.charts import Line, Panel, draw

N_ROWS = 10
N_POINTS = 200  # of a chart


def by_tenth(samples: list[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples in each tenth of the work."""
    first, last = samples[0].done, samples[-1].done
    edges = [first + (last - first) * part / N_ROWS for part in range(N_ROWS + 1)]
    at = 0
    for high in edges[1:]:
        end = next(number for number, each in enumerate(samples) if each.done >= high)
        if end > at:
            yield samples[at : end + 1]
            at = end


def by_stage(samples: list[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples of each stage of a build."""
    for _, inside in groupby(samples, key=lambda each: each.stage):
        yield list(inside)


def table(groups: Iterable[list[Sample]]) -> Iterator[str]:
    """Yield a row for each group of samples: items done, their rate by the clock and by processor time, and memory."""
    yield "| stage | done | from s | to s | a second | a processor second | memory, median MiB | most | requests |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for inside in groups:
        if len(inside) < 2:
            continue
        start, end = inside[0], inside[-1]
        n, took, worked = end.done - start.done, end.seconds - start.seconds, end.worked_s - start.worked_s
        rates = f"{n / took:.1f} | {n / max(worked, 0.01):.1f}" if n else "- | -"
        memory = sorted(each.memory_mib for each in inside)
        yield (
            f"| {start.stage} | {end.done:,} | {start.seconds:,.0f} | {end.seconds:,.0f} | {rates} | "
            f"{memory[len(memory) // 2]:,.0f} | {memory[-1]:,.0f} | {end.requests:,} |"
        )


def plot(samples: list[Sample], what: str) -> str:
    """Return a chart of memory and of the shares of work and requests over time."""
    last = samples[-1]
    samples = [*samples[:: -(-len(samples) // N_POINTS)], last]
    lines = {
        what: [each.done / max(last.done, 1) for each in samples],
        "memory": [each.memory_mib / 1024 for each in samples],
        "requests": [each.requests / max(last.requests, 1) for each in samples],
    }
    if not last.requests:
        del lines["requests"]
    drawn = [
        Line(name=name, points=[(each.seconds / last.seconds, y) for each, y in zip(samples, ys, strict=True)],
             is_marked=False)
        for name, ys in lines.items()
    ]  # fmt: skip
    title = f"{last.done:,} {what} in {last.seconds:,.0f} s"
    return draw([Panel(title=title, lines=drawn)], x="share of the time", y="share of all; GiB of memory", top=2.0)
