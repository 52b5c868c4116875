"""Words and names of a query that nothing explains; everyday words need no explanation."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from data.lexicon.word_groups import VISUAL_GROUPS, WHOLE_WORD, group_of, groups, stem, tokens
from kb.lookup.findings import Findings
from kb.lookup.mentions import Mention
from kb.lookup.senses import group_of_noun, may_precede_a_group, word_lists
from kb.lookup.variants import variant_words


@cache
def _plain_stems() -> frozenset[str]:
    words = {word for line in word_lists("plain_words")[""] for word in line.split()}
    of_variants = (word for word in variant_words("beside") if "-" not in word)
    of_lexicon = (groups()[name] for name in ("stop", "colour", "size", "who", "compare"))
    return frozenset(stem(word) for word in words.union(of_variants, *of_lexicon))


def is_plain(word: str) -> bool:
    """Return whether all parts of a word are everyday, of sexes or ages, or numbers; names of organisms are not."""
    parts = word.lower().replace("’", "'").removesuffix("'s").removesuffix("'").split("-")
    return all(map(_is_plain, parts))


def _is_plain(part: str) -> bool:
    if len(part) <= 1 or any(character.isdigit() for character in part):
        return True
    return any(stem(root) in _plain_stems() for root in (part, part.removesuffix("ly")))


_POSSESSIVE = re.compile(r"['’]s$")
# "A maple tree" is a maple; "a sea turtle" is not any turtle.
_GENERIC_NOUNS = frozenset(
    ("animal", "bird", "bush", "fish", "flower", "fungus", "insect", "leaf", "mushroom", "plant", "shrub", "tree")
)
_ADJECTIVE_ENDINGS = ("ed", "ing", "ish", "y", "en", "ful", "less")
_DESCRIBES = frozenset((*VISUAL_GROUPS, "stop")) - {"part"}


def unexplained(query: str, found: Findings, passage: str) -> tuple[str, ...]:
    """Return the words and names of a query that are neither everyday words nor explained, in order.

    A term explains its words, and so do a listed group and a species with a description, also beside the noun of its
    group ("Monarch butterfly"); the scientific name of a listed group explains that noun elsewhere. Other words are
    explained if the passage uses them. A name is a species without a description, words in capitals, an organism, or a
    kind of it ("fiddler crab"). Without any explained word, a query of everyday words is unexplained as a whole.
    """
    if found.is_by_description:
        return ()
    words = list(WHOLE_WORD.finditer(query))
    said = set(tokens(passage))
    spans = [
        (mention.start, mention.start + len(mention.text)) for mention in found.mentions if _explains(found, mention)
    ]
    nouns = set(_nouns_of_mentions(query, words, found))
    is_open = [
        not any(start <= word.start() and word.end() <= end for start, end in spans)
        and not set(tokens(word[0])) <= said
        and i not in nouns
        for i, word in enumerate(words)
    ]
    gaps = {i for i, word in enumerate(words) if is_open[i] and not is_plain(word[0])}
    for first, last in _names(query, words, is_open, found):
        if any(is_open[first : last + 1]):
            gaps.update(range(first, last + 1))
    if not gaps and not passage and not spans:
        gaps = {i for i, word in enumerate(words) if tokens(word[0]) and not word[0].isdigit()}
    runs = _runs(query, words, gaps)
    return tuple(_POSSESSIVE.sub("", query[words[first].start() : words[last].end()]) for first, last in runs)


def _explains(found: Findings, mention: Mention) -> bool:
    described = {entry.taxon.taxon_id for entry in found.species if entry.summary is not None}
    if mention.kind == "group":
        return mention.ids in [group.ids for group in found.groups]
    return mention.kind == "term" or not described.isdisjoint(mention.ids)


def _nouns_of_mentions(query: str, words: Sequence[re.Match[str]], found: Findings) -> Iterator[int]:
    """Yield the places of nouns that stand for what a mention explains, and of the words before that make a kind."""
    for mention in found.mentions:
        if mention.kind == "term" or mention.organisms is None or not _explains(found, mention):
            continue
        end = mention.start + len(mention.text)
        for last, word in enumerate(words):
            is_beside = word.start() > end and query[end : word.start()].isspace()
            if group_of_noun(word[0]) == mention.organisms and (mention.is_scientific or is_beside):
                yield from range(_start_of_kind(query, words, last) if mention.is_scientific else last, last + 1)


def _start_of_kind(query: str, words: Sequence[re.Match[str]], last: int) -> int:
    """Return the place of the first word of the kind of organism that ends at `last`: "fiddler crab"."""
    first = last
    while first and _is_joined(query, words, first - 1) and _makes_a_kind(words[first - 1][0], of=words[first][0]):
        first -= 1
    return first


def _names(
    query: str, words: Sequence[re.Match[str]], is_open: Sequence[bool], found: Findings
) -> Iterator[tuple[int, int]]:
    """Yield the first and last word of each name."""
    for mention in found.mentions:
        end = mention.start + len(mention.text)
        inside = [i for i, word in enumerate(words) if mention.start <= word.start() < end]
        if mention.kind == "species" and inside:
            yield inside[0], inside[-1]
    capitals = {i for i, word in enumerate(words) if word[0][0].isupper() and tokens(word[0])}
    for first, last in _runs(query, words, capitals):
        while first < last and _counts_or_qualifies(words[first][0].lower()):
            first += 1  # "Male Xanthagrion", "Two Owls"
        if first < last:
            yield first, last
    for last, word in enumerate(words):
        if group_of_noun(word[0]) is None or not is_open[last]:
            continue
        first = max([_start_of_kind(query, words, last), *(i + 1 for i in range(last) if not is_open[i])])
        if first < last:
            yield first, last


def _counts_or_qualifies(lower: str) -> bool:
    return group_of(lower) == "who" or may_precede_a_group(lower)


def _makes_a_kind(word: str, *, of: str) -> bool:
    """Return whether a word before the noun of an organism names a kind of it: "fiddler crab", not "wet crab"."""
    lower = word.lower()
    if not tokens(word) or any(character.isdigit() for character in word) or lower.endswith(("'s", "’s")):
        return False
    if "-" in word:  # a "hog-nosed skunk" is a kind, a "dark-coloured skunk" is not
        return lower.endswith("ed") and group_of(lower.rpartition("-")[2]) != "colour"
    if group_of_noun(word) is not None:
        return _GENERIC_NOUNS.isdisjoint((of.lower(), of.lower().removesuffix("s"), of.lower().removesuffix("es")))
    if _counts_or_qualifies(lower) or group_of(lower) in _DESCRIBES:
        return False
    return not lower.endswith(_ADJECTIVE_ENDINGS)


def _is_joined(query: str, words: Sequence[re.Match[str]], i: int) -> bool:
    return query[words[i].end() : words[i + 1].start()].isspace()


def _runs(query: str, words: Sequence[re.Match[str]], places: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of each run of neighbouring words."""
    first: int | None = None
    for i in range(len(words)):
        if i in places and first is None:
            first = i
        if first is not None and (i + 1 not in places or i + 1 == len(words) or not _is_joined(query, words, i)):
            yield first, i
            first = None
