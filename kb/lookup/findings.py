"""Terms, species and groups that a query names or clearly describes, and the words that they leave unexplained."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from data.arrays import rank_descending
from data.contracts import TextEncoder
from data.lexicon.words import VISUAL_GROUPS, WHOLE_WORD, group_of, group_of_noun, groups, stem, tokens
from data.records import QueryPart, SpeciesEntry, Term, WebAnswer
from kb.lookup.lookup_index import LookupIndex, check_encoder, index_of, vector_of
from kb.lookup.mentions import (
    Mention,
    group_of_class,
    is_joined,
    may_precede_a_group,
    runs,
    sense_words,
    word_lists,
)
from kb.lookup.variants import EARLY_STAGES, fitting_sentences, sentences_of, sex_age_part, variant_in, variant_words
from kb.store.knowledge_base import KnowledgeBase
from kb.store.rows import items_of

MAX_SPECIES, MAX_TERMS = 4, 6
# A query without names matches a text with nearly all of its words, or with half of them and a similar vector. Tuned on
# 71 questions that describe a term and 98 queries that describe none, with the vectors of the starter and of
# all-MiniLM-L6-v2: at .5 neither answers any of the 98 (docs/results.md).
TERM_COVERAGE = 0.9
TERM_COVERAGE_WITH_VECTOR = 0.5
TERM_SIMILARITY = 0.5
TERM_WORDS = 3
SPECIES_COVERAGE = 0.9
SPECIES_WORDS = 3
_GENERIC = frozenset(tokens("photo photograph picture image bird species animal showing seen view close-up closeup"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Results of a look-up; `mentions` are the matching words of the query, in order."""

    mentions: tuple[Mention, ...] = ()
    terms: tuple[Term, ...] = ()
    species: tuple[SpeciesEntry, ...] = ()
    groups: tuple[Mention, ...] = ()
    answer: WebAnswer | None = None
    """Answer of a search model to this query."""
    is_by_description: bool = False
    """The query has no names, but describes the term or species found."""

    def __bool__(self) -> bool:
        return bool(self.terms or self.species or self.groups or self.answer)


def look_up(store: KnowledgeBase, query: str, encoder: TextEncoder) -> Findings:
    """Return the terms, species and groups that a query names or describes, and a stored answer to it.

    A term that every reader knows ("tagged") is left out where the query has other words.
    """
    check_encoder(store, encoder)
    index = index_of(store)
    named = index.names.find(query)
    plain, contents = sense_words("needs-no-definition"), set(tokens(query))
    everyday = {each.text for each in named if each.kind == "term" and each.text.lower() in plain}
    mentions = [each for each in named if each.text not in everyday or set(tokens(each.text)) == contents]
    is_by_description = not named
    if is_by_description:
        mentions = _described(store, index, query, encoder)
    return Findings(
        mentions=tuple(mentions),
        terms=tuple(index.terms[i] for i in _ids(mentions, "term")[:MAX_TERMS]),
        species=tuple(store.species(_ids(mentions, "species")[:MAX_SPECIES])),
        answer=index.answer_to(query),
        groups=tuple({mention.ids: mention for mention in mentions if mention.kind == "group"}.values()),
        is_by_description=is_by_description and bool(mentions),
    )


def query_parts(store: KnowledgeBase, query: str) -> list[QueryPart]:
    """Return the species, groups and terms in a query, in its order, with the looks that may hold for the variant.

    A species is followed by its sex or age, if the query names one that the summary tells from others.
    """
    index = index_of(store)
    parts = []
    mentions = index.names.find(query)
    terms = [index.terms[mention.ids[0]] for mention in mentions if mention.kind == "term"]
    for mention in mentions:
        name, looks, sex_age = mention.text, "", None
        if mention.kind == "term":
            term = index.terms[mention.ids[0]]
            name, looks = term.name, term.look_for
        elif mention.kind == "species":
            (entry,) = store.species(mention.ids[:1])
            name = entry.taxon.common_name
            variant = variant_in(query, mention, mentions, terms, entry)
            looks = " ".join(fitting_sentences(sentences_of(entry), variant))
            sex_age = sex_age_part(query, mention, entry)
        ids = () if mention.kind == "term" else mention.ids
        parts.append(QueryPart(kind=mention.kind, text=mention.text, name=name, looks=looks, taxon_ids=ids))
        parts += [] if sex_age is None else [sex_age]
    return parts


def _ids(mentions: Sequence[Mention], kind: str) -> list[str]:
    return list(dict.fromkeys(i for mention in mentions if mention.kind == kind for i in mention.ids))


def _described(store: KnowledgeBase, index: LookupIndex, query: str, encoder: TextEncoder) -> list[Mention]:
    """Return the term, or the few species, that a query without names clearly describes."""
    words = [word for word in dict.fromkeys(tokens(query)) if word not in _GENERIC]
    if len(words) < 2:
        return []
    term = _described_term(store, index, words, query, encoder)
    if term is not None:
        return [Mention(kind="term", text=query, ids=(term,), start=0)]
    if len(words) < SPECIES_WORDS:
        return []
    scores, coverage = index.summaries.match(words)
    rows = np.flatnonzero(coverage >= SPECIES_COVERAGE)
    if not 1 <= len(rows) <= MAX_SPECIES:
        return []
    ids = tuple(index.taxa[rows[i]].taxon_id for i in rank_descending(scores[rows]))
    return [Mention(kind="species", text=query, ids=ids, start=0)]


def _described_term(
    store: KnowledgeBase, index: LookupIndex, words: Sequence[str], query: str, encoder: TextEncoder
) -> str | None:
    # Colours are too common to make a match alone.
    distinctive, term_ids = [word for word in words if group_of(word) != "colour"], index.word_ids
    if not term_ids or len(distinctive) < TERM_WORDS:
        return None
    scores, coverage = index.term_words.match(words)
    vector = vector_of(encoder, query)
    similar = {} if vector is None else dict(store.query_terms(vector, len(index.terms)))
    # Terms of the glossary, and learnt ones that the open store lacks, have no vector there.
    new = [term_ids[i] for i in np.flatnonzero(coverage >= TERM_COVERAGE_WITH_VECTOR) if term_ids[i] not in similar]
    if new and vector is not None:
        texts = [str(text) for i in new for _, text in items_of(index.terms[i], "terms")]
        similar |= dict(zip(new, map(float, encoder.encode_texts(texts) @ vector), strict=True))
    order = rank_descending(scores + np.asarray([max(similar.get(i, 0.0), 0.0) for i in term_ids], dtype=np.float32))
    best = int(order[0])
    n_shared = round(float(index.term_words.match(distinctive)[1][best]) * len(distinctive))
    by_words = coverage[best] >= TERM_COVERAGE
    by_vector = similar.get(term_ids[best], 0.0) >= TERM_SIMILARITY and coverage[best] >= TERM_COVERAGE_WITH_VECTOR
    if n_shared < TERM_WORDS or not (by_words or by_vector):
        return None
    # With two equal matches, the query describes neither.
    if len(order) > 1 and coverage[order[1]] >= coverage[best] and scores[order[1]] >= 0.9 * scores[best]:
        return None
    return term_ids[best]


@cache
def _plain_stems() -> frozenset[str]:
    words = set(word_lists("plain_words")[""])
    of_variants = (
        word for word, kind in variant_words("beside").items() if kind not in EARLY_STAGES and "-" not in word
    )
    of_lexicon = (groups()[name] for name in ("stop", "colour", "size", "who", "compare"))
    return frozenset(stem(word) for word in words.union(of_variants, *of_lexicon))


def is_plain(word: str) -> bool:
    """Return whether all parts of a word are everyday, of sexes or ages, or numbers; names of organisms are not."""
    return all(
        len(part) <= 1
        or any(map(str.isdigit, part))
        or any(stem(root) in _plain_stems() for root in (part, part.removesuffix("ly")))
        for part in word.lower().replace("’", "'").removesuffix("'s").removesuffix("'").split("-")
    )


_POSSESSIVE = re.compile(r"['’]s$")
# "A maple tree" is a maple; "a sea turtle" is not any turtle.
_GENERIC_NOUNS = frozenset(
    ("animal", "bird", "bush", "fish", "flower", "fungus", "insect", "leaf", "mushroom", "plant", "shrub", "tree")
)
_ADJECTIVE_ENDINGS = ("ed", "ing", "ish", "y", "en", "ful", "less")
_DESCRIBES = frozenset((*VISUAL_GROUPS, "stop")) - {"part"}


def unexplained(query: str, found: Findings, passage: str) -> tuple[str, ...]:
    """Return the words and names of a query that are neither everyday words nor explained, in order.

    A term explains its words, and so do a listed group and a species with a description, with the noun of their group
    behind them ("Monarch butterfly"). Other words are explained if the passage uses them. A name is a species without a
    description, words in capitals, an organism, or a kind of it ("fiddler crab"). Without any explained word, a query
    of everyday words is unexplained as a whole.
    """
    if found.is_by_description:
        return ()
    words = list(WHOLE_WORD.finditer(query))
    said = set(tokens(passage))
    described = {entry.taxon.taxon_id for entry in found.species if entry.summary is not None}
    listed = [group.ids for group in found.groups]
    explained = set[int]()
    starts = [word.start() for word in words]
    names = set[int]()  # words that the next one belongs to
    for mention in found.mentions:
        places = range(*(bisect_left(starts, end) for end in mention.span))
        if mention.kind == "species":
            names.update(places[:-1])
        is_known = mention.kind == "term" or not described.isdisjoint(mention.ids)
        if mention.ids in listed if mention.kind == "group" else is_known:
            explained.update(places)
            if mention.kind == "species" or mention.is_scientific:
                of = {
                    group_of_class(entry.taxon.lineage.get("class"))
                    for entry in found.species
                    if entry.taxon.taxon_id in mention.ids
                }
                explained.update(i + 1 for i in places[-1:] if _is_noun_behind(query, words, i + 1, of))
    is_open = [i not in explained and not set(tokens(word[0])) <= said for i, word in enumerate(words)]
    kinds = {i for i, word in enumerate(words) if is_open[i] and group_of_noun(word[0]) is not None}
    for i in reversed(range(len(words) - 1)):
        if is_joined(query, words, i):
            one, other = words[i][0], words[i + 1][0]
            is_kind = i + 1 in kinds and is_open[i] and _makes_a_kind(one, of=other)
            kinds |= {i} if is_kind else set()
            are_capitals = all(word[0].isupper() and tokens(word) for word in (one, other))
            is_first_of_name = are_capitals and not _counts_or_qualifies(one.lower())  # not "Male Xanthagrion"
            names |= {i} if is_kind or is_first_of_name else set()
    gaps = {i for i, word in enumerate(words) if is_open[i] and not is_plain(word[0])}
    for first, last in runs(query, words, names):
        gaps.update(range(first, last + 2) if any(is_open[first : last + 2]) else ())
    if not gaps and not passage and not explained:
        gaps = {i for i, word in enumerate(words) if tokens(word[0]) and not word[0].isdigit()}
    left = runs(query, words, gaps)
    return tuple(_POSSESSIVE.sub("", query[words[first].start() : words[last].end()]) for first, last in left)


def _is_noun_behind(query: str, words: Sequence[re.Match[str]], i: int, of: Collection[str | None]) -> bool:
    """Return whether a word is a noun for organisms `of` groups: an owl mouse is no owl. None or no group is any.

    A larva or pupa is explained only by a passage on it.
    """
    group = group_of_noun(words[i][0]) if i < len(words) and is_joined(query, words, i - 1) else None
    if group is None or variant_words("beside").get(words[i][0].lower()) in EARLY_STAGES:
        return False
    return not of or not {None, group}.isdisjoint(of)


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
