"""Word groups that separate looks from other topics, from `words.txt` of a group of organisms."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from data.lexicon.tables import BIRDS, folders, lines_of

VISUAL_GROUPS = ("part", "colour", "pattern", "shape", "size", "who", "compare")
OTHER_GROUPS = ("sound", "place", "taxonomy", "naming", "behaviour", "breeding", "weight", "people")

_SCORED = (*VISUAL_GROUPS, *OTHER_GROUPS)
_NONE = "none"
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@cache
def groups(group: str = BIRDS) -> dict[str, frozenset[str]]:
    """Return name of a word group -> its words, in lower case.

    A word that tells topics apart stands in one word group: that of the nearest folder. `[none]` takes words out.
    """
    found: dict[str, set[str]] = {}
    taken: set[str] = set()
    for folder in folders(group):
        own = _own_groups(folder)
        for name, words in own.items():
            found.setdefault(name, set()).update(words - taken if name in _SCORED else words)
        taken |= {word for name in (*_SCORED, _NONE) for word in own.get(name, ())}
    return {name: frozenset(words) for name, words in found.items() if name != _NONE}


def _own_groups(folder: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    current: set[str] | None = None
    for line in lines_of("words", folder):
        words = line.split()
        if len(words) == 1 and words[0].startswith("["):
            current = found.setdefault(words[0].strip("[]"), set())
        elif current is None:
            raise ValueError(f"expected a [group] before the first word of the lexicon, got {words[0]!r}")
        else:
            current.update(words)
    return found


def equations(name: str, group: str = BIRDS) -> list[tuple[str, str]]:
    """Return the pairs of a word group of entries `one=other`, sorted."""
    pairs = (word.partition("=") for word in sorted(groups(group).get(name, ())))
    return [(one, other) for one, _, other in pairs]


@cache
def _group_of(group: str) -> dict[str, str]:
    return {word: name for name in _SCORED for word in groups(group).get(name, ())}


@lru_cache(maxsize=1 << 17)  # articles repeat their words
def group_of(word: str, group: str = BIRDS) -> str | None:
    """Return the word group of a lower-case word or plural for a group of organisms, None for a word in none."""
    table = _group_of(group)
    for form in (word, *_singulars(word)):
        if form in table:
            return table[form]
    for form in _positives(word):
        if table.get(form) in ("colour", "shape", "pattern"):
            return table[form]
    return None


def variants(word: str) -> tuple[str, ...]:
    """Return guesses at the base form of a plural, a comparative or a shade; some are not words."""
    return (*_singulars(word), *_positives(word))


def _positives(word: str) -> tuple[str, ...]:
    """Return guesses at the base form of a comparative: `greyer`, `whiter`, `redder`, `glossier`."""
    if not word.endswith("er") or len(word) < 5:
        return ()
    stem = word[:-2]
    return (stem, stem + "e", stem[:-1], stem[:-1] + "y")


def _singulars(word: str) -> tuple[str, ...]:
    if len(word) < 4:
        return ()
    if word.endswith("ies"):
        return (word[:-3] + "y",)
    if word.endswith("es"):
        return (word[:-1], word[:-2])
    if word.endswith("s"):
        return (word[:-1],)
    if word.endswith("ish"):
        return (word[:-3], word[:-3] + "e")
    return ()


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, hyphenated words split, without possessive endings."""
    return [found.lower().removesuffix("'s").removesuffix("’s") for found in _WORD.findall(text)]


WHOLE_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
"""A word of a query with its apostrophes, hyphens and full stops."""
_WITH_ENDING = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@cache
def _unified() -> dict[str, str]:
    return {stem(other): stem(word) for word, other in equations("synonym")}


def tokens(text: str) -> list[str]:
    """Return the content words of a text in order: lower case, stemmed, synonyms unified."""
    words = (word.lower().replace("’", "'").removesuffix("'s") for word in _WITH_ENDING.findall(text))
    stop, unified = groups()["stop"], _unified()
    stems = (stem(word) for word in words if word not in stop)
    return [unified.get(word, word) for word in stems]


@lru_cache(maxsize=1 << 16)  # words repeat
def stem(word: str) -> str:
    """Return a word without plural, -ing and -ed endings, for matching only."""
    word = word.replace("gray", "grey").replace("colour", "color")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and re.search(r"[aeiouy]", root):
            doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if doubled else root
    return word[:-1] if len(word) > 3 and word.endswith("e") else word
