"""Judgements on an image as records: several made one, a stated number read, and what could not be told. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from data.errors import Refused
from data.records import ChatReply, Judgement, Question, QuestionAnswer
from rerank.costs import total
from rerank.judges.answers import YesNo
from rerank.reasoning import spoken

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def majority(judged: Sequence[Judgement], *, is_share: bool) -> Judgement:
    """Return one judgement out of several: the answer of most, the mean of the probabilities.

    Votes without an answer are left out; none with an answer means that it could not be told. A tie goes to no, as the
    paper decides where it is in doubt.

    Args:
        judged: the votes.
        is_share: whether each vote is a bare yes or no, so that the mean is the share of yes.

    Source:
        Divide and Conquer, section 6, the "3x" voting that is proposed there; the mean is ours.
    """
    known = [(vote.probability, vote.answer) for vote in judged if vote.probability is not None]
    cost = total(vote.cost_usd for vote in judged)
    if not known:
        return Judgement(
            probability=None, answer=None, obtained_by=judged[0].obtained_by, note=judged[0].note, cost_usd=cost
        )
    n_yes = sum(answer == "yes" for _, answer in known)
    answer: YesNo = "yes" if 2 * n_yes > len(known) else "no"
    by = f"votes {n_yes}/{len(known)}" if is_share else f"{judged[0].obtained_by}; votes {n_yes}/{len(known)}"
    mean = sum(probability for probability, _ in known) / len(known)
    note = next((vote.note for vote in judged if vote.answer == answer and vote.note), "")
    return Judgement(probability=mean, answer=answer, obtained_by=by, note=note, cost_usd=cost)


def answer_of(question: Question, judgement: Judgement) -> QuestionAnswer:
    """Return a judgement as the evidence that is shown and handed on to later questions."""
    return QuestionAnswer(
        question=question.question,
        answer=judgement.answer,
        probability=None if judgement.probability is None else round(judgement.probability, 6),
        obtained_by=judgement.obtained_by,
    )


def stated(reply: ChatReply) -> Judgement:
    """Return the judgement in a reply that states a number from 0 to 100."""
    text = spoken(reply.text)
    try:
        payload = json.loads(text)
        number = float(payload["probability"] if isinstance(payload, dict) else payload)
    except (ValueError, TypeError, KeyError):
        found = _NUMBER.findall(text)
        if len(found) != 1:  # of several numbers nobody knows which one is meant
            return unclear(reply, "no number in the reply")
        number = float(found[0])
    if not 0 <= number <= 100:
        return unclear(reply, f"{number:g} is not between 0 and 100")
    probability = number / 100
    return Judgement(
        probability=probability, answer="yes" if probability > 0.5 else "no", obtained_by="stated",
        cost_usd=reply.cost_usd,
    )  # fmt: skip


def unclear(reply: ChatReply, why: str) -> Judgement:
    """Return that a reply does not tell, and why."""
    return Judgement(probability=None, answer=None, obtained_by="unclear", note=why, cost_usd=reply.cost_usd)


def refused(error: Refused) -> Judgement:
    """Return that the model declined to tell."""
    return Judgement(probability=None, answer=None, obtained_by="refused", note=str(error))
