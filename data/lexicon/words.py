"""Words of the lexicon: tables and word groups, one folder of text files for each group of organisms.

The first column of a table is a word; each other column is its meaning to one reader, `-` if that reader ignores the
word. `#` begins a comment, two spaces separate columns. A group extends others (`groups.txt`): their tables hold for it
too, and where it has a word of its own, that row counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from data.words import singulars

BIRDS: Final = "birds"
COMMON: Final = "common"
"""Colours, patterns and sizes, and words on other topics; every group extends it."""

_GAP = re.compile(r" {2,}")


@cache
def column(table: str, name: str, *, group: str = BIRDS) -> Mapping[str, str]:
    """Return word -> its entry in a column, in the order of the tables, without empty entries.

    Raises:
        ValueError: if no table of the group has such a column.
    """
    found: dict[str, str] = {}
    known: list[str] = []
    for folder in folders(group):
        head, *below = _rows(table, folder) or [[]]
        known += head[1:]
        if name in head[1:]:
            at = head.index(name)
            found = {row[0]: row[at] for row in below} | found
    if name not in known:
        raise ValueError(f"expected one of the columns {', '.join(known)} of {group}/{table}, got {name!r}")
    return {word: entry for word, entry in found.items() if entry != "-"}


def rows(table: str, *, group: str = BIRDS) -> list[list[str]]:
    """Return the lines of a group's tables below their heads, its own first."""
    return [row for folder in folders(group) for row in _rows(table, folder)[1:]]


@cache
def _rows(table: str, folder: str) -> list[list[str]]:
    found = [_GAP.split(line) for line in _lines_of(files("data.lexicon") / folder / f"{table}.txt")]
    for row in found:
        if len(row) != len(found[0]):
            raise ValueError(f"expected {len(found[0])} columns in {folder}/{table}, got {row}")
    return found


def _lines_of(file: Traversable) -> list[str]:
    """Return the lines of a file, without comments and empty lines; none if there is no such file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return [line for raw in lines if (line := raw.partition("#")[0].strip())]


def word_list(file: Traversable) -> dict[str, list[str]]:
    """Return `[heading]` -> words below it; "" for those before any heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in _lines_of(file):
        if line.startswith("["):
            heading = line.strip("[]")
        found.setdefault(heading, []).extend([] if line.startswith("[") else line.split())
    return found


@cache
def folders(group: str) -> tuple[str, ...]:
    """Return the folders of a group's words: its own, those of the groups that it extends, and the common one."""
    above = {row[0]: row[1] for row in _rows("groups", "")[1:]}
    found = [group]
    while (parent := above.get(found[-1])) is not None:
        found.append(parent)
    return (*found, COMMON) if COMMON not in found else tuple(found)


def group_names() -> list[str]:
    """Return the groups of organisms with words of their own."""
    return [row[0] for row in _rows("groups", "")[1:]]


@cache
def english_groups() -> Mapping[str, tuple[str, ...]]:
    """Return order or family -> its English names, without groups that are named after their only species."""
    table = (files("data.lexicon") / "english_groups.txt").read_text(encoding="utf-8")
    rows = (line.partition(": ") for line in table.splitlines())
    return {group: tuple(names.split("; ")) for group, _, names in rows}


_OF_PLACES: Final = frozenset(("New", "Old", "World", "Zealand", "African", "Asian", "Australasian"))


def english_group(family: str | None, order: str | None = None) -> str | None:
    """Return the English name of a family within a sentence ("tanagers"), of an order without a family; else None.

    A family that makes up an order of its own is named like that.
    """
    named = english_groups()
    found = named.get(family or order or "") or (named.get(order or "") if order != "Passeriformes" else None)
    return " ".join(word if word in _OF_PLACES else word.lower() for word in found[0].split()) if found else None


@cache
def near(table: str, group: str = BIRDS) -> Mapping[str, Mapping[str, float]]:
    """Return word of the table `near_colours` or `near_parts` -> the likeness of each other one that is similar."""
    found: dict[str, dict[str, float]] = {}
    for one, other, likeness in rows(table, group=group):
        found.setdefault(one, {})[other] = found.setdefault(other, {})[one] = float(likeness)
    return found


@cache
def organisms() -> Mapping[str, str]:
    """Return noun in the singular -> group."""
    lists = word_list(files("data.lexicon") / "organisms.txt")
    return {word: group for group, words in reversed(lists.items()) for word in reversed(words)}


def group_of_noun(word: str) -> str | None:
    """Return the group of organisms that a noun (singular or plural, also possessive) names, or None."""
    known, bare = organisms(), word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")
    return next((known[form] for form in singulars(bare) if form in known), None)


GENERAL = "animals"
"""Words for taxa of no other group."""


def group_of_taxon(lineage: Mapping[str, str], scientific_name: str = "") -> str:
    """Return the group of a taxon with this lineage, from the highest rank down.

    A class of no group gives the general words; a taxon without any lineage those of birds, which fit any animal.
    """
    names = [*lineage.values(), *([scientific_name] if scientific_name and " " not in scientific_name else [])]
    taxa = column("taxa", "group", group="")
    exact = next((taxa[name] for name in reversed(names) if name in taxa), None)
    if exact is not None:
        return exact
    endings = [(taxon[1:], group) for taxon, group in taxa.items() if taxon.startswith("-")]
    alike = [group for name in reversed(names) for ending, group in endings if name.endswith(ending)]
    return "fungi" if "fungi" in alike else next(iter(alike), GENERAL if lineage else BIRDS)


def shared_group(lineages: Iterable[Mapping[str, str]]) -> str:
    """Return the group of taxa that are compared: their own if they share it, else the general one."""
    found = {group_of_taxon(lineage) for lineage in lineages}
    return found.pop() if len(found) == 1 else GENERAL


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
        own = word_list(files("data.lexicon") / folder / "words.txt")
        for name, words in own.items():
            found.setdefault(name, set()).update(set(words) - taken if name in _SCORED else words)
        taken |= {word for name in (*_SCORED, _NONE) for word in own.get(name, ())}
    return {name: frozenset(words) for name, words in found.items() if name != _NONE}


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


def tokens(text: str, *, unify: bool = True) -> list[str]:
    """Return the content words of a text in order: lower case, stemmed, synonyms unified unless told otherwise."""
    words = (word.lower().replace("’", "'").removesuffix("'s") for word in _WITH_ENDING.findall(text))
    stop, unified = groups()["stop"], _unified()
    stems = (stem(word) for word in words if word not in stop)
    return [unified.get(word, word) if unify else word for word in stems]


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
