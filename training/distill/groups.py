"""Precision of the extractive distiller by group of organisms: `python -m training.distill.groups`.

Sentences in `labels/groups`: our own, and with `--data` (folder of the saved pages) those of pages. *Kept* are the ones
that the distiller takes for visual by themselves. `stage` is the share of the visual sentences of our own whose sex,
stage of life or part of a plant is read as labelled, also where there is none to read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import click

from data.errors import BadInput, FieldmarkError
from data.files import sha256_hex
from data.records import Article, Source, Taxon
from kb.distill.extractive import visual_part
from kb.distill.sentences import SectionKind, sections_of
from kb.distill.subjects import NameHider, stated_subject
from kb.sources.mediawiki.article_parser import parse_article
from training.distill.labelled import DIGEST_DIGITS
from training.tables import markdown

Half = Literal["development", "held-out"]
# One lineage for each group, as the distiller needs a taxon.
LINEAGES: dict[str, dict[str, str]] = {
    "lepidoptera": {"class": "Insecta", "order": "Lepidoptera"},
    "odonata": {"class": "Insecta", "order": "Odonata"},
    "insects": {"class": "Insecta", "order": "Coleoptera"},
    "amphibia": {"class": "Amphibia"},
    "reptilia": {"class": "Reptilia"},
    "mammalia": {"class": "Mammalia"},
    "fish": {"class": "Actinopterygii"},
    "mollusca": {"class": "Gastropoda"},
    "plants": {"order": "Lamiales"},
    "fungi": {"class": "Agaricomycetes"},
}
SAVED = "saved_pages"
ON_PAGES_ALONE = "mollusca"
"""Has enough sentences on saved pages, and none of our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A labelled sentence."""

    group: str
    text: str
    half: Half
    kind: SectionKind
    is_visual: bool
    stage: str | None = None
    """Labelled sex, stage or part; empty for none; None where nobody labelled it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """Counts and shares of one group on one half."""

    group: str
    half: Half
    n: int
    n_visual: int
    n_kept: int
    n_right: int
    """Kept and visual."""
    n_staged: int
    n_stage_right: int

    @property
    def precision(self) -> float:
        """Visual ones among the kept sentences."""
        return self.n_right / self.n_kept if self.n_kept else 0.0

    @property
    def recall(self) -> float:
        """Kept ones among the visual sentences."""
        return self.n_right / self.n_visual if self.n_visual else 0.0

    @property
    def stage(self) -> float | None:
        """Visual sentences whose sex or stage is read as labelled; None if none is labelled."""
        return self.n_stage_right / self.n_staged if self.n_staged else None


def half_of(text: str) -> Half:
    """Return the half of a sentence, by its hash."""
    return "development" if int(sha256_hex(text)[0], 16) % 2 == 0 else "held-out"


def own_sentences() -> Iterator[Sentence]:
    """Yield the sentences of our own."""
    for group in LINEAGES:
        for row in _rows(group) if group != ON_PAGES_ALONE else ():
            yield Sentence(
                group=group,
                text=row["text"],
                half=half_of(row["text"]),
                kind=SectionKind.NEUTRAL,
                is_visual=row["visual"],
                stage=row.get("stage", ""),
            )


def saved_sentences(folder: Path) -> Iterator[Sentence]:
    """Yield the labelled sentences of the saved pages in a folder.

    Raises:
        BadInput: if a page is missing or differs from the labelled one.
    """
    pages: dict[str, Article] = {}
    for row in _rows(SAVED):
        title = row["title"]
        if title not in pages:
            path = folder / f"{title}.html"
            html = path.read_text(encoding="utf-8") if path.is_file() else ""
            if sha256_hex(html) != row["html_sha256"]:
                raise BadInput(f"{path} is missing or differs from the labelled page")
            pages[title] = parse_article(html, source=Source(title=title, url="https://wiki.example", revision=1))
        article = pages[title]
        text = article.text[row["start"] : row["end"]]
        if sha256_hex(text)[:DIGEST_DIGITS] != row["sentence_sha256"]:
            raise BadInput(f"{title} {row['start']}:{row['end']}: its text differs from the labelled sentence")
        kind = next(kind for section, kind in sections_of(article) if section.start <= row["start"] < section.end)
        yield Sentence(group=row["group"], text=text, half=half_of(text), kind=kind, is_visual=row["visual"])


def is_kept(sentence: Sentence) -> bool:
    """Return whether the extractive distiller takes a sentence for visual."""
    taxon = Taxon(taxon_id="-", scientific_name="-", rank="species", lineage=LINEAGES[sentence.group])
    return visual_part(sentence.text, sentence.kind, NameHider(taxon)) is not None


def measure(sentences: Sequence[Sentence], half: Half) -> list[GroupFigures]:
    """Return the figures of each group that has sentences in this half."""
    found = []
    for group in LINEAGES:
        own = [each for each in sentences if each.group == group and each.half == half]
        kept = [each for each in own if is_kept(each)]
        staged = [each for each in own if each.is_visual and each.stage is not None]
        if own:
            found.append(
                GroupFigures(
                    group=group,
                    half=half,
                    n=len(own),
                    n_visual=sum(each.is_visual for each in own),
                    n_kept=len(kept),
                    n_right=sum(each.is_visual for each in kept),
                    n_staged=len(staged),
                    n_stage_right=sum(_stage(each) == each.stage for each in staged),
                )
            )
    return found


def _stage(sentence: Sentence) -> str:
    stated = stated_subject(sentence.text, sentence.group) or ""
    return "" if stated in ("adult", "race", "season") else stated


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (files("training.distill.labels") / "groups" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def as_text(rows: Sequence[GroupFigures]) -> str:
    """Return the figures as a Markdown table."""
    header = ("group", "half", "sentences (visual)", "kept", "precision", "recall", "stage")
    cells = [
        (
            row.group,
            row.half,
            f"{row.n} ({row.n_visual})",
            row.n_kept,
            f"{row.precision:.2f}",
            f"{row.recall:.2f}",
            "-" if row.stage is None else f"{row.stage:.2f}",
        )
        for row in rows
    ]
    return "\n".join(markdown(header, cells))


def mistakes(sentences: Sequence[Sentence]) -> list[str]:
    """Return the mistakes on the development half, as lines of text; the held-out half stays unread."""
    lines = []
    for each in sentences:
        if each.half != "development":
            continue
        if (kept := is_kept(each)) != each.is_visual:
            lines.append(f"{each.group} {'kept' if kept else 'missed'}: {each.text}")
        if each.is_visual and each.stage is not None and _stage(each) != each.stage:
            lines.append(f"{each.group} read as {_stage(each) or 'none'}, not {each.stage or 'none'}: {each.text}")
    return lines


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of the saved pages."
)
@click.option("--half", type=click.Choice(get_args(Half)), multiple=True, help="Half to measure; repeatable.")
@click.option("--mistakes", "lists", is_flag=True, help="List the mistakes on the development half.")
def main(data: Path | None, half: tuple[Half, ...], *, lists: bool) -> None:
    """Print precision and recall of visual sentences by group of organisms."""
    try:
        sentences = [*own_sentences(), *(saved_sentences(data) if data else ())]
    except FieldmarkError as error:
        raise click.ClickException(str(error)) from error
    halves = half or get_args(Half)
    lines = mistakes(sentences) if lists else [as_text([row for each in halves for row in measure(sentences, each)])]
    click.echo("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
