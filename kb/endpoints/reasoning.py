"""Separation of a model's reasoning from its answer, the one place where it happens. Pure.

Models that think first send their thoughts in a field of their own, or in the text between tags, of which templates
and servers may swallow the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from data.foreign_json import load_json
from data.records import TokenLogprobs

_TAGS: Final = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning)"
# Templates of Qwen, DeepSeek and Seed; Mistral; Kimi; Command A; OpenThinker; Gemma 4; gpt-oss, whose channels stick to
# the text where a server drops the special tokens around their names: "analysisWe see ... assistantfinalNo."
_BEGIN: Final = re.compile(
    rf"<{_TAGS}>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>"
    r"|<\|channel>thought\b"
    r"|\A(?-i:analysis(?=[A-Z]))",
    re.IGNORECASE,
)
_END: Final = re.compile(
    rf"</{_TAGS}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<channel\|>"
    r"|<\|channel\|>final(?:\s*<\|constrain\|>[^<]*)?<\|message\|>|(?-i:assistantfinal)",
    re.IGNORECASE,
)
_ANALYSIS: Final = re.compile(r"<\|channel\|>analysis<\|message\|>.*?<\|end\|>(?=\s*[^\s<])", re.IGNORECASE | re.DOTALL)
"""A channel of gpt-oss with the answer directly after its end."""
_SPECIAL: Final = re.compile(r"<\|[^|]*\|>|</?s>|")
_AROUND: Final = re.compile(r"\A(?:\s*<\|[^|<>]*\|>)+\s*|\s*(?:<\|[^|<>]*\|>\s*)+\Z")
"""Special tokens around an answer, such as `<|START_RESPONSE|>`."""
_BLANK_MARKS: Final = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # of tokenizers, for a blank and a line break


def separated(text: str) -> tuple[str, str | None]:
    r"""Return the reasoning and the answer of a reply; None for the answer if there is only reasoning.

    The answer follows the last closing tag, or is before the reasoning if nothing follows. An opening tag after it, or
    without one at the start of a line, begins reasoning that was cut off. JSON is an answer, whatever it contains.
    """
    if _is_json(text):
        return "", text
    begin = max((found.end() for pattern in (_END, _ANALYSIS) for found in pattern.finditer(text)), default=0)
    thoughts = _without_tags(text[:begin])
    opened = list(_BEGIN.finditer(text))
    for cut in (found for found in opened if found.start() >= begin):
        if begin or not text[: cut.start()].rpartition("\n")[2].strip():
            return _without_tags(f"{thoughts}\n{text[cut.end() :]}"), None
    if begin and not text[begin:].strip() and opened and (before := text[: opened[0].start()].strip()):
        return _without_tags(text[opened[0].start() :]), before
    return thoughts, _AROUND.sub("", text[begin:]).lstrip() if begin else text


def tokens_of_answer(tokens: Sequence[TokenLogprobs], answer: str) -> tuple[TokenLogprobs, ...] | None:
    r"""Return the tokens of the answer at the end of a reply with reasoning; None if they cannot be told apart.

    Servers count the tokens of the reasoning in, wherever they put its text.
    """
    rest = answer.strip()
    last = len(tokens) - 1
    while last >= 0 and _SPECIAL.fullmatch(tokens[last].token.strip()):  # the end of the turn
        last -= 1
    for at in range(last, -1, -1):
        token = tokens[at].token.translate(_BLANK_MARKS).strip()
        if not rest or not rest.endswith(token):
            return None
        rest = rest[: len(rest) - len(token)].rstrip()
        if not rest and token:
            return tuple(tokens[at : last + 1])
    return None


def _is_json(text: str) -> bool:
    try:
        return text.lstrip().startswith(("{", "[")) and load_json(text) is not None
    except ValueError:
        return False


def _without_tags(text: str) -> str:
    return _END.sub("", _BEGIN.sub("", text)).strip()
