"""Candidates on a card: reference photos, distinguishing marks, descriptions, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from data.lexicon.marks import Mark, mark_words
from data.lexicon.words import group_of_taxon, shared_group
from data.records import Anchor, Candidate, SpeciesEntry
from recognize.answers import short_name
from recognize.cards.pictures import ANCHOR_PX, picture
from recognize.explanation import Contrast, contrast, stage_names

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_MARKS: Final = 8
_SIMILAR: Final = ("text", "visual", "prototype")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A reference photo."""

    picture: Markup
    similarity: float
    anchor: Anchor


@dataclass(slots=True, kw_only=True)
class Shown:
    """A candidate with the contents of its section, as the template reads them."""

    rank: int
    candidate: Candidate
    entry: SpeciesEntry
    parts: Mapping[str, float]
    """Stage -> contribution to the score."""
    is_focus: bool = False
    """Whether the others are compared with it."""
    is_answer: bool = False
    tag: str = ""
    figures: list[Figure] = field(default_factory=list)
    """Reference photos, without those stored as vectors only."""
    chips: list[tuple[str, str]] = field(default_factory=list)
    """Marks to look for, each with the share of the others that lack it, if not all do."""
    differences: list[tuple[str, str, str]] = field(default_factory=list)
    """Part, and what is said of it here and of the focus."""
    about_marks: str = ""
    text: list[tuple[str, bool]] = field(default_factory=list)
    """Pieces of the description, and whether each is a mark to highlight."""

    @property
    def name(self) -> str:
        """The English name, else the scientific name."""
        return short_name(self.candidate)

    @property
    def scientific(self) -> str:
        """The scientific name, if `name` is another one."""
        return "" if self.candidate.scientific_name == self.name else self.candidate.scientific_name

    @property
    def genus(self) -> str:
        """The first word of the scientific name."""
        return self.candidate.scientific_name.split()[0]


def fill_in(shown: Sequence[Shown], focus: int, *, is_answer: bool, anchor_file: Callable[[str], Path]) -> None:
    """Fill in the sections of the candidates.

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
    for each in shown:
        highlighted: Sequence[Mark] = ()
        if each is against:
            each.is_focus, each.is_answer = True, is_answer
            each.tag, highlighted = "the answer" if is_answer else "the best match", list(marks)
            _add_chips(each, marks, len(contrasts))
        else:
            each.tag = "same genus" if each.genus == against.genus else ""
            found = contrasts.get(each.rank)
            if found is not None:
                highlighted = list(found.only_theirs)
                each.differences = difference_lines(found)
                if not each.differences:
                    each.about_marks = f"Its description tells no certain difference from {against.name}."
            else:
                lacking = [one.name for one in (each, against) if not one.candidate.summary]
                each.about_marks = f"Marks cannot be compared: no description of {' and '.join(lacking)}."
        if each.candidate.summary:
            group = group_of_taxon(each.entry.taxon.lineage)
            each.text = list(mark_words(each.candidate.summary, highlighted, group))
        each.figures = _figures(each, anchor_file)


def _figures(each: Shown, anchor_file: Callable[[str], Path]) -> list[Figure]:
    anchors = {anchor.anchor_id: anchor for anchor in each.entry.anchors}
    return [
        Figure(
            picture=picture(anchor_file(anchor.sha256), ANCHOR_PX, f"a reference photo of {each.name}"),
            similarity=match.similarity,
            anchor=anchor,
        )
        for match in each.candidate.anchors
        if (anchor := anchors.get(match.id)) is not None and anchor.sha256 is not None
    ]


def _distinguishing(contrasts: Sequence[Contrast]) -> dict[Mark, int]:
    """Return mark -> number of candidates without it, the most first; marks of one sex or age last."""
    counts = Counter(mark for each in contrasts for mark in each.only_ours)
    best = sorted(counts, key=lambda mark: (mark.sex_age != "", -counts[mark]))
    return {mark: counts[mark] for mark in best[:MOST_MARKS]}


def _add_chips(each: Shown, marks: Mapping[Mark, int], n_others: int) -> None:
    if not marks:
        each.about_marks = "Its description mentions no mark that the others certainly lack." if n_others else ""
        return
    each.chips = [(mark.shown, "" if count == n_others else f"{count} of {n_others}") for mark, count in marks.items()]
    others = "that of the other candidate" if n_others == 1 else f"those of the {n_others} other candidates"
    least = min(marks.values())
    some = f" ({least} of {n_others}: not in {least} of these {n_others})" if least < n_others else ""
    each.about_marks = (
        f"Mentioned in its description but not in {others}{some}. Taken from the texts, not from the photo."
    )


def difference_lines(found: Contrast) -> list[tuple[str, str, str]]:
    """Return the parts that differ, and what is said of them there and here; then the marks of one species alone."""
    lines = [(str(part.part), " or ".join(part.theirs), " or ".join(part.ours)) for part in found.differing]
    alone = [
        ", ".join([mark.shown for mark in found.elsewhere(marks)][:MOST_MARKS])
        for marks in (found.only_theirs, found.only_ours)
    ]
    if any(alone):
        lines.append(("other marks" if lines else "marks", alone[0] or "-", alone[1] or "-"))
    return lines


def scores_of(shown: Sequence[Shown], preset: str) -> dict[str, Any]:
    """Return heads and lines of the table of scores, each part with its text and the width of its bar."""
    names = stage_names(preset)
    stages = [stage for stage in names if any(stage in each.parts for each in shown)]
    longest = max((abs(part) for each in shown for part in each.parts.values()), default=0.0) or 1.0

    def bar(part: float | None) -> dict[str, Any] | None:
        if part is None:
            return None
        return {"text": f"{part:+z.2f}", "width": f"{100 * abs(part) / longest:.0f}", "is_less": part < 0}

    return {
        "heads": ["score", *(names[stage] for stage in stages)],
        "lines": [
            (f"{each.rank}. {each.name}", each.candidate.score, [bar(each.parts.get(stage)) for stage in stages])
            for each in sorted(shown, key=lambda each: -each.candidate.score)
        ],
    }


def similarities_of(shown: Sequence[Shown], preset: str) -> dict[str, Any]:
    """Return heads and lines of the table of the similarities behind the scores."""
    stages = stage_names(preset)
    given = {name for each in shown for name in each.candidate.scores if not name.endswith("_part") and name != "list"}
    encoders = sorted(given.difference(_SIMILAR))
    names = [name for name in _SIMILAR if name in given] + (encoders if len(encoders) > 1 else [])
    labels = {stage: f"photo and {name}" for stage, name in stages.items()}
    return {
        "heads": [labels.get(name, f"{labels['text']}, by {name}") for name in names],
        "lines": [(f"{each.rank}. {each.name}", [each.candidate.scores.get(name) for name in names]) for each in shown],
        "is_blend": "blend" in stages["text"],
    }
