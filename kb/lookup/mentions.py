"""Names inside a query: species, groups and terms, in their technical sense (`senses.txt`) and not an everyday one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from data.lexicon.words import (
    VISUAL_GROUPS,
    WHOLE_WORD,
    english_groups,
    group_of,
    group_of_noun,
    groups,
    word_list,
    words_of,
)
from data.records import Taxon, Term
from data.words import singulars
from kb.checklist.names import fold

_ANIMALS = "animals"
_NO_ANIMALS = frozenset(("plants", "fungi"))


@cache
def word_lists(file: str) -> Mapping[str, Sequence[str]]:
    """Return heading -> words of a word list beside this module."""
    return word_list(files("kb.lookup") / f"{file}.txt")


@cache
def sense_words(heading: str) -> frozenset[str]:
    """Return the words of `senses.txt` below a heading."""
    return frozenset(word_lists("senses")[heading])


@cache
def _everyday() -> Mapping[str, frozenset[str]]:
    """Return word -> groups for which the technical sense holds."""
    pairs = (line.partition("=") for line in word_lists("senses")["everyday"])
    return {word: frozenset(listed.split(",")) for word, _, listed in pairs}


def may_precede_a_group(word: str) -> bool:
    """Return whether a word may stand before the name of a whole group, as in "tagged swans"."""
    return word.lower() in sense_words("before-a-group") | groups()["before-a-group"]


def group_of_class(class_name: str | None) -> str | None:
    """Return the group of a class by scientific name, or None if it is not listed."""
    headings = (heading for heading in word_lists("senses") if heading.startswith("classes "))
    known = (heading for heading in headings if (class_name or "").lower() in sense_words(heading))
    return next((heading.removeprefix("classes ") for heading in known), None)


def groups_in(words: Sequence[str]) -> frozenset[str]:
    """Return the groups of organisms that the words name; hyphenated words count by their last part."""
    found = (group_of_noun(word) or group_of_noun(parts[-1]) for word in words if (parts := words_of(word)))
    return frozenset(filter(None, found))


def senses_of(word: str) -> frozenset[str] | None:
    """Return the groups for which the technical sense holds, or None for words without another sense."""
    key = _bare(word)
    roots = [key.removesuffix(end) for end in ("ed", "ing") if key.endswith(end) and len(key) > len(end) + 2]
    forms = [*singulars(key), *(root + end for root in roots for end in ("", "e", "s", "es"))]
    everyday = _everyday()
    return next((everyday[form] for form in forms if form in everyday), None)


Judged = list[frozenset[str | None]]
"""For each word the groups of organisms that it names, and None unless it describes looks."""


def judged(words: Sequence[str]) -> Judged:
    """Return what the words of a query tell about the senses of others."""
    return [groups_in([word]).union(() if _describes_looks(word) else (None,)) for word in words]


def is_technical_sense(word: str, *, others: tuple[Collection[str], bool], following: str) -> bool:
    """Return whether a name has its technical sense in a query.

    `others` are the groups of organisms that the other words name, and whether all of them describe looks.

    Words with an everyday sense have if the query is about a group with such a part, or names no organism and all other
    words describe looks ("a black cap"), but not before a noun that makes another name ("comb jelly").
    """
    key = _bare(word)
    senses = senses_of(key)
    if senses is None:
        return True
    following = following.lower()
    if key == "displaying" and following and following not in sense_words("after-displaying"):
        return False
    if following and " " not in key and not key.endswith(("ed", "ing", "y")) and group_of_noun(following) is not None:
        return False
    mentioned, is_of_looks = frozenset(others[0]), others[1]
    if not mentioned:
        return is_of_looks
    if _ANIMALS in senses:
        return bool(mentioned - _NO_ANIMALS)
    return bool(mentioned & senses)


def is_joined(query: str, words: Sequence[re.Match[str]], i: int) -> bool:
    """Return whether only white space stands between a word and the next one."""
    return query[words[i].end() : words[i + 1].start()].isspace()


def runs(query: str, words: Sequence[re.Match[str]], places: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of each run of neighbouring words at `places`."""
    first: int | None = None
    for i in range(len(words)):
        if i in places and first is None:
            first = i
        if first is not None and (i + 1 not in places or i + 1 == len(words) or not is_joined(query, words, i)):
            yield first, i
            first = None


def is_own_name(name: str, group: str | None, *, before: str = "", following: str = "") -> bool:
    """Return whether words of a query are the name of a species of a group, whatever their everyday senses.

    These were listed for other groups (a monarch is a butterfly as well as a bird), so they are no reason to miss the
    species of this one, except before the noun of another ("monarch flycatcher"). A name with its capital ("a Merlin on
    a post") counts inside a sentence, but not as a part of a longer name ("Merlin Street").
    """
    senses = senses_of(name)
    follower = group_of_noun(following) if following else None
    if senses is None or follower not in (None, group):
        return False
    is_of_another_group = group is not None and not senses & {group, _ANIMALS}
    is_beside_capitals = not before or before[0].isupper() or following[:1].isupper()
    return is_of_another_group or (name[:1].isupper() and not is_beside_capitals)


def _describes_looks(word: str) -> bool:
    return all(part in groups()["stop"] or group_of(part) in VISUAL_GROUPS for part in words_of(word))


def _bare(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")


MAX_NAME_WORDS = 8
# Letters of a name of one word, in English (Kea, Tui) and otherwise; shorter ones are often other words ("ou", "Ara").
_SHORTEST_ENGLISH_NAME = 3
_SHORTEST_SINGLE_WORD = 4
# Genera that are also English words.
_ALSO_ENGLISH = frozenset(("Dives", "Bias"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Words of a query that name something; `ids` are taxon ids, or the id of a term, or of each of its senses."""

    kind: Literal["species", "term", "group"]
    text: str
    ids: tuple[str, ...]
    start: int
    is_scientific: bool = False
    """Whether it is a scientific name of a group."""

    @property
    def span(self) -> tuple[int, int]:
        """Start and end in the query."""
        return self.start, self.start + len(self.text)


class NameFinder:
    """Finds the names of a knowledge base in free text, the longest first."""

    def __init__(self, taxa: Sequence[Taxon], terms: Sequence[Term]) -> None:
        """Index the names."""
        self._species: dict[str, str] = {}
        self._groups: dict[str, list[str]] = {}
        self._english: set[str] = set()  # group names in English
        self._one_word: set[str] = set()  # names not matched by two words: a red wing is not a Redwing
        self._organisms: dict[str, str] = {}  # taxon id -> birds, mammals, ...
        for taxon in taxa:
            if (organisms := group_of_class(taxon.lineage.get("class"))) is not None:
                self._organisms[taxon.taxon_id] = organisms
            for name in taxon.names:
                key = fold(name)
                shortest = _SHORTEST_ENGLISH_NAME if name in taxon.common_names else _SHORTEST_SINGLE_WORD
                if len(name.split()) > 1 or len(key) >= shortest:
                    self._species.setdefault(key, taxon.taxon_id)
                if len(name.split()) == 1:
                    self._one_word.add(key)
            above = (taxon.lineage.get(rank, "") for rank in ("genus", "family", "order"))
            for group in {*filter(None, above), taxon.scientific_name.split(" ")[0]}:
                self._groups.setdefault(fold(group), []).append(taxon.taxon_id)
        self._add_english_groups(taxa)
        self._own_groups = [group for group, _ in Counter(self._organisms.values()).most_common()]
        self._terms: dict[str, list[Term]] = {}
        self._term_stems: dict[str, list[Term]] = {}
        for term in terms:
            for name in (term.name, *term.aliases):
                plain, stems = _forms(name)
                for keys, table in (({*plain[:1], *plain[-1:]}, self._terms), (stems, self._term_stems)):
                    for key in keys:
                        if term not in (held := table.setdefault(key, [])):
                            held.append(term)

    def _add_english_groups(self, taxa: Sequence[Taxon]) -> None:
        """Register groups by the last word of English names, and families by their English names."""
        by_last_word: dict[str, list[str]] = {}
        for taxon in taxa:
            lasts = {parts[-1].lower() for name in taxon.common_names if len(parts := name.split()) > 1}
            lasts |= {re.split(r"[-’']", last)[-1] for last in lasts}
            heads = {fold(last) for last in lasts if len(last) > 2 and group_of(last) != "part" and last != "eater"}
            for head in heads - sense_words("too-general"):  # Grey Go-away-bird
                by_last_word.setdefault(head, []).append(taxon.taxon_id)
        for group, english in english_groups().items():
            members = self._groups.get(fold(group))
            for name in english if members else ():
                keys = singulars(fold(name))
                # Species with the name come first: the family of cardinals has buntings too.
                known = next((by_last_word[key] for key in keys if key in by_last_word), members or [])
                for key in keys:
                    self._groups.setdefault(key, known)
                    self._english.add(key)
                    if " " not in name:
                        self._one_word.add(key)
        for head, ids in by_last_word.items():
            self._groups.setdefault(head, ids)
            self._english.add(head)
            if head not in self._species:  # "Red Fox-sparrow" is no reason to miss a Fox Sparrow
                self._one_word.add(head)

    def find(self, query: str) -> list[Mention]:
        """Return the names in a query, in order; of overlapping names the longer, then the earlier."""
        words = list(WHOLE_WORD.finditer(query))
        found: list[Mention] = []
        taken = [False] * len(words)
        told = judged([match[0] for match in words])
        tally = Counter(each for facts in told for each in facts)
        organisms = frozenset[str]()  # groups of the species found so far
        for length in range(min(MAX_NAME_WORDS, len(words)), 0, -1):
            for first in range(len(words) - length + 1):
                places = range(first, first + length)
                if any(taken[first : first + length]) or not all(is_joined(query, words, i) for i in places[:-1]):
                    continue
                if (mention := self._mention(query, words, places, organisms, told, tally)) is not None:
                    found.append(mention)
                    if mention.kind == "species" and length > 1 and mention.ids[0] in self._organisms:
                        organisms |= {self._organisms[mention.ids[0]]}
                    if mention.kind == "term":  # it tells nothing on others
                        tally.subtract(each for place in places for each in told[place])
                        told[first : first + length] = [frozenset()] * length
                    taken[first : first + length] = [True] * length
        return sorted(found, key=lambda mention: mention.start)

    def _mention(
        self,
        query: str,
        words: Sequence[re.Match[str]],
        places: range,
        organisms: frozenset[str],
        told: Judged,
        tally: Counter[str | None],
    ) -> Mention | None:
        run = words[places.start : places.stop]
        start = run[0].start()
        text = query[start : run[-1].end()]
        *first, last = (match[0] for match in run)
        forms = dict.fromkeys(fold(" ".join([*first, form])) for form in singulars(last.lower()))
        keys = [key for key in forms if len(run) == 1 or key not in self._one_word]
        senses = self._terms_named(text)
        if not senses and not any(key in self._species or key in self._groups for key in keys):
            return None  # most words of a long text, without a look at all others
        before = words[places.start - 1][0] if places.start else ""
        after = words[places.stop][0] if places.stop < len(words) else ""
        besides = tally - Counter(each for place in places for each in told[place])
        named = organisms.union(filter(None, besides))
        term = term_of_group(senses, named, self._own_groups)
        is_technical = is_technical_sense(text, others=(named, None not in besides), following=after)
        for key in keys:
            if (species := self._species.get(key)) is None:
                continue
            if is_technical or is_own_name(text, self._organisms.get(species), before=before, following=after):
                return Mention(kind="species", text=text, ids=(species,), start=start)
        if term is not None and is_technical:
            # Gills mean nothing of a butterfly, so a query that names no other organism may mean either.
            is_of_another = term.groups and term.groups.isdisjoint({*named, *self._own_groups})
            ids = tuple(sense.term_id for sense in (senses if is_of_another else [term]))
            return Mention(kind="term", text=text, ids=ids, start=start)
        for key in keys:
            if key in self._english:  # "two owls"; but a "spotted owl" is an unknown species, and no "hawk moth"
                stands_alone = not before or may_precede_a_group(before) or before.isdigit()
                is_group = is_technical and stands_alone and group_of_noun(after) in (None, "birds")
            else:
                is_group = text.strip() == query.strip() or (text[0].isupper() and text not in _ALSO_ENGLISH)
            if key in self._groups and is_group:
                ids, is_scientific = tuple(self._groups[key]), key not in self._english
                return Mention(kind="group", text=text, ids=ids, start=start, is_scientific=is_scientific)
        return None

    def _terms_named(self, text: str) -> list[Term]:
        """Return the terms with that name, one for each group of organisms in which it means something else."""
        plain, stems = _forms(text)
        # "Preened" is preening; but an ant is not anting, and a beach is not stranding.
        tables = ((plain, self._terms), (stems, self._terms), (stems, self._term_stems))
        return next((table[key] for keys, table in tables for key in keys if key in table), [])

    def sense_of(self, senses: Sequence[Term]) -> Term:
        """Return, of terms of one name, that of the groups of the knowledge base, else the first."""
        return term_of_group(senses, (), self._own_groups) or senses[0]


def _forms(name: str) -> tuple[list[str], list[str]]:
    """Return the equal forms of a term (as is, singulars), and those without -ing or -ed."""
    parts = [part for part in re.split(r"[\s'’.-]+", name.lower()) if part]
    if not parts:
        return [], []
    *before, last = parts
    stems: list[str] = []
    for ending in ("ing", "ed"):
        root = last.removesuffix(ending)
        if root != last and len(root) >= 3:
            stems += [root, root + "e", root[:-1]] if root[-1] == root[-2] else [root, root + "e"]
    return [" ".join([*before, form]) for form in singulars(last)], [" ".join([*before, form]) for form in stems]


def term_of_group(senses: Sequence[Term], named: Collection[str], own: Sequence[str] = ()) -> Term | None:
    """Return, of terms of one name, that of the groups `named`, or without any, of the knowledge base's `own` ones."""
    fits = next((term for term in senses if not term.groups.isdisjoint(named)), None)
    of_any = next((term for term in senses if not term.group), None)
    if fits or of_any or len(senses) < 2 or named:
        return fits or of_any or (senses[0] if len(senses) == 1 else None)
    return next((term for group in own for term in senses if group in term.groups), senses[0])
