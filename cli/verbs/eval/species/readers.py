"""Measurement of readers by `kb eval species --reader`, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.common import output
from data.errors import MissingRequirement, UsageError

if TYPE_CHECKING:
    from data.metrics.ranked import Measured
    from kb.store.knowledge_base import KnowledgeBase
    from recognize.evaluation.reader_comparison import ReaderEvaluation, ReaderFigures, ReaderResources
    from recognize.evaluation.reader_setups import ReaderSetup
    from recognize.evaluation.setups import Setup

K_OF_PRESET = {"vr-rag-v2": 5}  # the constants of the authors' code; all others take the paper's 10
K = 10
COMPARED = "vr-rag-v1"
WITHOUT_ANCHORS = ("text-only", "direct-rag")
RULES = ("json", "label", "name", "text", "none", "no species", "unread")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOrder:
    """The arguments of `kb eval species` about readers."""

    is_asked: bool = False
    """Whether readers are measured at all."""
    comparisons: bool = False
    """The paper's comparisons instead of what the others say."""
    contexts: tuple[str, ...] = ()
    ks: tuple[int, ...] = ()
    alone: bool = False
    changes: tuple[str, ...] = ()
    """Settings of the reader given on the command line."""
    n_samples: int = 1
    max_cost: float | None = None
    offline: bool = False


def check(order: ReaderOrder) -> None:
    """Raise `UsageError` if arguments contradict each other."""
    if order.comparisons and order.changes:
        raise UsageError(
            f"--comparisons sets {order.changes[0]} itself.", hint="Use --reader to choose the settings of the reader."
        )
    if order.is_asked or order.comparisons:
        return
    if order.changes or order.n_samples > 1 or order.max_cost is not None or order.offline:
        raise UsageError("--reader-samples, --max-cost, --offline and reader settings need --reader or --comparisons.")


def reader_setups_of(
    order: ReaderOrder, setups: Sequence[Setup], store: KnowledgeBase, asking: ReaderResources
) -> list[ReaderSetup]:
    """Return what is measured: for each way of ranking every context and k, or the paper's comparisons.

    The paper's contexts that the knowledge base has not are left out with a warning.
    """
    from recognize.evaluation.reader_setups import ReaderSetup, comparisons
    from recognize.reader.candidate_context import CONTEXTS as CHOICES
    from recognize.reader.candidate_context import CandidateContext

    _warn_of_unrefined(store)
    if order.comparisons:
        kept = []
        for setup in comparisons(next(setup for setup in setups if setup.preset == COMPARED)):
            try:
                CandidateContext(store, setup.context, asking.sources)
            except MissingRequirement as error:
                output.warn(f"the context {setup.context} is left out: {error}")
                continue
            kept.append(setup)
        return kept
    contexts = [choice for choice in CHOICES if choice in order.contexts]
    reader_setups = [
        ReaderSetup(retrieval=setup, context=context, k=k)
        for setup in setups
        for context in contexts
        for k in order.ks or (K_OF_PRESET.get(setup.preset, K),)
    ]
    return [*reader_setups, ReaderSetup(retrieval=None)] if order.alone else reader_setups


def _warn_of_unrefined(store: KnowledgeBase) -> None:
    """Say so where no summary of the knowledge base was refined: the context `refined` is then what stands there."""
    summaries = [entry.summary for entry in store.species(store.taxon_ids) if entry.summary is not None]
    if summaries and all(summary.stage != "refined" for summary in summaries):
        made_by = summaries[0].distiller.split(" ")[0]
        output.warn(f"no summary of the knowledge base is refined: `refined` tells what {made_by} made")


def as_text(evaluation: ReaderEvaluation) -> str:
    """Return the tables for people, in percent."""
    head = (
        f"reader {evaluation.model}, {output.plural(evaluation.n_samples, 'sample')} a photo; "
        f"{output.plural(evaluation.n, 'photo')}"
    )
    parts = [
        f"{head}; by photo (micro), percent\n{_figures(evaluation, 'micro')}",
        f"{head}; by species (macro), percent\n{_figures(evaluation, 'macro')}",
        f"{head}; how its replies were read, and what they took\n{_replies(evaluation)}",
    ]
    if evaluation.tests:
        parts.append(_tests(evaluation))
    return "\n\n".join(parts)


def csv_rows(evaluation: ReaderEvaluation) -> Iterator[tuple[ReaderSetup, Measured, list[object]]]:
    """Yield for each setup and measure the figures, and what the paired test against the first setup says."""
    tests = {test.setup: test for test in evaluation.tests}
    for figures in evaluation.figures:
        for found in figures.measures:
            test = tests.get(figures.setup) if found.name == "accuracy" else None
            tested: list[object] = [""] * 6
            if test is not None:
                tested = [name_of(test.baseline), test.difference, *test.interval, test.p_value, test.p_corrected]
            yield figures.setup, found, tested


def name_of(setup: ReaderSetup) -> str:
    """Return what a row is called."""
    if setup.retrieval is None:
        return "no retrieval"
    found = setup.retrieval
    parts = [found.preset, setup.context, f"k={setup.k}"]
    parts += ["names"] if found.texts == "names" else []
    parts += [f"anchors {found.anchors}"] if found.anchors != "kb" and found.preset not in WITHOUT_ANCHORS else []
    return ", ".join(parts)


def _figures(evaluation: ReaderEvaluation, mean: str) -> str:
    columns = ["accuracy", "genus", "listed", "first alone", "gain", "none of these", "agreement", "margin"]
    names = ["accuracy", "reader genus", "listed", "first alone", "gain", "none of these"]
    rows = []
    for figures in evaluation.figures:
        cells = [_cell(figures, name, mean, wide=name in ("accuracy", "gain")) for name in names]
        agreement = next(found for found in figures.measures if found.name == "agreement")
        margin = "" if figures.margin is None else f"{figures.margin:.2f} ({figures.n_with_margin:,})"
        value = agreement.micro if mean == "micro" else agreement.macro
        rows.append([name_of(figures.setup), *cells, f"{value:.2f}", margin])
    return output.as_table(["", *columns], rows, right=columns)


def _replies(evaluation: ReaderEvaluation) -> str:
    rules = [rule for rule in RULES if any(figures.replies.by_rule[rule] for figures in evaluation.figures)]
    # Of samples; `failed` counts photos.
    has_failures = any(figures.replies.failed for figures in evaluation.figures)
    lost = ["no reply"] if has_failures else []
    columns = [*rules, *lost, "failed", "no text", "calls", "kept", "tokens in", "tokens out", "cost"]
    rows = []
    for figures in evaluation.figures:
        replies = figures.replies
        cost = "unknown" if replies.unpriced else f"${replies.cost_usd:.4f}"
        read = [replies.by_rule[rule] for rule in rules]
        taken = (replies.calls, replies.cached, replies.input_tokens, replies.output_tokens)
        read += [replies.failed] if has_failures else []
        counts = [*read, figures.n_failed, f"{figures.n_without_text:.1f}", *taken]
        rows.append(
            [name_of(figures.setup), *(each if isinstance(each, str) else f"{each:,}" for each in counts), cost]
        )
    return output.as_table(["", *columns], rows, right=columns)


def _tests(evaluation: ReaderEvaluation) -> str:
    columns = ["difference", "its interval", "better/worse", "p", "p (Holm)"]
    rows = []
    for test in evaluation.tests:
        low, high = (f"{100 * bound:+.1f}" for bound in test.interval)
        figures = [f"{100 * test.difference:+.1f}", f"{low} to {high}", f"{test.n_better}/{test.n_worse}"]
        rows.append([name_of(test.setup), *figures, p_text(test.p_value), p_text(test.p_corrected)])
    head = f"accuracy of the reader, less {name_of(evaluation.tests[0].baseline)!r}, species by species"
    return head + "\n" + output.as_table(["", *columns], rows, right=columns)


def p_text(value: float) -> str:
    """Return a p-value as tables have it."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _cell(figures: ReaderFigures, name: str, mean: str, *, wide: bool) -> str:
    found: Measured | None = next((found for found in figures.measures if found.name == name), None)
    if found is None:
        return ""
    value, (low, high) = (found.micro, found.micro_interval) if mean == "micro" else (found.macro, found.macro_interval)
    sign = "+" if name == "gain" else ""
    return f"{100 * value:{sign}.1f}" + (f" ({100 * low:{sign}.1f} to {100 * high:{sign}.1f})" if wide else "")
