"""Variants: individuals for which the marks of an ordinary adult need not hold, such as an albino or a duckling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from data.lexicon.appearance import appearance
from data.lexicon.words import WHOLE_WORD, column, group_of, group_of_taxon, groups, words_of
from data.records import QueryPart, SpeciesEntry, Term
from data.words import capitalised
from kb.lookup.mentions import Mention, word_lists

EARLY_STAGES = ("larva", "pupa")
SEXES_AND_AGES = frozenset(("male", "female", "juvenile", *EARLY_STAGES))
_YOUNG = frozenset(("juvenile", *EARLY_STAGES))
_ORDINALS = {"1st": "first", "2nd": "second", "3rd": "third", "4th": "fourth"}
_ORDINAL = re.compile(r"\b(?:1st|2nd|3rd|4th)\b", re.IGNORECASE)


@cache
def variant_words(where: str) -> Mapping[str, str]:
    """Return word -> kind of variant, below the headings of `variants.txt` on a place; phrases have hyphens."""
    known = dict(column("sexes", "subject")) if where == "beside" else {}
    for heading, words in word_lists("variants").items():
        kind, place = heading.split()
        if place == where:
            known |= dict.fromkeys(words, kind)
    return known


@cache
def _every_word() -> Mapping[str, str]:
    return {**variant_words("beside"), **variant_words("text"), **variant_words("anywhere")}


@cache
def _phrases() -> re.Pattern[str]:
    phrases = [word.replace("-", " ") for word in _every_word() if "-" in word]
    return re.compile(rf"\b(?:{'|'.join(sorted(phrases, key=len, reverse=True))})\b")


def variant_words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, those of a phrase of `variants.txt` joined; longer phrases first."""
    words = " ".join(words_of(_ORDINAL.sub(lambda found: _ORDINALS[found[0].lower()], text)))
    return _phrases().sub(lambda found: found[0].replace(" ", "-"), words).split()


@lru_cache(maxsize=1 << 12)  # a query is read for each species in it
def kinds_in(text: str) -> frozenset[str]:
    """Return the kinds of variants that a text of a description states: `breeding` too, and `adult`."""
    kinds = (_every_word().get(word, "") for word in variant_words_in(text))
    return frozenset("nonbreeding" if kind == "winter" else kind for kind in kinds if kind)


_ALIKE = re.compile(r"\b(?:sexes (?:are |look )?(?:alike|similar|identical)|both sexes|similar sexes)\b", re.IGNORECASE)
# "In summer the bill is blue; it is dull in winter" stays together.
_CLAUSE = re.compile(r";\s+(?!(?:it|its|they|their)\b)|,? (?:while|whereas) |(?<=[.!?])\s+")
_END = " .,;:"
_OTHER_ANIMALS = frozenset(("its", "their", "his", "her", "with", "feeding", "feeds", "and"))
_LOOKS = ("colour", "pattern")
_BETWEEN_NAMES = (*_LOOKS, "shape", "size", "who")
_PASSED = frozenset(("plumage", "butterfly", "moth"))
_NEAR = 2  # other words between the sex and the name: "a male breeding Mallard"
_PLUMAGES = frozenset(("nonbreeding", "breeding"))

Variant = frozenset[str]
"""Any of `colour`, `hybrid`, `female`, `male`, `juvenile`, `larva`, `pupa` and `nonbreeding` (a plumage)."""


def variant_of(query: str, name: str, start: int, *, terms: Sequence[str] = (), winter: str = "") -> Variant:
    """Return the variant of the organism that a query names at `start`; in a season, `winter`.

    Colours, hybrids and plumages count anywhere, also among the names of the `terms`; words for sex and age beside the
    name, with nothing but looks between: "robin feeding its chick" is no chick.
    """
    before, after = variant_words_in(query[:start]), variant_words_in(query[start + len(name) :])
    words = {*before, *after, *(word for term in terms for word in variant_words_in(term))}
    anywhere = variant_words("anywhere")
    kinds = {anywhere[word] for word in words if word in anywhere}
    if "winter" in kinds and not words & variant_words("text").keys():
        kinds.add(winter)
    subjects = {*_beside(before[::-1]), *_beside(after)}
    if "adult" in subjects and "female" not in subjects:
        subjects -= SEXES_AND_AGES
    return frozenset((kinds | subjects) - {"adult", "winter", ""})


def variant_in(
    query: str, mention: Mention, mentions: Sequence[Mention], terms: Sequence[Term], entry: SpeciesEntry
) -> Variant:
    """Return the variant of the species of a mention, by the words that are nearer to it than to another species.

    Hybrids are of all species that are named. Winter is a plumage for species that change theirs.
    """
    others = [other for other in mentions if other.kind == "species" and other.ids != mention.ids]
    before = [other for other in others if other.start < mention.start]
    after = [other for other in others if other.start > mention.start]
    start = _middle(query, before[-1], mention) if before else 0
    end = _middle(query, mention, after[0]) if after else len(query)
    elsewhere = {i for each in mentions if each.kind == "term" and not start <= each.start < end for i in each.ids}
    names = [term.name for term in terms if term.term_id not in elsewhere]
    of_all = {"hybrid"} & kinds_in(query)
    changes = entry.taxon.scientific_name.split(" ")[0].lower() in variant_words("genera")
    winter = "nonbreeding" if changes or _tells_plumages(sentences_of(entry)) else ""
    found = variant_of(query[start:end], mention.text, mention.start - start, terms=names, winter=winter) | of_all
    looks = appearance(group_of_taxon(entry.taxon.lineage, entry.taxon.scientific_name))
    return found.difference(set(EARLY_STAGES).difference(looks.others.values()))  # a bird beside a caterpillar eats it


def sentences_of(entry: SpeciesEntry) -> list[str]:
    """Return the sentences of a description; none without one."""
    return [] if entry.summary is None else [statement.text for statement in entry.summary.statements]


def _middle(query: str, first: Mention, second: Mention) -> int:
    """Return the position of the word from which on the words between two names belong to the second."""
    words = list(WHOLE_WORD.finditer(query, first.start + len(first.text), second.start))
    return words[half].start() if (half := (len(words) + 1) // 2) < len(words) else second.start


def _beside(words: Sequence[str]) -> Iterator[str]:
    """Yield the kinds of variants among the words next to a name, nearest first."""
    beside = variant_words("beside")
    for i, word in enumerate(words):
        if word in beside:
            yield beside[word]
            continue
        if word in variant_words("anywhere"):
            continue
        is_list = word == "and" and i > 0 and bool(set(words[i + 1 : i + 2]) & beside.keys())
        is_between = group_of(word) in _BETWEEN_NAMES or word in groups()["stop"] or word in _PASSED
        if not is_between or (word in _OTHER_ANIMALS and not is_list):
            return


def fitting_sentences(sentences: Sequence[str], variant: Variant) -> list[str]:
    """Return the sentences that hold for a variant, without clauses on other sexes, ages and plumages.

    Clauses that name none stay if they state no colour or pattern, and of young ones no measurement. With colours they
    stay for males, if both sexes are alike, and where others tell the plumages apart.
    """
    are_alike = any(_ALIKE.search(sentence) for sentence in sentences)
    has_plumages = _tells_plumages(sentences)
    found: list[str] = []
    for sentence in sentences if variant else ():
        clauses = _clauses(sentence)
        kept = [
            clause
            for clause, stated in clauses
            if _holds(clause, stated, variant, are_alike=are_alike, has_plumages=has_plumages)
        ]
        found += [sentence] if len(kept) == len(clauses) else [f"{capitalised('; '.join(kept))}."] if kept else []
    return found if variant else list(sentences)


def _clauses(sentence: str) -> list[tuple[str, frozenset[str]]]:
    """Return the clauses, each with the sexes, ages and plumages that it or the one before it names."""
    found: list[tuple[str, frozenset[str]]] = []
    stated: frozenset[str] = frozenset()
    for text in _CLAUSE.split(sentence):
        if clause := text.strip(_END):
            stated = kinds_in(clause) or stated  # "the female is brown; a dark line runs through the eye"
            found.append((clause, stated))
    return found


def states_looks(sentences: Sequence[str]) -> bool:
    """Return whether a sentence names a colour or pattern."""
    return any(group_of(word) in _LOOKS for sentence in sentences for word in words_of(sentence))


def _tells_plumages(sentences: Sequence[str]) -> bool:
    return any(_PLUMAGES & kinds_in(sentence) for sentence in sentences if states_looks([sentence]))


def _holds(clause: str, stated: frozenset[str], variant: Variant, *, are_alike: bool, has_plumages: bool) -> bool:
    subjects = stated & SEXES_AND_AGES
    if own := variant & {"colour", "hybrid"}:
        if own & kinds_in(clause):
            return True
    elif "nonbreeding" in variant:
        is_of_plumage = "nonbreeding" in stated and (not subjects or not variant & SEXES_AND_AGES)
        if is_of_plumage or (subjects & variant and stated & {"nonbreeding", "juvenile"}):
            return True
    elif subjects & variant:
        return True
    if subjects or stated & _PLUMAGES:
        return False
    if not states_looks([clause]):
        return not variant & _YOUNG or not any(character.isdigit() for character in clause)
    if variant & {"colour", "hybrid"}:
        return False
    if "nonbreeding" in variant:
        return has_plumages
    return "male" in variant or (not variant & _YOUNG and are_alike)


def sex_age_part(query: str, mention: Mention, entry: SpeciesEntry) -> QueryPart | None:
    """Return the sex or age before or directly after a species' name; None if the summary does not tell it apart."""
    from kb.distill.subjects import stated_subject  # not for look-ups

    kinds = {word: kind for word, kind in variant_words("beside").items() if kind in SEXES_AND_AGES}
    before = WHOLE_WORD.findall(query[: mention.start])[-1 - _NEAR :]
    after = WHOLE_WORD.findall(query[mention.start + len(mention.text) :])[:1]
    word = next((word for word in (*reversed(before), *after) if word.lower() in kinds), "")
    wanted = kinds.get(word.lower())
    # "Young birds look like the female" tells of the young.
    clauses = [
        (f"{capitalised(clause)}.", {subject} if (subject := stated_subject(clause)) else stated)
        for sentence in sentences_of(entry)
        for clause, stated in _clauses(sentence)
    ]
    own = [clause for clause, stated in clauses if wanted in stated]
    others = [clause for clause, stated in clauses if stated & {*SEXES_AND_AGES, "adult"} and wanted not in stated]
    unlike = others or [clause for clause, stated in clauses if not stated & SEXES_AND_AGES]
    if not own or not unlike:
        return None
    return QueryPart(
        kind="sex_age",
        text=word,
        name=f"{wanted} {entry.taxon.common_name}",
        looks=" ".join(own),
        unlike=" ".join(unlike),
        taxon_ids=mention.ids,
    )
