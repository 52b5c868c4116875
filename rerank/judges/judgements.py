"""Judgements from replies: majority of several samples, stated probabilities, missing answers. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from data.codec import load_json
from data.errors import Refused
from data.records import ChatReply, Judgement, Question, QuestionAnswer
from rerank.judges.answers import YesNo
from rerank.reranker import total_cost

NO_EVIDENCE: Final = "no evidence"
"""`Judgement.obtained_by` where the judge has nothing to go by, whatever the photo: the question does not count."""
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def majority(samples: Sequence[Judgement], *, is_share: bool) -> Judgement:
    """Return the majority answer of several samples, with the mean of their probabilities.

    Samples without an answer are left out; without any answer the result has none. A tie counts as no. `is_share`:
    each sample is a bare yes or no, so that the mean is the share of yes.

    Source:
        Divide and Conquer, section 6, "3x" voting as proposed there; the mean is ours.
    """
    known = [(one.probability, one.answer) for one in samples if one.probability is not None]
    cost = total_cost(one.cost_usd for one in samples)
    if not known:
        return Judgement(
            probability=None, answer=None, obtained_by=samples[0].obtained_by, note=samples[0].note, cost_usd=cost
        )
    n_yes = sum(answer == "yes" for _, answer in known)
    answer: YesNo = "yes" if 2 * n_yes > len(known) else "no"
    by = f"samples {n_yes}/{len(known)}" if is_share else f"{samples[0].obtained_by}; samples {n_yes}/{len(known)}"
    mean = sum(probability for probability, _ in known) / len(known)
    note = next((one.note for one in samples if one.answer == answer and one.note), "")
    return Judgement(probability=mean, answer=answer, obtained_by=by, note=note, cost_usd=cost)


def answer_of(question: Question, judgement: Judgement) -> QuestionAnswer:
    """Return a judgement as evidence, for the output and for later questions."""
    return QuestionAnswer(
        question=question.question,
        answer=judgement.answer,
        probability=None if judgement.probability is None else round(judgement.probability, 6),
        obtained_by=judgement.obtained_by,
    )


def stated(reply: ChatReply) -> Judgement:
    """Return the judgement from a reply that states a number from 0 to 100."""
    text = reply.text
    try:
        payload = load_json(text)
        number = float(payload["probability"] if isinstance(payload, dict) else payload)
    except (ValueError, TypeError, KeyError):
        found = _NUMBER.findall(text)
        if len(found) != 1:  # several numbers are ambiguous
            return unclear(reply, "no number in the reply")
        number = float(found[0])
    if not 0 <= number <= 100:
        return unclear(reply, f"expected a number from 0 to 100, got {number:g}")
    probability = number / 100
    return Judgement(
        probability=probability, answer="yes" if probability > 0.5 else "no", obtained_by="stated",
        cost_usd=reply.cost_usd,
    )  # fmt: skip


def unclear(reply: ChatReply, why: str) -> Judgement:
    """Return a missing answer with its reason."""
    return Judgement(probability=None, answer=None, obtained_by="unclear", note=why, cost_usd=reply.cost_usd)


def refused(error: Refused) -> Judgement:
    """Return a missing answer of a model that refused."""
    return Judgement(probability=None, answer=None, obtained_by="refused", note=str(error), cost_usd=error.cost_usd)
