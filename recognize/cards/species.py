"""Candidates on a card: reference photos, distinguishing marks, descriptions, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from data.lexicon.marks import Mark, mark_words
from data.lexicon.words import group_of_taxon, shared_group
from data.records import Candidate, SpeciesEntry
from recognize.answers import short_name
from recognize.cards.pictures import figures, source_text
from recognize.explanation import Contrast, contrast, stage_names

MOST_MARKS: Final = 8
_SIMILAR: Final = ("text", "visual", "prototype")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A candidate with the contents of its card section."""

    rank: int
    candidate: Candidate
    entry: SpeciesEntry
    parts: Mapping[str, float]
    """Stage -> contribution to the score."""

    @property
    def name(self) -> str:
        """The English name, else the scientific name."""
        return short_name(self.candidate)

    @property
    def genus(self) -> str:
        """The first word of the scientific name."""
        return self.candidate.scientific_name.split()[0]


def species(shown: Sequence[Shown], focus: int, *, is_answer: bool, anchor_file: Callable[[str], Path]) -> str:
    """Return a section for each candidate.

    `focus` is the position of the candidate to compare the others with: the answer, or just the best match.
    """
    against = shown[focus]
    ours = against.candidate.summary or ""
    contrasts = {
        each.rank: contrast(ours, each.candidate.summary, shared_group(x.entry.taxon.lineage for x in (against, each)))
        for each in shown
        if each is not against and ours and each.candidate.summary
    }
    marks = _distinguishing(list(contrasts.values()))
    parts = []
    for each in shown:
        if each is against:
            tags = [f'<span class="tag is">{"the answer" if is_answer else "the best match"}</span>']
            marks_html, highlighted = _chips(marks, len(contrasts)), list(marks)
        else:
            tags = ["<span class=tag>same genus</span>"] if each.genus == against.genus else []
            found = contrasts.get(each.rank)
            marks_html = _table(found, each.name, against.name) if found else _no_text(each, against)
            highlighted = list(found.only_theirs) if found else []
        kind = "candidate chosen" if each is against and is_answer else "candidate"
        parts.append(
            f'<section class="{kind}">{_title(each, tags)}{_pictures(each, anchor_file)}{marks_html}'
            f"{_description(each, highlighted)}</section>"
        )
    return "".join(parts)


def scores(shown: Sequence[Shown], preset: str, because: str) -> str:
    """Return the scores of the candidates with bars for each stage, then the similarities.

    `because` compares the first two scores in words.
    """
    names = stage_names(preset)
    stages = [stage for stage in names if any(stage in each.parts for each in shown)]
    longest = max((abs(part) for each in shown for part in each.parts.values()), default=0.0) or 1.0
    heads = [names[stage] for stage in stages]
    lines = [
        (each, [f"<b>{each.candidate.score:.2f}</b>", *(_bar(each.parts.get(stage), longest) for stage in stages)])
        for each in sorted(shown, key=lambda each: -each.candidate.score)
    ]
    return (
        f"<section class=scores><h2>Scores</h2><p>{escape(because)}</p>"
        f"{_table_of(['score', *heads], lines)}<p class=small>The score and the contribution of each kind of evidence. "
        "Scores rank the candidates of one photo; they are not probabilities and cannot be compared between photos.</p>"
        f"{_similarities(shown, names)}</section>"
    )


def _title(each: Shown, tags: Sequence[str]) -> str:
    scientific = each.candidate.scientific_name if each.candidate.scientific_name != each.name else ""
    name = f"<h2>{escape(each.name)} <span class=sci>{escape(scientific)}</span></h2>"
    if each.candidate.taxon_rank != "species":
        tags = [f"<span class=tag>{each.candidate.taxon_rank}</span>", *tags]
    return f"<div class=title><span class=place>{each.rank}</span>{name}{''.join(tags)}</div>"


def _pictures(each: Shown, anchor_file: Callable[[str], Path]) -> str:
    anchors = {anchor.anchor_id: anchor for anchor in each.entry.anchors}
    return figures(each.candidate.anchors, anchors, each.name, anchor_file)


def _description(each: Shown, marks: Sequence[Mark]) -> str:
    if not each.candidate.summary:
        return f"<p>The knowledge base has no description of this {each.candidate.taxon_rank}.</p>"
    pieces = mark_words(each.candidate.summary, marks, group_of_taxon(each.entry.taxon.lineage))
    text = "".join(f"<mark>{escape(piece)}</mark>" if is_mark else escape(piece) for piece, is_mark in pieces)
    source = f"<p class=small>{source_text(each.entry.source)}</p>" if each.entry.source else ""
    return f"<p>{text}</p>{source}"


def _distinguishing(contrasts: Sequence[Contrast]) -> dict[Mark, int]:
    """Return mark -> number of candidates without it, the most first; marks of one sex or age last."""
    counts = Counter(mark for each in contrasts for mark in each.only_ours)
    best = sorted(counts, key=lambda mark: (mark.sex_age != "", -counts[mark]))
    return {mark: counts[mark] for mark in best[:MOST_MARKS]}


def _chips(marks: Mapping[Mark, int], n_others: int) -> str:
    if not marks:
        return "<p class=small>Its description mentions no mark that the others certainly lack.</p>" if n_others else ""
    items = []
    for mark, count in marks.items():
        of = "" if count == n_others else f" <small>{count} of {n_others}</small>"
        items.append(f"<li>{escape(mark.shown)}{of}</li>")
    others = "that of the other candidate" if n_others == 1 else f"those of the {n_others} other candidates"
    least = min(marks.values())
    some = f" ({least} of {n_others}: not in {least} of these {n_others})" if least < n_others else ""
    return (
        f"<h3>Look for</h3><ul class=chips>{''.join(items)}</ul><p class=small>Mentioned in its description but not in "
        f"{others}{some}. Taken from the texts, not from the photo.</p>"
    )


def _table(found: Contrast, name: str, against: str) -> str:
    """Return the table of differing parts, then of marks that only one of the two species has."""
    lines = [(str(each.part), " or ".join(each.theirs), " or ".join(each.ours)) for each in found.differing]
    alone = [
        ", ".join([mark.shown for mark in found.elsewhere(marks)][:MOST_MARKS])
        for marks in (found.only_theirs, found.only_ours)
    ]
    if any(alone):
        lines.append(("other marks" if lines else "marks", alone[0] or "-", alone[1] or "-"))
    if not lines:
        return f"<p class=small>Its description tells no certain difference from {escape(against)}.</p>"
    rows = "".join(
        f"<tr><th>{escape(part)}</th><td>{escape(theirs)}</td><td>{escape(ours)}</td></tr>"
        for part, theirs, ours in lines
    )
    return (
        f"<h3>Compared with {escape(against)}</h3><table class=contrast><thead><tr><th></th><th>{escape(name)}</th>"
        f"<th>{escape(against)}</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _no_text(each: Shown, against: Shown) -> str:
    lacking = [shown.name for shown in (each, against) if not shown.candidate.summary]
    return f"<p class=small>Marks cannot be compared: no description of {escape(' and '.join(lacking))}.</p>"


def _bar(part: float | None, longest: float) -> str:
    if part is None:
        return ""
    kind = "bar less" if part < 0 else "bar"
    return f'{part:+z.2f}<i class="{kind}" style="width:{100 * abs(part) / longest:.0f}%"></i>'


def _similarities(shown: Sequence[Shown], stages: Mapping[str, str]) -> str:
    """Return the similarities behind the scores, collapsed."""
    given = {name for each in shown for name in each.candidate.scores if not name.endswith("_part") and name != "list"}
    encoders = sorted(given.difference(_SIMILAR))
    names = [name for name in _SIMILAR if name in given] + (encoders if len(encoders) > 1 else [])
    labels = {stage: f"photo and {name}" for stage, name in stages.items()}
    heads = [labels.get(name, f"{labels['text']}, by {name}") for name in names]
    lines = []
    for each in shown:
        values = [each.candidate.scores.get(name) for name in names]
        lines.append((each, ["" if value is None else f"{value:.3f}" for value in values]))
    scale = "Cosines, from -1 to 1"
    if "blend" in stages["text"]:
        scale += "; lower for a blend, because the mean of two vectors is shorter"
    return (
        f"<details><summary>The similarities behind the scores</summary>{_table_of(heads, lines)}<p class=small>"
        f"{scale}. Blank: the stage does not apply.</p></details>"
    )


def _table_of(heads: Sequence[str], lines: Sequence[tuple[Shown, Sequence[str]]]) -> str:
    """Return a table with one row per candidate; on narrow screens the name is on a line of its own."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rows = "".join(
        f"<tr><th>{each.rank}. {escape(each.name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for each, cells in lines
    )
    return f"<table style=--columns:{len(heads)}><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
