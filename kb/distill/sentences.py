"""Sentences of a text, as offsets: where they begin and end, through abbreviations, initials and units.

Nothing is changed or dropped but the white space between sentences, so a span always points at the words as they stand.
"""

from __future__ import annotations

import re
from itertools import accumulate

from data.lexicon.word_groups import groups
from data.records import Span

# A full stop after these belongs to the word, whatever follows.
_NEVER_ENDS = groups()["abbreviation-inside"]
# These may close a sentence: what follows decides. As written: "M. Smith" is an initial, "20 m. The" is not.
_MAY_END = groups()["abbreviation-at-end"]
# Possessive quantifiers and the look-behind keep a hostile run of dots or spaces from being scanned again and again.
_BOUNDARY = re.compile(
    r"""
    (?P<paragraph>\n)                                      # a line break always ends a sentence
    | (?<![.!?…])(?P<mark>[.!?…]++)(?P<closing>["'”’)\]]*+(?:\[\w{1,4}\])*+)(?=\s++(?P<next>\S{1,8})|\s*+$)
    | (?<=[a-z)][a-z)])(?P<glued>\.)(?=[A-Z][a-z]+[ ,])    # "grey.Males are": the space was forgotten
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s([{\"“‘'/–—-]+$")
_OPENING = {"(": ")", "[": "]"}
_INITIAL = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]$")


def split_sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the sentences of `text[start:end]` as spans into `text`, in order, without the white space around them.

    A line break ends a sentence. A full stop does not where it closes an abbreviation, an initial or a shortened
    scientific name, where it stands inside brackets, or where a small letter follows. Time is linear in the text.

    Example:
        >>> text = "It is c. 20 cm. long. M. a. abbotti (St. John's subsp.) is paler."
        >>> [text[span.start : span.end] for span in split_sentences(text)]
        ['It is c. 20 cm. long.', "M. a. abbotti (St. John's subsp.) is paler."]
    """
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"expected 0 <= start <= end <= {len(text)}, got start {start} and end {stop}")
    part = text[start:stop]
    inside = _bracketed(part)
    spans: list[Span] = []
    begin = 0
    for found in _BOUNDARY.finditer(part):
        if found["paragraph"] is not None:
            cut, following = found.start(), found.end()
        elif found["glued"] is not None:
            if inside[found.start()]:
                continue
            cut = following = found.end()
        else:
            if inside[found.start()] or not _ends_here(part, begin, found):
                continue
            cut = following = found.end()
        _append(spans, part, begin, cut, start)
        begin = following
    _append(spans, part, begin, len(part), start)
    return spans


def _append(spans: list[Span], part: str, begin: int, cut: int, offset: int) -> None:
    while begin < cut and part[begin].isspace():
        begin += 1
    while cut > begin and part[cut - 1].isspace():
        cut -= 1
    if begin < cut:
        spans.append(Span(start=offset + begin, end=offset + cut))


def _ends_here(part: str, begin: int, found: re.Match[str]) -> bool:
    """Say whether the sentence that starts at `begin` ends with this run of full stops."""
    following = found["next"]
    if following is None:
        return True
    first = following.lstrip("\"'“‘([")[:1]
    if first.islower():
        # "iPhone" and the like do not begin sentences about nature; a small letter means that we are still inside.
        return False
    if found["mark"] != ".":
        return True
    # Only the tail is looked at: no abbreviation is longer, and the whole stays linear.
    word_match = _LAST_WORD.search(part[max(begin, found.start() - 24) : found.start()])
    word = word_match[0] if word_match else ""
    low = word.lower()
    if found["closing"]:
        return True
    if low in _NEVER_ENDS:
        # "sp." and "no." may close a sentence, but a sentence too long is a smaller harm than one cut in half.
        return False
    if low in ("c", "p"):
        return not (first.isdigit() or first in "~<>")
    if _INITIAL.match(word) and len(word) <= 5 and word not in _MAY_END:
        # "J. Smith", "P. c. collaris", "U.S.A. Today"; but "vitamin A." before a sentence is rare in our texts.
        return False
    if word in _MAY_END:
        return first.isupper() or first in '"“('
    return True


def _bracketed(part: str) -> list[bool]:
    """Return for every character whether it lies inside brackets that are closed again in the same paragraph."""
    steps = [0] * (len(part) + 1)
    stack: list[tuple[str, int]] = []
    for position, sign in enumerate(part):
        if sign == "\n":
            stack.clear()
        elif sign in _OPENING:
            stack.append((_OPENING[sign], position))
        elif stack and sign == stack[-1][0]:
            steps[stack.pop()[1]] += 1
            steps[position] -= 1
    return list(map(bool, accumulate(steps)))
