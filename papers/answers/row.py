"""One question with its evidence, answer and judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["judged", "refused", "cut off", "no answer", "unreadable judgement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """An answer to a question from one kind of evidence: one line of `python -m papers answers`."""

    question_id: str
    """Id of the question."""
    evidence: str
    """Pictures of the reader: `no image`, `drawing`, or a run and its depth."""
    question: str
    """The question."""
    references: tuple[str, ...]
    """Reference answers; any one is right."""
    images: tuple[str, ...] = ()
    """Ids of the pictures shown, in order."""
    answer: str | None = None
    """The reader's answer; null if there is none."""
    reasoning: str = ""
    """The reader's reasoning."""
    outcome: Outcome | None = None
    """`judged`, or why the score is 0: `refused` or `cut off` by the reader, `no answer`, `unreadable judgement`."""
    score: float | None = None
    """Score, 0 to 1; null in case of an error."""
    hallucination: bool = False
    """Marked for features that no reference lists."""
    redundant: bool = False
    """Marked for information that was not asked for."""
    judgement: str = ""
    """The judge's reply."""
    note: str = ""
    """Pictures left out because they cannot be read."""
    status: Literal["ok", "error"] = "ok"
    """Whether the answer was measured."""
    error: str | None = None
    """Why it was not."""
    cost_usd: float | None = 0.0
    """Cost of answer and judgement in US dollars; null if a price is unknown."""
