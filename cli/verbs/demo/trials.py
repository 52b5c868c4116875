"""Questions with known answers about a knowledge base of the starter species: descriptions and drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.contracts import Encoders
    from kb.store.knowledge_base import KnowledgeBase

DESCRIPTIONS: tuple[tuple[str, str], ...] = (
    ("red bird with a black mask and a crest", "cardinalis-cardinalis"),
    ("tall grey-blue wader, neck bent like an S, dagger bill", "ardea-herodias"),
    ("an all white owl with yellow eyes", "bubo-scandiacus"),
    ("owl whose white face is shaped like a heart", "tyto-alba"),
    ("duck with a green head and yellow bill", "anas-platyrhynchos"),
    ("tiny, yellow below, with a blue cap and white cheeks", "cyanistes-caeruleus"),
    ("enormous bill in green, orange, blue and red; yellow throat", "ramphastos-sulfuratus"),
    ("black all over but for the red shoulder", "agelaius-phoeniceus"),
    ("fan-like crest, barred wings, bill thin and bent downwards", "upupa-epops"),
    ("stiff-tailed bird on a trunk, red under the tail", "dendrocopos-major"),
)
"""Descriptions in other words than the summaries, and their species."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A question, its right species, and the rank that this species got."""

    question: str
    right: str
    rank: int | None
    """1 is the best; None if the right species is not among the answers."""
    n: int
    """Number of species in the knowledge base."""
    value: str
    """Score or confidence of the right species."""
    first: str
    """The first answer."""


def ask_in_words(store: KnowledgeBase, encoders: Encoders) -> list[Trial]:
    """Return a trial for each description."""
    import kb

    trials = []
    for text, right in DESCRIPTIONS:
        matches = kb.search(store, text, encoders.sentence, n=len(store.taxon_ids))
        ranked = [(match.taxon_id, match.common_name, f"{match.score:.3f}") for match in matches]
        trials.append(trial_of(store, text, right, ranked))
    return trials


def ask_with_drawings(
    store: KnowledgeBase, encoders: Encoders, drawings: Sequence[tuple[Path, str]], *, preset: str = "default"
) -> list[Trial]:
    """Return a trial for each `(picture file, right taxon_id)`."""
    from recognize import Recognizer
    from recognize.answer_text import percent

    recognizer = Recognizer(store, encoders, preset=preset, k=len(store.taxon_ids))
    trials = []
    for (path, right), row in zip(drawings, recognizer.identify([path for path, _ in drawings]), strict=True):
        ranked = [
            (each.taxon_id, each.common_name, "-" if each.confidence is None else percent(each.confidence))
            for each in row.candidates
        ]
        trials.append(trial_of(store, path.name, right, ranked))
    return trials


def trial_of(store: KnowledgeBase, question: str, right: str, ranked: Sequence[tuple[str, str, str]]) -> Trial:
    """Return the trial with the answers `(taxon_id, common name, score or confidence)`, best first."""
    found = ((i, value) for i, (taxon_id, _, value) in enumerate(ranked, 1) if taxon_id == right)
    rank, value = next(found, (None, "-"))
    [entry] = store.species([right])
    return Trial(
        question=question,
        right=entry.taxon.common_name,
        rank=rank,
        n=len(store.taxon_ids),
        value=value,
        first=ranked[0][1] if ranked else "nothing",
    )


def write_drawings(folder: Path) -> list[tuple[Path, str]]:
    """Write the drawings that are not reference photos into a folder; return each file and its taxon_id."""
    from data.starter.drawings import read_drawings

    folder.mkdir(parents=True, exist_ok=True)
    drawings = []
    for drawing in read_drawings():
        if drawing.purpose == "query":
            path = folder / f"{drawing.plate}.png"
            path.write_bytes(drawing.png())
            drawings.append((path, drawing.taxon_id))
    return drawings


def line_of(trial: Trial) -> str:
    """Return the rank and score or confidence of the right species, and the first answer if it is another.

    Example:
        >>> line_of(Trial(question="jay.png", right="Blue Jay", rank=3, value="0.250", n=20, first="Mallard"))
        'rank  3 of 20     0.250  Blue Jay                  jay.png  (first: Mallard)'
    """
    place = f"rank {trial.rank:>2} of {trial.n}" if trial.rank else f"not among {trial.n}"
    beside = "" if trial.rank == 1 else f"  (first: {trial.first})"
    return f"{place} {trial.value:>9}  {trial.right:<25} {trial.question}{beside}"


def total(trials: Sequence[Trial]) -> str:
    """Return the number of right species in first place, and among the first five."""
    first = sum(trial.rank == 1 for trial in trials)
    five = sum(trial.rank is not None and trial.rank <= 5 for trial in trials)
    return f"{first} of {len(trials)} first, {five} of {len(trials)} among the first five"
