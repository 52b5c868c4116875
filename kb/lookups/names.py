"""Names found inside a query: species by either name, groups by theirs, terms with their inflections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from data.arrays import rank_descending
from data.records import Taxon, Term
from kb.bird_groups import GROUP_NAMES
from kb.distilling.lexicon import groups
from kb.lookups.bm25 import BM25
from kb.taxa import fold

MentionKind = Literal["species", "term", "group"]

MAX_NAME_WORDS = 8
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# A name of one short word is too easily another word ("ou", "Ara").
_SHORTEST_SINGLE_WORD = 4
# Genera that are English words at the beginning of a sentence.
_ALSO_ENGLISH = frozenset(("Dives", "Bias"))
_IRREGULAR = {"geese": "goose", "mice": "mouse", "wolves": "wolf", "calves": "calf", "feet": "foot", "teeth": "tooth"}
_SUGGESTED = 60  # names that are compared letter by letter


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A run of words of a query that names something: `ids` are taxon ids, or the one id of a term."""

    kind: MentionKind
    text: str
    ids: tuple[str, ...]
    start: int


class NameFinder:
    """Finds the names of a knowledge base in free text, the longest first.

    Example:
        >>> wren = Taxon(taxon_id="w-r", scientific_name="Wrena rubra", rank="species", common_names=("Red Wren",))
        >>> finder = NameFinder([wren], [Term(term_id="term:bib", name="bib", definition="A throat patch.")])
        >>> [(mention.kind, mention.text) for mention in finder.find("Two red wrens, one with a dark bib")]
        [('species', 'red wrens'), ('term', 'bib')]
    """

    def __init__(self, taxa: Sequence[Taxon], terms: Sequence[Term]) -> None:
        self._species: dict[str, str] = {}
        self._groups: dict[str, list[str]] = {}
        self._group_name: dict[str, str] = {}
        self._terms: dict[str, str] = {}
        for taxon in taxa:
            for name in _names(taxon):
                key = fold(name)
                if len(name.split()) > 1 or len(key) >= _SHORTEST_SINGLE_WORD:
                    self._species.setdefault(key, taxon.taxon_id)
            for group in _groups(taxon):
                self._groups.setdefault(fold(group), []).append(taxon.taxon_id)
        for group, english in GROUP_NAMES.items():
            if fold(group) in self._groups:
                for name in english:
                    for key in (fold(name), fold(_singular(name.split(" ")))):
                        self._groups.setdefault(key, self._groups[fold(group)])
                        self._group_name.setdefault(key, group)
        for term in terms:
            for name in (term.name, *term.aliases):
                for key in _inflected(name):
                    self._terms.setdefault(key, term.term_id)
        self._names = [(name, taxon.taxon_id) for taxon in taxa for name in _names(taxon)]
        self._trigrams: BM25 | None = None

    def find(self, query: str) -> list[Mention]:
        """Return what the query names, in its order; where names overlap, the longer one, then the earlier."""
        words = list(_WORD.finditer(query))
        found: list[Mention] = []
        taken = [False] * len(words)
        for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
            for first in range(len(words) - length + 1):
                run = words[first : first + length]
                if any(taken[first : first + length]) or not _is_phrase(query, run):
                    continue
                mention = self._mention(query, run)
                if mention is not None:
                    found.append(mention)
                    taken[first : first + length] = [True] * length
        return sorted(found, key=lambda mention: mention.start)

    def _mention(self, query: str, run: Sequence[re.Match[str]]) -> Mention | None:
        start, end = run[0].start(), run[-1].end()
        text = query[start:end]
        parts = [match[0] for match in run]
        keys = dict.fromkeys((fold(text), fold(_singular(parts))))
        for key in keys:
            if key in self._species:
                return Mention(kind="species", text=text, ids=(self._species[key],), start=start)
        if not _is_part_of_a_name(query, start, text):
            for key in _inflected(text):
                if key in self._terms:
                    return Mention(kind="term", text=text, ids=(self._terms[key],), start=start)
        for key in keys:
            is_meant = _stands_alone(query, start) if key in self._group_name else self._is_scientific(text, query)
            if key in self._groups and is_meant:
                return Mention(kind="group", text=text, ids=tuple(self._groups[key]), start=start)
        return None

    def _is_scientific(self, text: str, query: str) -> bool:
        """Groups by scientific name are written with a capital, or stand alone."""
        return text.strip() == query.strip() or (text[0].isupper() and text not in _ALSO_ENGLISH)

    def closest(self, text: str, n: int = 5, *, at_least: float = 0.8) -> list[tuple[str, float]]:
        """Return up to `n` `(taxon_id, likeness)` of species with a name spelt nearly like `text`, nearest first."""
        if self._trigrams is None:
            self._trigrams = BM25(_trigrams(fold(name)) for name, _ in self._names)
        wanted = fold(text)
        scores = self._trigrams.scores(_trigrams(wanted))
        best: dict[str, float] = {}
        for row in rank_descending(scores, _SUGGESTED):
            name, taxon_id = self._names[row]
            if scores[row] > 0:
                likeness = SequenceMatcher(None, wanted, fold(name), autojunk=False).ratio()
                if likeness >= at_least:
                    best[taxon_id] = max(likeness, best.get(taxon_id, 0.0))
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:n]


def _names(taxon: Taxon) -> Iterable[str]:
    return dict.fromkeys((*taxon.common_names, taxon.scientific_name, *taxon.synonyms))


def _groups(taxon: Taxon) -> set[str]:
    lineage: Mapping[str, str] = taxon.lineage
    groups = {lineage[rank] for rank in ("genus", "family", "order") if rank in lineage}
    return groups | {taxon.scientific_name.split(" ")[0]}


def _is_phrase(query: str, run: Sequence[re.Match[str]]) -> bool:
    """Say whether only white space parts the words: a comma or full stop parts names too."""
    return all(query[a.end() : b.start()].isspace() for a, b in pairwise(run))


def _singular(words: Sequence[str]) -> str:
    """Return the words joined, the last one in the singular."""
    last = words[-1].lower()
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif len(last) > 4 and last.endswith("ies"):
        last = last[:-3] + "y"
    elif len(last) > 4 and last.endswith(("ches", "shes", "sses", "xes", "zes")):
        last = last[:-2]
    elif len(last) > 3 and last.endswith("s") and not last.endswith("ss"):
        last = last[:-1]
    return " ".join([*words[:-1], last])


def _inflected(name: str) -> list[str]:
    """Return the forms of a term that mean the same: its last word as it stands, in the singular, without -ing or -ed.

    Two names mean the same if they share a form; "bare" and "barred" share none.
    """
    parts = [part for part in re.split(r"[\s'’.-]+", name.lower()) if part]
    if not parts:
        return []
    *before, last = parts
    forms = [last, _singular([last])]
    for ending in ("ing", "ed"):
        root = last.removesuffix(ending)
        if root != last and len(root) >= 3:
            forms += [root, root + "e", root[:-1]] if root[-1] == root[-2] else [root, root + "e"]
    return list(dict.fromkeys(" ".join([*before, form]) for form in forms))


def _is_part_of_a_name(query: str, start: int, text: str) -> bool:
    """Say whether a word with a capital follows another one inside a sentence: "Scarlet Waxy Cap" is no cap."""
    before = _WORD.findall(query[:start])
    return bool(before) and text[0].isupper() and before[-1][0].isupper() and not query.isupper()


def _stands_alone(query: str, start: int) -> bool:
    """Say whether a group is meant as such: "two owls"; a "spotted owl" is a species, if one that is not known."""
    before = _WORD.findall(query[:start])
    return not before or before[-1].lower() in groups()["before-a-group"] or before[-1].isdigit()


def _trigrams(text: str) -> list[str]:
    padded = f"^{text}$"
    return [padded[i : i + 3] for i in range(len(padded) - 2)]
