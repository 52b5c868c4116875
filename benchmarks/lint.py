"""Recall and false alarms of lint: `python -m benchmarks.lint --data ../shared/birds`.

Faults are planted in extractive summaries of real articles, one at a time and at random: another colour, another
number, another part, another sex, or a sentence that is labelled as not visual. Findings in summaries without a planted
fault are counted as false alarms, even if the distiller is at fault.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from data.errors import FieldmarkError
from data.records import SpeciesEntry, Statement, Summary
from kb.curate.lint import lint_entry
from kb.distill.claims import claims
from kb.distill.extractive import ExtractiveDistiller
from training.distill.labelled import LabelledArticle, Page, read_fitting
from training.tables import markdown

SEED = 20261122
COLOURS = ("black", "white", "red", "blue", "green", "yellow", "brown", "grey", "orange", "purple", "pink", "rufous")
PARTS = ("crown", "nape", "throat", "breast", "belly", "rump", "tail", "wings", "bill", "legs", "back", "iris")
SEXES = {"male": "female", "males": "females", "female": "male", "females": "males", "juvenile": "female"}
Fault = Callable[[str, random.Random], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A page and its extractive summary."""

    page: Page
    summary: Summary

    def findings(self, statements: tuple[Statement, ...]) -> set[tuple[str, str, int | None]]:
        """Return (severity, rule, statement) of each finding in these statements."""
        summary = replace(self.summary, statements=statements)
        entry = SpeciesEntry(taxon=self.page.taxon, source=self.page.article.source, summary=summary)
        return {(f.severity, f.rule, f.statement) for f in lint_entry(entry, self.page.article.text)}


def other_word(kind: str, choices: tuple[str, ...]) -> Fault:
    """Return a fault that replaces a word of a kind with one that the sentence does not contain."""

    def plant(text: str, draw: random.Random) -> str | None:
        words = [word for word, found in claims(text).items() if found == kind]
        free = [choice for choice in choices if choice not in text.lower()]
        return _replaced(text, draw.choice(words), draw.choice(free)) if words and free else None

    return plant


def other_number(text: str, draw: random.Random) -> str | None:
    """Return the text with another number, or None if it has none."""
    numbers = [word for word, kind in claims(text).items() if kind == "number"]
    return _replaced(text, draw.choice(numbers), str(draw.randint(100, 999))) if numbers else None


def other_sex(text: str, draw: random.Random) -> str | None:
    """Return the text with another sex, or None unless it names exactly one."""
    named = [word for word in SEXES if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    return _replaced(text, named[0], SEXES[named[0]]) if len(named) == 1 else None


def _replaced(text: str, old: str, new: str) -> str | None:
    changed = re.sub(rf"\b{re.escape(old)}\b", new, text, count=1, flags=re.IGNORECASE)
    return changed if changed != text else None


FAULTS: Mapping[str, tuple[str, Fault]] = {
    "another colour": ("unsupported", other_word("colour", COLOURS)),
    "another number": ("unsupported", other_number),
    "another part": ("unsupported", other_word("part", PARTS)),
    "another sex": ("sex-mixed-up", other_sex),
}


def planted(cases: list[Case], rule: str, fault: Fault) -> tuple[int, int]:
    """Return the numbers of found and planted faults of one kind, at most one per summary."""
    draw = random.Random(SEED)
    n_found = n = 0
    for case in cases:
        places = list(enumerate(case.summary.statements))
        draw.shuffle(places)
        for i, statement in places:
            text = fault(statement.text, draw)
            if text is not None:
                changed = (
                    *case.summary.statements[:i],
                    replace(statement, text=text),
                    *case.summary.statements[i + 1 :],
                )
                n += 1
                n_found += any(found[1:] == (rule, i + 1) for found in case.findings(changed))
                break
    return n_found, n


def labelled_sentences(
    labels: Sequence[LabelledArticle], pages: Mapping[str, Page], *, is_visual: bool
) -> tuple[int, int]:
    """Return the number of held-out labelled sentences reported as not visual, and of all; each is its own summary."""
    n_found = n = 0
    for article in labels:
        for sentence in article.sentences:
            if article.half == "held-out" and sentence.is_visual == is_visual:
                page = pages[article.title]
                text = page.article.text[sentence.start : sentence.end]
                statement = Statement(text=text, evidence=(sentence.span,))
                found = Case(page=page, summary=Summary(statements=(statement,))).findings((statement,))
                n += 1
                n_found += any(rule == "not-visual" for _, rule, _ in found)
    return n_found, n


@click.command()
@click.option(
    "--data", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder of articles."
)
def main(data: Path) -> None:
    """Print the numbers of planted faults found and of false alarms."""
    try:
        labels, pages = read_fitting(data)
    except FieldmarkError as error:
        raise click.ClickException(str(error)) from error
    distiller = ExtractiveDistiller()
    made = [(page, distiller.distil(page.article, page.taxon)) for page in pages.values()]
    cases = [Case(page=page, summary=summary) for page, summary in made if summary is not None]
    rows: list[tuple[str, object]] = []
    for name, (rule, fault) in FAULTS.items():
        rows.append((name, "{} of {}".format(*planted(cases, rule, fault))))
    reported = labelled_sentences(labels, pages, is_visual=False)
    rows.append(("a sentence that is not visual", "{} of {}".format(*reported)))
    wrong = labelled_sentences(labels, pages, is_visual=True)
    rows.append(("*no fault*: a visual sentence reported as not visual", "{} of {}".format(*wrong)))
    found = [finding for case in cases for finding in case.findings(case.summary.statements)]
    n = sum(len(case.summary.statements) for case in cases)
    for severity in ("error", "warning", "note"):
        rows.append((f"*no fault*: {severity}s in {n} statements", sum(f[0] == severity for f in found)))
    click.echo("\n".join(markdown(["fault", "found"], rows)))


if __name__ == "__main__":
    main()
