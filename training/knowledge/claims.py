"""Claims from sentences: the colour, pattern or shape of a part, of one sex or both.

Rules, no model: runs of colour, shade, pattern and shape words before a part ("a thin black bill") or after it ("the
legs are pink", "back: olive-brown"). Negations, comparisons, and statements on young birds, winter plumages and
subspecies are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from data.lexicon.words import equations, groups
from training.knowledge.vocabulary import (
    BAR_PARTS,
    COLOURS,
    NOT_THE_PART,
    PARTS,
    PATTERNS,
    PHRASES,
    SHADES,
    SHAPES,
    SIZES,
    TONES,
    admitted,
    word_lists,
)

Sex = Literal["both", "male", "female"]
Aspect = Literal["colour", "shade", "pattern", "shape", "size"]
NO_SHADE = "neither"
"""Shade of a part that is neither dark nor pale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of a text on one part."""

    part: str
    sex: Sex
    aspect: Aspect
    values: tuple[str, ...]
    """The words that may be said for it, the most specific first."""
    shade: str = ""
    """`dark`, `pale` or `bright`, of a colour."""


_SKIP = re.compile(
    r"\b(?:juvenile|juveniles|juvenal|immature|immatures|young|chicks?|fledglings?|non-?breeding|winter|morphs?|race|races|"
    r"subspecies|unlike|lacks?|lacking|no|not|without|except|than|resembl\w+|similar|first-year|eclipse|sometimes|may|"
    r"might|can|could|some (?:individuals|birds|males|females|adults|populations|have|are|show)|"
    r"occasionally|variable|varies|confused|instead|nests?|eggs?|faded|hints?|tinged?|tinges|"
    r"nestlings?|depending|rarely|either|hybrids?|photo|worn|formerly|nuptial|downy|down|phase|variation)\b"
)
_FEMALE = re.compile(r"\b(?:females?|hens?)\b")
_MALE = re.compile(r"\b(?:males?|drakes?|cocks?)\b")
_BOTH = re.compile(r"\b(?:both sexes|sexes|males? and (?:the )?females?|females? and (?:the )?males?)\b")
_SEGMENT = re.compile(
    r";|\.|\bwhile\b|\bwhereas\b|\bbut\b|,(?= (?:the |in )?(?:fe)?males?\b)|,(?= with the (?:fe)?male)|"
    r"(?<=\w) and (?=(?:the )?females? )"
)
_ASIDE = re.compile(
    r",? (?:unlike|indicative of|indicating|suggesting|which (?:is|are) (?:typical|character\w+|common|used))\b.*"
)
"""Comparison or comment at the end of a sentence."""
_SIDE = re.compile(r"\b(?:upper|lower) (?=(?:breast|belly|back|throat|neck)\b)")
_TOKEN = re.compile(r"[a-z]+(?:-[a-z]+)*|[,;:()]")

_NAMED_PART = re.compile(r"\b([a-z]+(?:-and-[a-z]+)?)-([a-z]+ed)\b")
_PARTICIPLES = dict(equations("participle"))

FILLERS = groups()["filler"]
SAME_AS_TOPIC = frozenset(("body", "colour", "color", "colours", "colors", "feathers", "feathering", "plumes", "hue"))
"""Nouns that stand for the part of a line `part: words` ("back: brown plumage")."""
COVERED = word_lists("covered")
PATTERN_NOUNS = groups()["pattern-noun"]
_BIRD_NOUNS = groups()["bird-noun"] | groups()["bird-noun-of-facts"]
BIRDS = _BIRD_NOUNS | {f"{noun}s" for noun in _BIRD_NOUNS}
_JOINS = frozenset((",", "and", "or", "to", "with-and"))
_SHAPE_WORDS = frozenset(word for words in SHAPES.values() for word in words)
_COPULAS = frozenset(("is", "are", "being", "appears", "appear"))
_COLOUR_NOUNS = frozenset(("color", "colour", "colors", "colours", "hue", "hues", "body"))
_BREAKS = frozenset(("outer", "central", "inner", "tipped", "edged", "bordered"))
_ON = frozenset(("on", "across", "along", "down", "over", "through", "throughout"))


def read_claims(sentences: Sequence[str]) -> list[Claim]:
    """Return the claims of sentences, in order; a line `part: words` applies the words to the part.

    Example:
        >>> [(c.part, c.values[0]) for c in read_claims(["Bird with a thin black bill and a streaked breast."])]
        [('bill', 'black'), ('bill', 'dark'), ('bill', 'thin'), ('breast', 'streaked')]
        >>> read_claims(["breast: rusty brown in males"])[0].values
        ('rufous', 'brown')
    """
    return [claim for sentence in sentences for claim in _claims_of(sentence)]


def read_names(names: Sequence[str]) -> list[Claim]:
    """Return the claims of English names on parts.

    Example:
        >>> [(c.part, c.values[0]) for c in read_names(["Grey-headed Bullfinch"]) if c.aspect == "colour"]
        [('head', 'grey')]
    """
    pairs = [pair for name in names for pair in _NAMED_PART.findall(name.lower()) if pair[1] in _PARTICIPLES]
    return read_claims([f"{look.replace('-', ' ')} {_PARTICIPLES[part]}" for look, part in pairs])


def plain_words(text: str) -> str:
    """Return the text in lower case and British spelling, each name of a part as one word."""
    text = text.lower().replace("gray", "grey").replace("-and-", " and ").replace("’", "'")
    text = re.sub(r"\([^)]*\)", " ", text)
    text = re.sub(r"[- ]?colou?red\b", "", text)
    text = re.sub(r"\b(?:off|milky|pure|snowy)-white\b", "white", text)
    text = re.sub(r"\bwing feathers\b", "wings", text)
    text = re.sub(r"\bback of (?:the|its) head\b", "nape", text)
    for pattern, part in PHRASES:
        text = pattern.sub(part, text)
    return _SIDE.sub("", text)


def _claims_of(sentence: str) -> Iterator[Claim]:
    text = plain_words(sentence)
    topic, colon, rest = text.partition(":")
    if colon and topic.strip() in PARTS:
        yield from _of_topic(topic.strip(), rest)
        return
    text = _ASIDE.sub("", text)
    sex: Sex = "both"
    for segment in _SEGMENT.split(text):
        sex = _sex_of(segment, sex)
        if not _SKIP.search(segment):
            yield from _scan(_TOKEN.findall(segment), sex, None)


def _of_topic(topic: str, text: str) -> Iterator[Claim]:
    same = {topic, *SAME_AS_TOPIC, *(whole for whole, parts in COVERED.items() if topic in parts)}
    for i, segment in enumerate(re.split(r"[;.]|,(?= [^,]*\bin (?:fe)?males?\b)", text)):
        if _SKIP.search(segment):
            continue
        sex = _sex_of(segment, "both")
        tokens = [token for token in _TOKEN.findall(segment) if token not in same]
        run, rest = _predicate(tokens, 0)
        if i == 0 or sex != "both":
            yield from _claims_on([topic], run, sex)
        yield from _scan(tokens[rest:], sex, topic)


def _sex_of(segment: str, before: Sex) -> Sex:
    if _BOTH.search(segment):
        return "both"
    if _FEMALE.search(segment):
        return "female"
    if _MALE.search(segment):
        return "male"
    return before


def _is_adjective(token: str) -> bool:
    return (
        token in SHADES
        or token in _SHAPE_WORDS
        or token in SIZES
        or (token in PATTERNS and token not in PATTERN_NOUNS)
        or _colour_pieces(token) is not None
    )


def _colour_pieces(token: str) -> tuple[str, ...] | None:
    """Return the colour and shade words in a token: `dark`, `grey` and `brown` of dark-grey-brown."""
    pieces = tuple(token.split("-"))
    if any(piece in COLOURS for piece in pieces) and all(piece in COLOURS or piece in SHADES for piece in pieces):
        return pieces
    return None


def _predicate(tokens: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the adjectives from `start`, and the position after them."""
    run: list[str] = []
    i = start
    while i < len(tokens):
        token = tokens[i]
        if _is_adjective(token) or (token in _JOINS and run):
            run.append(token)
        elif token not in FILLERS:
            break
        i += 1
    following = [token for token in tokens[i : i + 2] if token not in FILLERS]
    if following and following[0] in PARTS:  # "pink and its bill": words after "and" belong to the bill
        cut = max((j for j, item in enumerate(run) if item in _JOINS), default=0)
        return run[:cut], max((j for j in range(start, i) if tokens[j] in _JOINS), default=start)
    if following and (following[0] in NOT_THE_PART or following[0] in PATTERN_NOUNS or following[0] in _BREAKS):
        # The words after the last comma describe something else.
        cut = max((j for j, item in enumerate(run) if item == ","), default=0)
        return run[:cut], max((j for j in range(start, i) if tokens[j] == ","), default=start)
    return run, i


def _scan(tokens: Sequence[str], sex: Sex, topic: str | None) -> Iterator[Claim]:
    """Yield the claims of a segment; `topic` is its part until it names another."""
    run: list[str] = []
    last = topic
    i = 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        if token in PATTERN_NOUNS:
            parts, i = _after_on(tokens, i)
            for part in parts or ([last] if last else []):
                yield from _patterned(part, PATTERNS[token], sex)
            run = []
        elif token in _COLOUR_NOUNS and run and _after_on(tokens, i)[0]:
            parts, i = _after_on(tokens, i)
            yield from _claims_on(parts, run, sex)
            run = []
        elif _is_adjective(token) or (token in _JOINS and run):
            run.append(token)
        elif token in ("tips", "tip") and last in ("tail", "wings") and run:
            yield from _claims_on([f"{last.rstrip('s')}tip" + ("s" if last == "wings" else "")], run, sex)
            run = []
        elif token in PARTS:
            parts, i = _coordinated(tokens, i - 1)
            if i < len(tokens) and tokens[i] in (NOT_THE_PART | PATTERN_NOUNS):
                if tokens[i] in PATTERN_NOUNS:
                    yield from _patterned(parts[-1], PATTERNS[tokens[i]], sex)
                run, i = [], i + 1
                continue
            yield from _claims_on(parts, run, sex)
            run, last = [], parts[-1]
            j = i + 1 if i < len(tokens) and tokens[i] in ("that", "which") else i
            if j < len(tokens) and tokens[j] in _COPULAS:
                run, i = _predicate(tokens, j + 1)
                yield from _claims_on(parts, run, sex)
                run = []
        elif token == "size" or token in BIRDS:
            yield from _claims_on(["bird"], run, sex)
            run = []
        elif token not in FILLERS:
            run = []


def _coordinated(tokens: Sequence[str], i: int) -> tuple[list[str], int]:
    """Return a list of parts ("head, wings and tail") that begins at `i`, and the position after it."""
    parts = [tokens[i]]
    i += 1
    while True:
        j = i
        while j < len(tokens) and tokens[j] in (",", "and", "or"):
            j += 1
        while j < len(tokens) and tokens[j] in ("the", "its", "their"):
            j += 1
        if j == i or j >= len(tokens) or tokens[j] not in PARTS:
            return parts, i
        if j + 1 < len(tokens) and tokens[j + 1] in (NOT_THE_PART | PATTERN_NOUNS | _COPULAS):
            return parts, i
        parts.append(tokens[j])
        i = j + 1


def _after_on(tokens: Sequence[str], i: int) -> tuple[list[str], int]:
    """Return the parts of a phrase like "on the breast and flanks" at `i`, and the position after it."""
    if i < len(tokens) and tokens[i] in _ON:
        j = i + 1
        while j < len(tokens) and tokens[j] in FILLERS:
            j += 1
        if j < len(tokens) and tokens[j] in PARTS:
            return _coordinated(tokens, j)
    return [], i


def _patterned(part: str, pattern: str, sex: Sex) -> Iterator[Claim]:
    if pattern == "barred" and part not in BAR_PARTS:
        return
    if pattern == "striped" and part not in ("head", "crown", "face", "back", "body"):
        return
    yield Claim(part=part, sex=sex, aspect="pattern", values=(pattern,))


def _claims_on(parts: Sequence[str], run: Sequence[str], sex: Sex) -> Iterator[Claim]:
    """Yield the claims of a run of adjectives on parts."""
    colours, shade = _colours(run)
    for part in parts:
        target = "body" if part == "bird" else part
        for values, of_colour in colours:
            yield Claim(part=target, sex=sex, aspect="colour", values=values, shade=of_colour)
        if shade or colours:
            yield Claim(part=target, sex=sex, aspect="shade", values=(shade or NO_SHADE,))
        for item in run:
            if item in PATTERNS:
                yield from _patterned(target, PATTERNS[item], sex)
            shapes = SHAPES.get(target, {})
            if item in shapes:
                yield Claim(part=target, sex=sex, aspect="shape", values=(shapes[item],))
            if item in SIZES and part in ("bird", "body"):
                yield Claim(part="bird", sex=sex, aspect="size", values=(SIZES[item],))


def _colours(items: Sequence[str]) -> tuple[list[tuple[tuple[str, ...], str]], str]:
    """Return the colours of a run, each with its shade, and the tone of the whole: `dark`, `pale` or empty."""
    found: list[tuple[tuple[str, ...], str]] = []
    words: list[str] = []
    shade, tones = "", []
    for item in [*items, ","]:
        pieces = _colour_pieces(item)
        if item in SHADES:
            shade = SHADES[item]
            if shade != "bright":
                tones.append(shade)
            continue
        if pieces is not None:
            for piece in pieces:
                if piece in SHADES:
                    shade = SHADES[piece]
                else:
                    words.append(piece)
            continue
        if words and (item in _JOINS or not _is_adjective(item) or item in _SHAPE_WORDS or item in PATTERNS):
            found.append((admitted(tuple(words)), shade))
            tone = TONES.get(words[-1], "")
            tones.append("dark" if "dark" in (shade, tone) else "pale" if "pale" in (shade, tone) else "")
            words, shade = [], ""
    return found, tones[0] if len(set(tones)) == 1 else ""
