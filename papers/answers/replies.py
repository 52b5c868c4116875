"""Replies of reader and judge: the answer after its reasoning, and the score with its marks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_ANSWER: Final = re.compile(r"^[\s#*_>-]*answer[\s*_]*:[\s*_]*", re.IGNORECASE | re.MULTILINE)
_REASONING: Final = re.compile(r"^[\s#*_>-]*reasoning[\s*_]*:[\s*_]*", re.IGNORECASE)
_UNIT: Final = r"(?P<unit>\s*%|\s*/\s*\d+(?:\.\d+)?|\s+out of\s+\d+)?"
_SCORE: Final = re.compile(rf"\bscore\b[\s*_:=]*(?P<score>[-+]?\d*[.,]?\d+){_UNIT}", re.IGNORECASE)
_BARE: Final = re.compile(rf"^[\s*_]*(?P<score>[-+]?\d*[.,]?\d+){_UNIT}(?=[\s*_.]*(?:[|(\n]|$))", re.IGNORECASE)
"""A reply that begins with the score alone."""
_NO_MARK: Final = re.compile(r"\W*(?:no|not|none|non|without)\b|.*:\W*(?:no|none|false)\b")
_OF_ONE: Final = re.compile(r"\s*(?:/|out of)\s*1(?:\.0+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """The answer of a reader."""

    answer: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's score, 0 to 1, and its marks."""

    score: float
    hallucination: bool = False
    """Features that the reference answer does not list."""
    redundant: bool = False
    """Information that was not asked for."""


def read_answer(text: str) -> ReadAnswer:
    r"""Return the text after the last line that begins with "Answer:", and that before it; else the whole text.

    Example:
        >>> read_answer("### Reasoning: dark feet.\n### Answer: Black.")
        ReadAnswer(answer='Black.', reasoning='dark feet.')
    """
    marks = list(_ANSWER.finditer(text))
    if not marks:
        return ReadAnswer(answer=text.strip())
    before = text[: marks[-1].start()].strip()
    answer = text[marks[-1].end() :].strip().removesuffix("**").strip()
    return ReadAnswer(answer=answer, reasoning=_REASONING.sub("", before).strip())


def read_verdict(text: str) -> Verdict | None:
    """Return the score and its marks; None for a reply without one score on the scale of 0 to 1.

    A negative score, after a deduction, is 0. Explanations in brackets are no marks, nor is "no hallucination".

    Example:
        >>> read_verdict("Score: 0.5 | Likely Hallucination (Explanation: not a ring)")
        Verdict(score=0.5, hallucination=True, redundant=False)
    """
    found = list(_SCORE.finditer(text)) or list(_BARE.finditer(text))
    scores = {float(match["score"].replace(",", ".")) for match in found}
    if len(scores) != 1 or any(match["unit"] and not _OF_ONE.fullmatch(match["unit"]) for match in found):
        return None
    (score,) = scores
    if not -1 <= score <= 1:
        return None
    rest = text[found[-1].end() :].partition("\n")[0]
    parts = re.split(r"[|,;]", re.sub(r"\([^)]*\)?", "", rest).lower())
    marks = " ".join(part for part in parts if not _NO_MARK.match(part))
    return Verdict(score=max(0.0, score), hallucination="hallucination" in marks, redundant="redundant" in marks)
