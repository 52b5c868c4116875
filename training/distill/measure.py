"""Precision of the extractive distiller: `python -m training.distill.measure --data ../shared/birds`.

Precision and recall over hand-labelled sentences, on the half for tuning word lists and weights and on the held-out
half. A labelled sentence can be *kept* at three stages of a summary:

- `classifier`: visual by itself, given the kind of its section;
- `offered`: supports a candidate sentence of the summary, without a limit on length;
- `summary`: supports a statement of the summary. Losses after `offered` are due to the limit on length.

Sentences were sampled by strata and are weighted back to the sizes of the strata. Intervals are 95 % bootstrap
intervals over articles, since sentences of one article are similar.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import click
import numpy as np
from numpy.typing import NDArray

from data.errors import FieldmarkError
from data.metrics.ranked import resample
from data.records import Span
from kb.distill.extractive import ExtractiveDistiller, candidates, visual_part
from kb.distill.sentences import SectionKind, sections_of, split_sentences
from kb.distill.subjects import NameHider
from training.distill.labelled import Half, LabelledArticle, Page, Stratum, read_fitting
from training.tables import markdown

Point = Literal["classifier", "offered", "summary"]
POINTS: tuple[Point, ...] = get_args(Point)
N_RESAMPLES = 2000
SEED = 0
_STRATA: dict[SectionKind, Stratum] = {
    SectionKind.LOOKS: "looks",
    SectionKind.LEAD: "lead",
    SectionKind.NEUTRAL: "other",
    SectionKind.OTHER: "other",
    SectionKind.NEVER: "never",
}
FloatTable = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share with its 95 % interval; None if the denominator is 0."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "-"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Precision and recall of visual sentences at one stage, on one half."""

    half: Half
    point: Point
    n_sentences: int
    n_visual: int
    n_kept: int
    precision: Share
    recall: Share


def measure(
    labels: Sequence[LabelledArticle], pages: Mapping[str, Page], *, halves: Sequence[Half] = get_args(Half)
) -> list[Measured]:
    """Return precision and recall for each half and stage, weighted by the sizes of the strata."""
    found = []
    for half in halves:
        articles = [article for article in labels if article.half == half]
        drawn = Counter(sentence.stratum for article in articles for sentence in article.sentences)
        sizes = _sizes([pages[article.title] for article in articles])
        weights = {stratum: sizes[stratum] / n for stratum, n in drawn.items()}
        kept = [_kept(article, pages[article.title]) for article in articles]
        found += [_measured(half, point, articles, [row[point] for row in kept], weights) for point in POINTS]
    return found


def _sizes(pages: Sequence[Page]) -> Counter[Stratum]:
    """Return the number of sentences of the articles in each stratum."""
    sizes: Counter[Stratum] = Counter()
    for page in pages:
        for section, kind in sections_of(page.article):
            sizes[_STRATA[kind]] += len(split_sentences(page.article.text, section.start, section.end))
    return sizes


def _kept(labelled: LabelledArticle, page: Page) -> dict[Point, list[bool]]:
    """Return for each stage whether each labelled sentence is kept."""
    article, taxon = page.article, page.taxon
    hider = NameHider(taxon, article.source.title)
    kinds = sections_of(article)
    summary = ExtractiveDistiller().distil(article, taxon)
    statements = summary.statements if summary else ()
    offered = [span for candidate in candidates(article, taxon)[0] for span in candidate.evidence]
    summarised = [span for statement in statements for span in statement.evidence]
    rows: dict[Point, list[bool]] = {point: [] for point in POINTS}
    for sentence in labelled.sentences:
        kind = next(kind for section, kind in kinds if section.start <= sentence.start < section.end)
        text = article.text[sentence.start : sentence.end]
        rows["classifier"].append(visual_part(text, kind, hider) is not None)
        rows["offered"].append(_overlaps(sentence.span, offered))
        rows["summary"].append(_overlaps(sentence.span, summarised))
    return rows


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


def _measured(
    half: Half,
    point: Point,
    articles: Sequence[LabelledArticle],
    kept: Sequence[Sequence[bool]],
    weights: Mapping[Stratum, float],
) -> Measured:
    # (n_articles, 3): weight of sentences that are kept and visual, kept, visual
    sums = np.zeros((len(articles), 3))
    for row, article in enumerate(articles):
        for sentence, is_kept in zip(article.sentences, kept[row], strict=True):
            weight = weights[sentence.stratum]
            sums[row] += weight * np.array([is_kept and sentence.is_visual, is_kept, sentence.is_visual])
    drawn = resample(len(articles), N_RESAMPLES, SEED)
    samples = np.concatenate([counts @ sums for counts in drawn])  # (N_RESAMPLES, 3)
    total = sums.sum(axis=0, keepdims=True)
    return Measured(
        half=half,
        point=point,
        n_sentences=sum(len(article.sentences) for article in articles),
        n_visual=sum(sentence.is_visual for article in articles for sentence in article.sentences),
        n_kept=sum(sum(row) for row in kept),
        precision=_share(total, samples, 1),
        recall=_share(total, samples, 2),
    )


def _share(total: FloatTable, samples: FloatTable, of: int) -> Share:
    if not total[0, of]:
        return Share(value=None)
    shares = samples[samples[:, of] > 0]
    low, high = np.quantile(shares[:, 0] / shares[:, of], (0.025, 0.975))
    return Share(value=float(total[0, 0] / total[0, of]), low=float(low), high=float(high))


def as_text(rows: Sequence[Measured]) -> str:
    """Return the figures as a Markdown table."""
    header = ("half", "kept at", "sentences (visual)", "kept", "precision", "recall")
    cells = [
        (row.half, row.point, f"{row.n_sentences} ({row.n_visual})", row.n_kept, row.precision, row.recall)
        for row in rows
    ]
    return "\n".join(markdown(header, cells))


def mistakes(labels: Sequence[LabelledArticle], pages: Mapping[str, Page], point: Point) -> list[str]:
    """Return the mistakes on the tuning half, as lines of text; the held-out half stays unread."""
    lines = []
    for article in labels:
        if article.half != "tuning":
            continue
        text = pages[article.title].article.text
        for sentence, is_kept in zip(article.sentences, _kept(article, pages[article.title])[point], strict=True):
            if is_kept != sentence.is_visual:
                mistake = "kept" if is_kept else "missed"
                lines.append(f"{mistake} ({sentence.class_}) {article.title}: {text[sentence.start : sentence.end]}")
    return lines


@click.command()
@click.option(
    "--data", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of articles."
)
@click.option("--half", type=click.Choice(get_args(Half)), multiple=True, help="Half to measure; repeatable.")
@click.option("--mistakes", "at", type=click.Choice(POINTS), help="List the mistakes on the tuning half at this stage.")
def main(data: Path, half: tuple[Half, ...], at: Point | None) -> None:
    """Check the labels against the articles, then print precision and recall of visual sentences."""
    try:
        labels, pages = read_fitting(data)
    except FieldmarkError as error:
        raise click.ClickException(str(error)) from error
    lines = mistakes(labels, pages, at) if at else [as_text(measure(labels, pages, halves=half or get_args(Half)))]
    click.echo("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
