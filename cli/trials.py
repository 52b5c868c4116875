"""Questions whose answers are known, put to a knowledge base of the starter species: words and drawings.

What comes back is the rank of the right species, also where it is not the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.contracts import Encoders
    from kb.store import KnowledgeBase

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
"""Descriptions in words of their own, not in those of the summaries, and the species that they mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A question, the species that would be right, where it came in, and what came first."""

    question: str
    right: str
    rank: int | None
    """1 is the best; None where the right species was not among the answers at all."""
    n: int
    """Among how many species."""
    first: str
    score: float
    """Of what came first."""


def ask_in_words(store: KnowledgeBase, encoders: Encoders) -> Iterator[Trial]:
    """Yield a trial for each description."""
    import kb

    names = {taxon_id: common[0] for taxon_id, _, common in store.names()}
    n = len(store.taxon_ids)
    for text, right in DESCRIPTIONS:
        matches = kb.search(store, text, encoders.sentence, n=n)
        ids = [match.taxon_id for match in matches]
        yield Trial(
            question=text,
            right=names[right],
            rank=ids.index(right) + 1 if right in ids else None,
            n=n,
            first=matches[0].common_name if matches else "nothing",
            score=matches[0].score if matches else 0.0,
        )


def ask_with_drawings(
    store: KnowledgeBase, encoders: Encoders, drawings: Sequence[tuple[Path, str]]
) -> Iterator[Trial]:
    """Yield a trial for each `(picture file, right taxon_id)`."""
    import recognize

    names = {taxon_id: common[0] for taxon_id, _, common in store.names()}
    n = len(store.taxon_ids)
    recognizer = recognize.Recognizer(store, encoders, k=n)
    for (path, right), row in zip(drawings, recognizer.identify([path for path, _ in drawings]), strict=True):
        ids = [candidate.taxon_id for candidate in row.candidates]
        yield Trial(
            question=path.name,
            right=names[right],
            rank=ids.index(right) + 1 if right in ids else None,
            n=n,
            first=row.candidates[0].common_name if ids else "nothing",
            score=row.candidates[0].score if ids else 0.0,
        )


def write_drawings(folder: Path) -> list[tuple[Path, str]]:
    """Draw every plate anew, other than its anchors, into a folder; return each file and the taxon_id it shows."""
    from data.starter.plates.catalogue import PLATES

    folder.mkdir(parents=True, exist_ok=True)
    drawings = []
    for plate in PLATES:
        path = folder / f"{plate.name}.png"
        path.write_bytes(plate.png("query"))
        drawings.append((path, plate.taxon_id))
    return drawings


def verdict(trial: Trial) -> str:
    """Return in words where the right species came in.

    Example:
        >>> verdict(Trial(question="", right="Blue Jay", rank=3, n=20, first="Mallard", score=0.5))
        'rank 3 of 20, first was Mallard'
        >>> verdict(Trial(question="", right="Blue Jay", rank=1, n=20, first="Blue Jay", score=0.5))
        'rank 1 of 20'
    """
    if trial.rank is None:
        return f"not found, first was {trial.first}"
    place = f"rank {trial.rank} of {trial.n}"
    return place if trial.rank == 1 else f"{place}, first was {trial.first}"


def total(trials: Sequence[Trial]) -> str:
    """Return how many were right at once, and how many among the first five."""
    first = sum(trial.rank == 1 for trial in trials)
    five = sum(trial.rank is not None and trial.rank <= 5 for trial in trials)
    return f"{first} of {len(trials)} first, {five} of {len(trials)} among the first five"
