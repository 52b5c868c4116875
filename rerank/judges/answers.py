"""Yes or no, out of what a model wrote: the answer, and how probable it was by the log-probabilities of its tokens.

Pure functions; nothing here asks a model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, Literal

from data.records import ChatReply, TokenLogprobs
from rerank.reasoning import spoken, spoken_from

Spelling = Literal["merged", "exact"]
YesNo = Literal["yes", "no"]

TOP_LOGPROBS: Final = 20  # the paper's, and the most that servers give
ANSWER_TOKENS: Final = 5  # room for an answer of one word, where the model neither reasons nor thinks
THINKING_TOKENS: Final = 4096  # room for thoughts before it
LEAST_MASS: Final = 0.01  # of yes and no together: below it a token was about something else
# What tokenizers put around a word: the marks of a leading blank, quotes, points, stars of Markdown.
_AROUND: Final = " \t\r\n▁Ġ\"'“”‘’`*_.,;:!?()[]{}<>"
_WORD: Final = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_FINAL: Final = re.compile(r"\banswer\b[\s*_\"'`]*[:=-][\s*_\"'`(]*(yes|no)\b", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"^[\s*_\"'`(-]*(\d+)\s*[.:)\]-]+[\s*_\"'`]*(yes|no)\b", re.IGNORECASE | re.MULTILINE)


def word_of(token: str, spelling: Spelling = "merged") -> YesNo | None:
    """Return which of the two words a token is, None for neither.

    Example:
        >>> [word_of(token) for token in ("Yes", " yes", "YES", "Yes.", "▁No", '"no"', "Nothing")]
        ['yes', 'yes', 'yes', 'yes', 'no', 'no', None]
        >>> word_of(" yes", "exact") is None
        True
    """
    if spelling == "exact":
        return {"Yes": "yes", "No": "no"}.get(token)  # type: ignore[return-value]
    word = token.strip(_AROUND).lower()
    return word if word in ("yes", "no") else None  # type: ignore[return-value]


def probability_of_yes(token: TokenLogprobs, spelling: Spelling = "merged") -> tuple[float | None, float]:
    """Return p(yes) / (p(yes) + p(no)) at one token, and how much of the mass the two have together.

    Spellings of one word are added up. Only yes among the alternatives gives 1, only no gives 0, neither None.

    Source:
        Divide and Conquer, section 3.3, the equation of p_ij, as a share of 1 instead of 100. Differs: with `merged`,
        spellings are added up before; `exact` counts the tokens `Yes` and `No` alone.

    Example:
        >>> token = TokenLogprobs(token="Yes", logprob=-0.1, top=(("Yes", math.log(0.6)), ("No", math.log(0.2))))
        >>> probability, mass = probability_of_yes(token)
        >>> round(probability, 4), round(mass, 4)
        (0.75, 0.8)
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
    r"""Return where the answer stands in a reply, None if there is none.

    What a model thought aloud (`<think>...</think>`) is passed over. After reasoning the answer is the last
    `Answer: Yes`; without such a line, and without reasoning, it is the first yes or no of the line that it is in.

    Example:
        >>> text = "<think>Yes? It has no crest.</think>\n\nNo."
        >>> text[slice(*answer_span(text, is_reasoned=False))]
        'No'
    """
    begin = spoken_from(text)
    if begin is None:
        return None
    finals = list(_FINAL.finditer(text, begin))
    if finals:
        return finals[-1].span(1)
    if is_reasoned:
        # Reasoning may say no of many things; only a last line of one word is an answer.
        lines = list(re.finditer(r"[^\n]+", text[begin:].rstrip()))
        last = lines[-1] if lines else None
        if last is None or last.group().strip(_AROUND).lower() not in ("yes", "no"):
            return None
        found = _WORD.search(text, begin + last.start())
        return found.span() if found else None
    first = re.compile(r"\s*[\"'“‘`*_(]*(yes|no)\b", re.IGNORECASE).match(text, begin)
    return first.span(1) if first else None


def numbered_spans(text: str, n: int) -> list[tuple[int, int] | None]:
    r"""Return where the answers 1 to `n` of a reply such as `1. Yes` stand, None for each that is missing.

    Example:
        >>> text = "1. Yes\n3) no"
        >>> [span and text[slice(*span)] for span in numbered_spans(text, 3)]
        ['Yes', None, 'no']
    """
    begin = spoken_from(text)
    if begin is None:
        return [None] * n
    spans: dict[int, tuple[int, int]] = {}
    for found in _NUMBERED.finditer(text[begin:]):  # cut, so that what follows a thought begins a line
        # The last of a number counts: it is the final one after reasoning.
        spans[int(found[1])] = (begin + found.start(2), begin + found.end(2))
    return [spans.get(i) for i in range(1, n + 1)]


def token_at(tokens: Sequence[TokenLogprobs], offset: int) -> TokenLogprobs | None:
    """Return the token that holds the character at `offset` of the tokens' text."""
    end = 0
    for token in tokens:
        end += len(token.token)
        if offset < end:
            return token
    return None


def text_of(reply: ChatReply) -> str:
    """Return what a model wrote, by its tokens where there are some: spans must fit them."""
    return "".join(token.token for token in reply.logprobs) if reply.logprobs else reply.text


def reason_of(text: str) -> str:
    """Return the reasoning of a reply, without what was thought aloud and without the final line."""
    said = spoken(text)
    finals = list(_FINAL.finditer(said))
    return (said[: finals[-1].start()] if finals else said).strip()
