"""Tables of `python -m papers answers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cli.common import output
from cli.verbs.eval.cells import difference_cells, number, p_text
from data.words import plural

if TYPE_CHECKING:
    from papers.answers.evidence import Evidence
    from papers.answers.report import AnswerFigures, AnswerReport, AnswerTest
    from papers.datasets.benchmark import VisualQuestion
    from rerank.plan import Calls, PricedModel
    from rerank.settings import VisretSettings

PROMPT, RUBRIC = 300, 900  # tokens of the prompts of reader and judge


def as_text(report: AnswerReport) -> str:
    """Return the accuracy by evidence, the paired tests, and the answers that score 0 without a judgement."""
    tests = {test.evidence: test for test in report.tests}
    columns = ["evidence", "images", "measured", "accuracy", "interval", "hallucination", "redundant"]
    main = output.as_table(columns, [_main_row(each) for each in report.figures], right=columns[1:])
    parts = [f"{plural(report.n_questions, 'question')}: mean score with 95 % interval, in percent\n{main}"]
    if tests:
        heads = ["evidence", "difference", "interval", "better/worse", "p", "p (Holm)"]
        rows = [[name, *_test_cells(test)] for name, test in tests.items()]
        table = output.as_table(heads, rows, right=heads[1:])
        parts.append(f"Paired difference from {report.tests[0].baseline!r}\n{table}")
    if any(sum(each.faults.values()) for each in report.figures):
        faults = list(report.figures[0].faults)
        rows = [[each.evidence, *(str(each.faults[fault]) for fault in faults)] for each in report.figures]
        parts.append(f"Counted as 0\n{output.as_table(['evidence', *faults], rows, right=faults)}")
    return "\n\n".join(parts)


def _main_row(figures: AnswerFigures) -> list[str]:
    accuracy = figures.accuracy
    if accuracy is None:
        return [figures.evidence, "", "0", "", "", "", ""]
    low, high = accuracy.micro_interval
    cells = [figures.evidence, f"{figures.images:.1f}", str(figures.n), number(accuracy.micro)]
    return [*cells, f"{number(low)} to {number(high)}", number(figures.hallucination), number(figures.redundant)]


def _test_cells(found: AnswerTest) -> list[str]:
    test = found.test
    cells = difference_cells(test.difference, test.interval, test.n_better, test.n_worse)
    return [*cells, p_text(test.p_value), p_text(found.p_corrected)]


def forecast_text(
    questions: Sequence[VisualQuestion],
    evidence: Sequence[Evidence],
    visret: VisretSettings | None,
    models: Mapping[str, PricedModel],
) -> str:
    """Return the most model calls of a run, and their cost."""
    from rerank.plan import most_cost_usd

    calls = (*_calls(questions, evidence), *_drawing_calls(questions, visret))
    cost = most_cost_usd(calls, models)
    shown: dict[str, object] = {
        "questions": len(questions),
        "evidence": ", ".join(each.name for each in evidence),
        "answers": len(questions) * len(evidence),
        "model calls, without retries": sum(each.n for each in calls),
        "approximate cost, at most": "unknown: set price_in and price_out" if cost is None else f"${cost:.2f}",
    }
    return output.as_fields(shown)


def _calls(questions: Sequence[VisualQuestion], evidence: Sequence[Evidence]) -> Iterator[Calls]:
    from papers.answers import reader
    from rerank.plan import Calls

    for each in evidence:
        for question in questions:
            n = each.n_pictures(question)
            yield Calls(n=1, model="vision", photos=n, tokens_in=PROMPT, tokens_out=reader.MAX_TOKENS)
            yield Calls(n=1, model="text", tokens_in=RUBRIC, tokens_out=reader.JUDGE_TOKENS)


def _drawing_calls(questions: Sequence[VisualQuestion], visret: VisretSettings | None) -> Iterator[Calls]:
    from rerank.plan import DRAWING, INSTRUCTION, Calls

    if visret is None or not visret.needs_instruction:
        return
    n_queries, n = sum(len(question.queries) for question in questions), visret.images
    yield Calls(n=n_queries, model="text", tokens_out=INSTRUCTION)
    if visret.origin == "endpoint":
        yield Calls(n=n_queries, model="image", drawings=n, tokens_in=INSTRUCTION, tokens_out=n * DRAWING)
