"""Yes/no answers in model replies with their probability, and judgements of them. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, Literal

from data.codec import json_object
from data.errors import Refused
from data.records import ChatReply, Judgement, Question, QuestionAnswer, TokenLogprobs
from rerank.prompting import REPAIRS
from rerank.reranker import total_cost
from rerank.settings import Spelling

YesNo = Literal["yes", "no"]

TOP_LOGPROBS: Final = 20  # the paper's, and the most that servers give
ANSWER_TOKENS: Final = 5  # room for an answer of one word
FIRST_WORDS: Final = ("yes", "no")  # a reply may be cut off after one of them
LEAST_MASS: Final = 0.01  # of yes and no together: below it a token is not an answer
# Characters around a word in a token: blanks and their marks, quotes, punctuation, asterisks of Markdown.
_AROUND: Final = " \t\r\n▁Ġ\"'“”‘’`*_.,;:!?()[]{}<>"
_BLANKS: Final = str.maketrans("▁ĠĊ", "  \n")  # marks of blanks in tokens
_WORD: Final = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_FINAL: Final = re.compile(r"\banswer\b[\s*_\"'`]*[:=-][\s*_\"'`(]*(yes|no)\b", re.IGNORECASE)
_OR: Final = re.compile(r"[\s*_\"'`]*(?:/|\||\bor\b|\band\b)[\s*_\"'`]*(?:yes|no)\b", re.IGNORECASE)  # "Yes/No" is none
_NUMBERED: Final = re.compile(
    r"^(?=.*\d)[\s*_\"'`(-]*+(\d{1,9})\s*[.:)\]-]+[\s*_\"'`]*(yes|no)\b", re.IGNORECASE | re.MULTILINE
)


def word_of(token: str, spelling: Spelling = "merged") -> YesNo | None:
    """Return `yes` or `no` for a token that spells one of them, else None."""
    if spelling == "exact":
        return {"Yes": "yes", "No": "no"}.get(token)  # type: ignore[return-value]
    word = token.strip(_AROUND).lower()
    return word if word in ("yes", "no") else None  # type: ignore[return-value]


def probability_of_yes(token: TokenLogprobs, spelling: Spelling = "merged") -> tuple[float | None, float]:
    """Return p(yes) / (p(yes) + p(no)) at one token, and the probability mass of both together.

    Spellings of a word are added up. Only yes among the alternatives gives 1, only no gives 0, neither gives None.

    Source:
        Divide and Conquer, section 3.3, the equation of p_ij, on a scale of 1 instead of 100. Differs: `merged`
        adds up spellings first; `exact` counts the tokens `Yes` and `No` only.
    """
    alternatives = dict(token.top)
    alternatives.setdefault(token.token, token.logprob)
    mass: dict[YesNo, float] = {"yes": 0.0, "no": 0.0}
    seen: set[YesNo] = set()
    for text, logprob in alternatives.items():
        word = word_of(text, spelling)
        if word is not None and not math.isnan(logprob):
            seen.add(word)
            mass[word] += math.exp(min(logprob, 0.0))
    total = mass["yes"] + mass["no"]
    if not seen:
        return None, 0.0
    if total == 0.0:  # both so improbable that their exponentials vanish
        return (1.0 if seen == {"yes"} else 0.0 if seen == {"no"} else 0.5), 0.0
    return mass["yes"] / total, total


def answer_span(text: str, *, is_reasoned: bool) -> tuple[int, int] | None:
    r"""Return the span of the answer in a reply, None if there is none.

    With `is_reasoned` the answer is the last `Answer: Yes`, or a last line of one word; without, it is a yes or
    no at the start of the reply, else the last `Answer: Yes`.
    """
    first = re.compile(r"\s*[\"'“‘`*_(]*(yes|no)\b", re.IGNORECASE).match(text)
    if first and not is_reasoned:  # before reasons, which may hold another "answer: yes"
        return _single(first, text)
    finals = list(_FINAL.finditer(text))
    if finals:
        return _single(finals[-1], text)
    if is_reasoned:
        # Reasons may contain many a "no"; only a last line of one word is an answer.
        lines = list(re.finditer(r"[^\n]+", text.rstrip()))
        last = lines[-1] if lines else None
        if last is None or last.group().strip(_AROUND).lower() not in ("yes", "no"):
            return None
        found = _WORD.search(text, last.start())
        return found.span() if found else None
    return None


def _single(found: re.Match[str], text: str, *, group: int = 1) -> tuple[int, int] | None:
    """Return the span of an answer; None where another one stands beside it, as in "Yes or no"."""
    return None if _OR.match(text, found.end(group)) else found.span(group)


def numbered_spans(text: str, n: int) -> list[tuple[int, int] | None]:
    r"""Return the spans of the answers 1 to `n` in a reply such as `1. Yes`, None for each missing one."""
    # The last answer to a number counts: the final one after reasons.
    spans = {int(found[1]): _single(found, text, group=2) for found in _NUMBERED.finditer(text)}
    return [spans.get(i) for i in range(1, n + 1)]


def token_at(tokens: Sequence[TokenLogprobs], offset: int) -> TokenLogprobs | None:
    """Return the token at character `offset` of the tokens' text."""
    end = 0
    for token in tokens:
        end += len(token.token)
        if offset < end:
            return token
    return None


def text_of(reply: ChatReply) -> str:
    """Return the text of a reply, joined from its tokens where it has some, so that spans fit them."""
    return "".join(token.token for token in reply.logprobs).translate(_BLANKS) if reply.logprobs else reply.text


def reason_of(text: str, answer: tuple[int, int] | None) -> str:
    """Return the reasons in a reply, without the word of the answer and the line or mark around it."""
    if answer is None:
        return text.strip()
    finals = list(_FINAL.finditer(text))
    if finals and finals[-1].span(1) == answer:
        return text[: finals[-1].start()].strip()
    before, after = text[: answer[0]].strip(_AROUND), text[answer[1] :].lstrip(_AROUND + "-").strip()
    return before or after


# judgements

NO_EVIDENCE: Final = "no evidence"
"""`Judgement.obtained_by` where the judge has nothing to go by, whatever the photo: the question does not count."""


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
    fields, _ = json_object(reply.text)
    number: float | None = REPAIRS["number"]((fields or {}).get("probability", reply.text))
    if number is None:
        return unclear(reply, "no number in the reply")
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
